"""Pure: which case of BASE meets which of NEW: by phone, model and row, through names that somebody mapped."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.errors import Problem, UsageError
from orchestrator.report.comparison.nouns import NotCompared
from orchestrator.report.comparison.sides import Side, SideCase, dropped_reason

_DEFAULT, _ITS_ROW = "default", "cpu onnx"
"""The row of an app that sets nothing is called otherwise than its words."""


@dataclass(frozen=True, slots=True)
class Names:
    """What is called otherwise in NEW: models, rows, recipes, from BASE's name to NEW's."""

    models: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)
    recipes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pair:
    """A case on both sides, and what each calls it."""

    base: SideCase
    new: SideCase
    row: str
    new_row: str


def names_of(pairs: Sequence[str], base: Side, new: Side) -> Names:
    """What `--map OLD=NEW` says: of a model, a row or a recipe, as the runs know the names. Raises UsageError."""
    found: dict[str, dict[str, str]] = {"models": {}, "rows": _rows_asked(base, new), "recipes": {}}
    known = [(_known(base, kind), _known(new, kind), kind) for kind in found]
    problems = []
    for text in pairs:
        cuts = [(text[:at], text[at + 1 :]) for at, char in enumerate(text) if char == "="]
        kind, cut = next(
            ((kind, cut) for olds, news, kind in known for cut in cuts if cut[0] in olds and cut[1] in news), ("", None)
        )
        if cut is None:
            problems.append(_unknown(text, cuts, known))
        elif found[kind].setdefault(cut[0], cut[1]) != cut[1]:
            problems.append(Problem(f"--map {text}", f"{cut[0]} is mapped twice", "one name of NEW for each of BASE"))
    if problems:
        raise UsageError(*problems)
    return Names(**found)


def _rows_asked(base: Side, new: Side) -> dict[str, str]:
    """Two rows that were asked for by name meet, whatever they are called."""
    if not (base.head.row and new.head.row):
        return {}
    olds, news = ({_called(case, side.head.row) for case in side.cases} for side in (base, new))
    return dict.fromkeys(olds, min(news)) if news else {}


def _called(case: SideCase, asked: str) -> str:
    return next((name for name in case.names if asked in (name, f"{case.cell.model} {name}")), case.cell.row)


def _known(side: Side, kind: str) -> list[str]:
    if kind == "models":
        names: Iterable[str] = (case.cell.model for case in side.cases)
    elif kind == "rows":
        names = (name for case in side.cases for name in case.names)
    else:
        names = side.recipes
    return list(dict.fromkeys(names))


def _unknown(text: str, cuts: Sequence[tuple[str, str]], known: Sequence[tuple[list[str], list[str], str]]) -> Problem:
    where = f"--map {text}"
    if not cuts:
        return Problem(where, "no name of BASE and of NEW", "--map OLD=NEW")
    olds, news = ([name for one in known for name in one[at]] for at in (0, 1))
    old, new = cuts[0]
    if old in olds and new in news:
        return Problem(where, "a model meets a model, a row a row, a recipe a recipe")
    side, name, names = ("NEW", new, news) if old in olds else ("BASE", old, olds)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names[:5]
    return Problem(where, f"{side} has no model, row or recipe {name!r}", f"nearest: {', '.join(near)}")


def renamed(row: str, names: Names, recipes: Sequence[str]) -> str:
    """What NEW calls a row of BASE, whose run knows `recipes`."""
    if row in names.rows:
        return names.rows[row]
    words = _ITS_ROW if row == _DEFAULT else row
    provider, _, rest = words.partition(" ")
    fits = [one for one in recipes if rest == one or rest.startswith(f"{one} ")]
    recipe = max(fits, key=len, default="")
    if recipe not in names.recipes:
        return row
    said = f"{provider} {names.recipes[recipe]}{rest[len(recipe) :]}"
    return _DEFAULT if said == _ITS_ROW else said


def meet(base: Side, new: Side, names: Names) -> tuple[list[Pair], list[NotCompared]]:
    """Every case of both sides: in pairs, or with the reason why it is in none.

    Twins that one run merged and the other did not meet by each of their names.
    """
    there = {
        (case.cell.phone, case.cell.model, name): (case, name) for case in new.cases for name in reversed(case.names)
    }
    one_run = base.head.run == new.head.run
    pairs: list[Pair] = []
    lone: list[NotCompared] = []
    met: set[int] = set()
    for case in base.cases:
        model = names.models.get(case.cell.model, case.cell.model)
        found: dict[int, Pair] = {}
        for row in case.names:
            other, called = there.get((case.cell.phone, model, renamed(row, names, base.recipes)), (None, ""))
            if other is not None:
                found.setdefault(id(other), Pair(case, other, row, called))
        met |= found.keys()
        others = [one for one in found.values() if not (one_run and _is_itself(one))]
        pairs += [pair for pair in others if not _why(pair, one_run)]
        lone += [_lone(pair, why) for pair in others if (why := _why(pair, one_run))]
        if not found and not one_run:
            lone.append(_only_in("NEW", case, new, model, renamed(case.cell.row, names, base.recipes)))
    if one_run:  # a case that meets itself, or none, is no part of the question
        return pairs, lone
    lone += [_only_in("BASE", case, base, case.cell.model, case.cell.row) for case in new.cases if id(case) not in met]
    return pairs, lone


def _is_itself(pair: Pair) -> bool:
    """Whether nothing but its own name, or that of a twin, brought a case of one run here."""
    return pair.row == pair.new_row and pair.base.cell.model == pair.new.cell.model


def _why(pair: Pair, one_run: bool) -> str:
    if one_run and pair.base.cell.case == pair.new.cell.case:
        return "one case under two names: they are twins"
    if pair.base.missing:
        return f"BASE: {pair.base.missing}"
    return f"NEW: {pair.new.missing}" if pair.new.missing else ""


def _lone(pair: Pair, why: str) -> NotCompared:
    lost = not pair.base.missing and bool(pair.new.missing)
    return NotCompared(label=pair.base.label, model=pair.base.cell.model, row=pair.row, reason=why, lost=lost)


def _only_in(other: str, case: SideCase, side: Side, model: str, row: str) -> NotCompared:
    """A case that the side called `other` does not have."""
    cell = case.cell
    if cell.phone not in side.labels:
        reason = "phone not in the run"
    else:
        reason = dropped_reason(side, cell.phone, model, row) or "not in the plan"
    lost = other == "NEW" and not case.missing
    return NotCompared(label=case.label, model=cell.model, row=cell.row, reason=f"{other}: {reason}", lost=lost)
