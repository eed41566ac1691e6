"""Pure: what is not the same on both sides. One thing may be; with anything else there is no comparison."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from orchestrator.errors import Problem, UsageError
from orchestrator.report.comparison.meeting import Pair
from orchestrator.report.comparison.nouns import Across, Difference, NotCompared
from orchestrator.report.comparison.sides import INPUTS, LEVEL, REAL, TUNED, VARIANT, Side, SideCase
from orchestrator.report.lines import as_listed, joined
from orchestrator.report.numbers import plural
from orchestrator.report.source import number, text

_MENDS = {
    Across.BINARY: "measure both with one --perf-test",
    Across.CONVERTER: "hold it with --converter, then change it alone",
    Across.MODEL: "one model file, or --map OLD=NEW",
    Across.FORMAT: "--map rows of one format",
    Across.RECIPE: "--map rows of one recipe",
    Across.SETTINGS: "--map rows of the same settings",
    Across.FINGERPRINT: "measure both on one build of the system",
    INPUTS: "measure both with one --inputs",
    VARIANT: "dimensions, custom operators or build options were others: build both alike",
    TUNED: "tuned and stock phones are never compared: both with, or without, --prepare",
    REAL: "virtual and real phones are never compared",
}
_MAX_NAMED = 4
_FAR = 4.0
"""Rounds whose numbers of iterations are further apart than so many times are said to be."""


def differences(pairs: Sequence[Pair]) -> list[Difference]:
    """Everything that differs between the cases that met, each pair of values once."""
    seen: dict[tuple[str, str, str], list[str]] = {}
    for pair in pairs:
        for what in _differing(pair):
            base, new = (case.traits.get(what, "") for case in (pair.base, pair.new))
            place = pair.base.label if what in (Across.FINGERPRINT, TUNED, REAL) else pair.base.cell.model
            where = seen.setdefault((what, base, new), [])
            if place not in where:
                where.append(place)
    order = [*Across, INPUTS, VARIANT, TUNED, REAL]
    found = [Difference(what=what, base=b, new=n, where=tuple(where)) for (what, b, n), where in seen.items()]
    return sorted(found, key=lambda one: order.index(one.what))


def _differing(pair: Pair) -> set[str]:
    """The names of what differs in a pair, without what follows from something else that does."""
    base, new = pair.base.traits, pair.new.traits
    found = {name for name in base.keys() | new.keys() if base.get(name, "") != new.get(name, "")}
    if found & {Across.MODEL, Across.RECIPE, Across.FORMAT, Across.CONVERTER}:
        found.discard(VARIANT)
    if Across.MODEL in found:
        found.discard(INPUTS)
    if pair.row == pair.new_row:  # a row's name says recipe and settings; twins are measured under one of their names
        found -= {Across.RECIPE, Across.FORMAT, Across.SETTINGS, LEVEL}
    if Across.FORMAT in found:  # then the recipe is another, and `-o` acts in one place or in the other
        found -= {Across.RECIPE, Across.CONVERTER, LEVEL}
    if LEVEL in found:
        found = (found - {LEVEL}) | {Across.SETTINGS}
    return found


def meant(found: Sequence[Difference], named: str, title: str) -> str:
    """What is meant to differ: the one thing that does; "" where nothing does. `title` names the two sides.

    Raises UsageError with the whole list where there is more than one, or another than was `named`.
    """
    names = list(dict.fromkeys(one.what for one in found))
    never = [name for name in names if name not in set(Across)]
    may = [name for name in names if name not in never]
    if named and named not in may:
        rest = f"; what differs: {', '.join(names)}" if names else "; nothing does"
        raise UsageError(
            Problem(f"--across {named}", f"{title} do not differ in it{rest}", "leave --across out, or name what does")
        )
    if not never and len(may) <= 1:
        return may[0] if may else ""
    kept = named or (may[0] if len(may) == 1 else "")
    head = Problem(
        title,
        f"{plural(len(names), 'thing')} {'differ' if len(names) > 1 else 'differs'}, where one that --across can name "
        "may: no comparison",
    )
    raise UsageError(head, *(_problem(one) for one in found if one.what != kept))


def _problem(one: Difference) -> Problem:
    where = f"{', '.join(one.where[:_MAX_NAMED])}{', …' if len(one.where) > _MAX_NAMED else ''}"
    return Problem(one.what, f"{one.base or 'none'} in BASE, {one.new or 'none'} in NEW ({where})", _MENDS[one.what])


def nothing_in_common(base: Side, new: Side, lone: Sequence[NotCompared], title: str) -> UsageError:
    """Why there is no case that both sides measured."""
    if base.head.run == new.head.run and not lone and base.head.phone == new.head.phone:
        mend = "--map basic=all, --map 'ROW=ROW', or RUN/PHONE/ROW on both sides"
        return UsageError(Problem(title, "is BASE and NEW: nothing says which of its cases meet", mend))
    problems = [Problem(title, "nothing in common: no case that both measured", "--map OLD=NEW names what was renamed")]
    for what, of in (
        ("models", lambda side: [case.cell.model for case in side.cases]),
        ("phones", lambda side: [_kind(case.label, case.virtual) for case in side.cases]),
        ("rows", lambda side: [name for case in side.cases for name in case.names]),
    ):
        olds, news = set(of(base)), set(of(new))
        if not olds & news:
            problems.append(Problem(what, f"{_listed(olds)} in BASE, {_listed(news)} in NEW"))
    met = [one for one in lone if not one.reason.endswith(("not in the plan", "phone not in the run"))]
    problems += [Problem(f"{one.label} {one.model} {one.row}", one.reason) for one in met[:_MAX_NAMED]]
    if len(problems) == 1:
        problems += [Problem(f"{one.label} {one.model} {one.row}", one.reason) for one in lone[:_MAX_NAMED]]
    return UsageError(*problems)


def _kind(label: str, virtual: bool) -> str:
    return f"{label} (virtual)" if virtual else label


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names, key=as_listed)
    more = f" and {len(ordered) - _MAX_NAMED} more" if len(ordered) > _MAX_NAMED else ""
    return f"{', '.join(ordered[:_MAX_NAMED])}{more}" if ordered else "none"


def require_fixed(side: Side) -> None:
    """Raise UsageError for a run that held A against B: its rounds ended when these were told apart, and any other
    judgement of them would be too sure of itself."""
    if number(side.run, "delta"):
        what = "holds A against B, whose rounds ended when they were told apart: its report has the answer"
        raise UsageError(Problem(side.head.run, what, f"orch report {side.head.run}"))


def notes_of(base: Side, new: Side, pairs: Sequence[Pair]) -> list[str]:
    """What else differs and is no part of the question, in words."""
    notes = []
    for column, words in (("orch_version", "orch"), ("script_digest", "the script on the phones")):
        old, now = text(base.run, column), text(new.run, column)
        if old != now:
            values = f": {old} and {now}" if column == "orch_version" else ""
            notes.append(f"measured by different versions of {words}{values}")
    hosts = {text(side.run, "host") for side in (base, new)}
    if len(hosts) > 1 and any(pair.base.virtual for pair in pairs):
        notes.append(f"virtual phones on computers of different names: {', '.join(sorted(hosts))}")
    counts = [(_iterations(pair.base), _iterations(pair.new)) for pair in pairs]
    far = [one for one in counts if one[0] and one[1] and not 1 / _FAR < one[0] / one[1] < _FAR]
    if far:
        notes.append(f"rounds of other lengths: {far[0][0]:g} iterations in BASE, {far[0][1]:g} in NEW")
    moved = {
        pair.base.cell.model
        for pair in pairs
        if pair.base.traits.get(Across.MODEL) != pair.new.traits.get(Across.MODEL)
        and pair.base.traits.get(INPUTS) != pair.new.traits.get(INPUTS)
    }
    if moved:
        notes.append(joined([f"other inputs, too: {', '.join(sorted(moved))}"]))
    return notes


def _iterations(case: SideCase) -> float:
    return statistics.median(case.figures("iterations").values() or [0.0])
