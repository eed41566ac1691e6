"""Pure: what a search has found for one model on one phone: winner, runner-up, how sure, and what it lacks."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.tuning.attempts import Attempt, How, out_of_question, rounds_of_cells
from orchestrator.tuning.goal import Objective
from orchestrator.tuning.search import Search, Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A cell in the answer. `figure` is the median of its own valid rounds (seconds or bytes), None without any.

    `behind` is by what share it is believed to be above the winner (0.03: 3 %), from `behind_low` to `behind_high`
    with 95 %; `chance` that it is the best of all.
    """

    cell: int
    name: str
    rounds: int
    figure: float | None
    behind: float
    behind_low: float
    behind_high: float
    chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """What was found. Of several objectives `front` is the answer, and figures are those of the first.

    `confidence`: that no cell is better than the winner by more than was asked (of a front: somewhere). `known`: it is
    as sure as was asked. `lacks` says what was not tried and why, with how many cells; `spoiled` processes counted for
    nothing.
    """

    winner: Placed | None
    runner_up: Placed | None
    front: tuple[Placed, ...]
    confidence: float
    known: bool
    cells: int
    tried: int
    processes: int
    spoiled: int
    spent_s: float
    lacks: tuple[tuple[str, int], ...]


def tuned(search: Search, attempts: Sequence[Attempt]) -> Tuned:
    """The answer after these attempts, whatever ended the search."""
    standing = search.standing(attempts, afresh=True)
    counts = rounds_of_cells(attempts)
    without = out_of_question(search.space, attempts)
    lacks = Counter(without.values())
    unasked = len(search.space) - len(counts.keys() | without.keys())
    if unasked:
        lacks["not run: what others showed says enough of them"] = unasked
    front: list[Placed] = []
    others: list[Placed] = []
    if standing is not None and all(counts[cell] for cell in standing.front):
        front = _placed(search, standing, attempts, standing.front)
        others = _placed(search, standing, attempts, _nearest(standing, counts))
    confidence = standing.confidence if standing is not None and front else 0.0
    return Tuned(
        winner=front[0] if front else None,
        runner_up=others[0] if others else None,
        front=tuple(front),
        confidence=confidence,
        known=standing is not None and bool(front) and search.is_known(standing, attempts),
        cells=len(search.space),
        tried=len({one.cell for one in attempts}),
        processes=len(attempts),
        spoiled=sum(one.how is How.SPOILED for one in attempts),
        spent_s=sum(one.took_s for one in attempts),
        lacks=tuple(sorted(lacks.items(), key=lambda item: (-item[1], item[0]))),
    )


def _nearest(standing: Standing, counts: Counter[int]) -> tuple[int, ...]:
    """The cell behind the front that is believed to be the best of those that were measured."""
    belief = next(iter(standing.beliefs.values()))
    ordered = (belief.cells[at] for at in np.argsort(belief.mean))
    return tuple(int(cell) for cell in ordered if counts[int(cell)] and int(cell) not in standing.front)[:1]


def _placed(search: Search, standing: Standing, attempts: Sequence[Attempt], cells: Sequence[int]) -> list[Placed]:
    objective, belief = next(iter(standing.beliefs.items()))
    places = {int(cell): at for at, cell in enumerate(belief.cells)}
    best = min((places[cell] for cell in standing.front), key=lambda at: belief.mean[at])
    counts = rounds_of_cells(attempts)
    found = []
    for cell in sorted(cells, key=lambda one: belief.mean[places[one]]):
        at = places[cell]
        apart = float(belief.mean[at] - belief.mean[best])
        shared = 2.0 * belief.covariance[at, best]
        spread = math.sqrt(max(0.0, float(belief.covariance[at, at] + belief.covariance[best, best] - shared)))
        found.append(
            Placed(
                cell=cell,
                name=search.space.names[cell],
                rounds=counts[cell],
                figure=_own_median(attempts, cell, objective),
                behind=math.expm1(apart),
                behind_low=math.expm1(apart - 1.96 * spread),
                behind_high=math.expm1(apart + 1.96 * spread),
                chance=standing.chances.get(cell, 0.0),
            )
        )
    return found


def _own_median(attempts: Sequence[Attempt], cell: int, objective: Objective) -> float | None:
    own = [math.exp(log) for one in attempts if one.cell == cell and (log := one.log(objective)) is not None]
    return statistics.median(own) if own else None
