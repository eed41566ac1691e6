"""A simulated phone that runs cells of known truth; gate, verdict, canary, calibration and rest are all paid for.

The phone is that of a scenario (`android_runner/virtual/heat`), with its heat and the spread of its processes; what is
rejected is so by the rules that judge true attempts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from android_runner.validity import Limits, Standing, judge_validity
from android_runner.virtual.heat.scenario import load_scenario
from android_runner.virtual.heat.simulated import draw
from benchmarks.simulated_farm import BETWEEN_BLOCKS_S, CANARY_WORK_S, SNAPSHOTS_S, START_S, wait_at_gate
from benchmarks.tuning_truth import Pair
from orchestrator.tuning.attempts import Attempt, How
from orchestrator.tuning.goal import Objective

SCENARIO = "drift"
WORK_S = 2.0
"""A trial's inferences at the top clock: the program's default."""
CALIBRATION_S = 0.3
"""What finding a cell's number of iterations computes, once a cell."""
LIMITS = Limits(min_battery_level=None)
"""Hours on a cable that gives less than the load takes are no part of this."""
BLOCK = 16


class TuningPhone:
    """One phone with one model, from cold. `spent_s` is all of its time that went by; `calls` counts processes."""

    def __init__(self, pair: Pair, seed: str | int) -> None:
        self.pair = pair
        self.phone = draw(load_scenario(SCENARIO), seed)
        self.spent_s = 0.0
        self.calls = self.spoiled = 0
        self._calibrated: set[int] = set()
        self.phone.rest(1.0)

    def run(self, cells: Sequence[int], number: int, rest_s: float = 0.0) -> list[Attempt]:
        """A round as one block: rest, a canary, each cell once; the first attempt pays for what comes before it."""
        before_s = self.phone.now_s
        if rest_s:
            self.phone.rest(rest_s)
        self.phone.rest(START_S + SNAPSHOTS_S)
        self.phone.run(CANARY_WORK_S)
        found = []
        for place, cell in enumerate(cells):
            if place == len(cells) - 1:
                self.phone.rest(BETWEEN_BLOCKS_S)
            found.append(self.one(cell, number, before_s))
            before_s = self.phone.now_s
        return found

    def one(self, cell: int, number: int, since_s: float | None = None) -> Attempt:
        """One process of a cell, calibrated before if it never ran; `since_s`: from when on its time counts."""
        phone, pair = self.phone, self.pair
        since_s = phone.now_s if since_s is None else since_s
        self.calls += 1
        busy = int(pair.threads[cell])
        if pair.fails[cell]:
            phone.rest(START_S + SNAPSHOTS_S)
            return self._attempt(cell, number, since_s, phone.now_s, How.FAILED)
        if cell not in self._calibrated:
            self._calibrated.add(cell)
            phone.rest(START_S)
            phone.run(CALIBRATION_S, busy)
        wait_at_gate(phone, LIMITS)
        vitals = phone.vitals()
        phone.rest(START_S + SNAPSHOTS_S)
        began_s = phone.now_s
        took = phone.run(WORK_S, busy)
        judged = judge_validity(vitals, phone.vitals(), None, LIMITS)
        if judged.standing is Standing.INVALID:
            self.spoiled += 1
            return self._attempt(cell, number, since_s, began_s, How.SPOILED)
        p50_s = math.exp(float(pair.log_s[cell])) * took.median_slowdown
        return self._attempt(cell, number, since_s, began_s, How.MEASURED, p50_s)

    def _attempt(
        self, cell: int, number: int, since_s: float, began_s: float, how: How, p50_s: float | None = None
    ) -> Attempt:
        took_s = self.phone.now_s - since_s
        self.spent_s += took_s
        figures = {} if p50_s is None else {Objective.P50: p50_s}
        return Attempt(cell=cell, round=number, at_s=began_s, took_s=took_s, how=how, figures=figures)


def regret(pair: Pair, cell: int | None) -> float:
    """By what share a cell is slower than the true best; infinite for none."""
    return math.inf if cell is None or pair.fails[cell] else math.expm1(float(pair.log_s[cell]) - pair.best)
