"""Pure: what is searched. Axes with levels, and the cells: their product less what was merged or dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.errors import Problem, UsageError

MAX_CELLS = 5000
"""A model of them all is a square matrix; more than this nobody can afford to try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A knob and the levels that it may stand at, as a person calls them."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Cells by number, each a level (by number) of every axis.

    `names` are what a person calls them. `barred` are cells, by number, that may never win and so are not tried, with
    why (out of tolerance). `baseline` is measured a few rounds whatever comes of it.
    """

    axes: tuple[Axis, ...]
    cells: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    barred: Mapping[int, str] = field(default_factory=dict)
    baseline: int | None = None

    def __len__(self) -> int:
        return len(self.cells)


def space_of(
    names: Sequence[str],
    words: Sequence[Mapping[str, str]],
    *,
    barred: Mapping[int, str] | None = None,
    baseline: int | None = None,
) -> Space:
    """The space of cells that say, for each knob, where it stands; knobs that all leave alone are no axes.

    Levels are in the order in which they come. Raises UsageError with every problem: no cells, too many, cells without
    a knob that others have, two of one name or alike in every knob, nothing left that may win.
    """
    problems = list(_problems(names, words, barred or {}))
    if problems:
        raise UsageError(*problems)
    axes = []
    for name in words[0]:
        levels = tuple(dict.fromkeys(said[name] for said in words))
        if len(levels) > 1:
            axes.append(Axis(name=name, levels=levels))
    cells = tuple(tuple(axis.levels.index(said[axis.name]) for axis in axes) for said in words)
    return Space(axes=tuple(axes), cells=cells, names=tuple(names), barred=dict(barred or {}), baseline=baseline)


def _problems(names: Sequence[str], words: Sequence[Mapping[str, str]], barred: Mapping[int, str]) -> list[Problem]:
    if not words:
        return [Problem("axes", "no cell is left to try", "give every axis a level, and constraints that leave some")]
    found = []
    if len(words) > MAX_CELLS:
        found.append(Problem("axes", f"{len(words)} cells", f"at most {MAX_CELLS}: leave levels or axes out"))
    for name, said in zip(names, words, strict=True):
        missing = sorted(words[0].keys() ^ said.keys())
        if missing:
            found.append(Problem(name, f"says nothing of {', '.join(missing)}", "let every cell say all knobs"))
    found += [
        Problem(name, "two cells have this name", "give them names of their own")
        for name, count in Counter(names).items()
        if count > 1
    ]
    if not found:
        alike = Counter(tuple(sorted(said.items())) for said in words)
        found += [
            Problem("axes", f"{count} cells are alike: {dict(key)}", "merge them")
            for key, count in alike.items()
            if count > 1
        ]
    if len(barred) == len(words):
        why = next(iter(barred.values()))
        found.append(Problem("axes", f"no cell may win: {why}", "add settings that compute what the model says"))
    return found
