"""Pure: what is looked for, how well, and at what price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.errors import Problem, UsageError
from orchestrator.measure.interval import MIN_ROUNDS

WITHIN = 0.02
CONFIDENCE = 0.98
LEAST_ROUNDS = 5
"""What one round of a cell says may be chance, and so may the noise that few of them show."""
FIRST_ROUND = 16
"""Cells of a round of the first fraction: few enough that a phone stays what it is while they are measured."""


class Objective(StrEnum):
    """A figure of one process, above 0; less is better. Seconds, or bytes of memory."""

    P50 = "p50"
    P90 = "p90"
    COLD = "cold start"
    MEMORY = "memory"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One objective: the best cell. Several: those of which none is better in all.

    Done when the best is known to `within` (0.02: no cell is better by more than 2 %) with `confidence`, or when
    `budget_s` seconds of the phone are gone. `trial_s` is what one process is thought to take, until some have run. A
    winner has at least `least_rounds` valid rounds of its own.
    """

    budget_s: float
    trial_s: float
    objectives: tuple[Objective, ...] = (Objective.P50,)
    within: float = WITHIN
    confidence: float = CONFIDENCE
    least_rounds: int = LEAST_ROUNDS
    seed: int = 0

    @property
    def margin(self) -> float:
        """`within` as a difference of logarithms."""
        return math.log1p(self.within)


def check_goal(goal: Goal, cells: int) -> None:
    """Raise UsageError with every reason why a search of so many cells can't end well."""
    problems = []
    if not goal.objectives:
        problems.append(Problem("--objective", "nothing to look for", f"give one of {', '.join(Objective)}"))
    if not 0.0 < goal.within < 1.0:
        problems.append(Problem("--within", f"{goal.within:g} is no share", "give one above 0 and below 100 %"))
    if not 0.5 < goal.confidence < 1.0:
        problems.append(Problem("confidence", f"{goal.confidence:g}", "give one above 0.5 and below 1"))
    if goal.least_rounds < MIN_ROUNDS:
        problems.append(Problem("rounds", f"{goal.least_rounds}", f"a winner needs at least {MIN_ROUNDS}"))
    needed_s = goal.trial_s * min(cells, FIRST_ROUND)
    if not goal.trial_s > 0.0 or not goal.budget_s >= needed_s:
        problems.append(
            Problem("--budget", f"{goal.budget_s:.0f} s are below one round", f"give at least {needed_s:.0f} s a phone")
        )
    if problems:
        raise UsageError(*problems)
