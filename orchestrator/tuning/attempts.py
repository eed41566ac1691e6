"""Pure: what processes have shown so far: the events from which a search can always be made again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from orchestrator.tuning.goal import Objective
from orchestrator.tuning.space import Space

LEVEL_FAILS = 3
"""Where so many cells of a level failed and none was measured, its other cells are not tried."""


class How(StrEnum):
    """How a process ended: with figures that count, with such as may not be trusted, or by the case's own fault."""

    MEASURED = "measured"
    SPOILED = "spoiled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One process: its cell, the round that asked for it (from 1), when it began (seconds on the phone's clock).

    `took_s`: what it and the waiting for it took, canary, calibration and rest before it included. `figures` where it
    was measured.
    """

    cell: int
    round: int
    at_s: float
    took_s: float
    how: How
    figures: Mapping[Objective, float] = field(default_factory=dict)

    def log(self, objective: Objective) -> float | None:
        """The logarithm of a figure that counts; None where there is none above 0."""
        value = self.figures.get(objective, 0.0) if self.how is How.MEASURED else 0.0
        return math.log(value) if 0.0 < value < math.inf else None


def rounds_of_cells(attempts: Sequence[Attempt]) -> Counter[int]:
    """How many valid rounds each cell has."""
    return Counter(cell for cell, _ in {(one.cell, one.round) for one in attempts if one.how is How.MEASURED})


def out_of_question(space: Space, attempts: Sequence[Attempt]) -> dict[int, str]:
    """The cells, by number, that are not to be tried (again), with why: barred, failed, or of a level that fails."""
    failed = {one.cell for one in attempts if one.how is How.FAILED}
    measured = {one.cell for one in attempts if one.how is How.MEASURED}
    found = dict.fromkeys(sorted(failed), "failed")
    for place, axis in enumerate(space.axes):
        fails = Counter(space.cells[cell][place] for cell in failed)
        works = {space.cells[cell][place] for cell in measured}
        for level, count in sorted(fails.items()):
            if count >= LEVEL_FAILS and level not in works:
                why = f"not tried: all {count} that were, with {axis.name} {axis.levels[level]}, failed"
                same = (cell for cell, levels in enumerate(space.cells) if levels[place] == level)
                found |= {cell: why for cell in same if cell not in found}
    return found | dict(space.barred)
