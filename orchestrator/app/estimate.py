"""Pure: what a plan will cost, before a phone is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.app.binary import Tools
from orchestrator.app.prepare import Workshop
from orchestrator.app.wish import Wish
from orchestrator.plan.matrix import Expansion
from orchestrator.plan.order import trials_planned, verified

START_S = 0.15
"""A process's start and the snapshot after it."""
CALIBRATION_S = 0.6
"""Two short processes a case: five iterations, then as many as take about 0.2 s."""
BESIDE_S = 0.5
"""A trial that is not timed: it traces or asks what was taken, in a few iterations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Seconds until the last phone is done; bytes that may go to each phone at most; trials in all.

    `at_most`: a second step is counted in, which may turn out not to pay, or rounds that may be saved.
    """

    seconds_s: float
    bytes_a_phone: int
    trials: int
    at_most: bool


def estimate(wish: Wish, workshop: Workshop, tools: Tools, expansions: Mapping[str, Expansion], slots: int) -> Estimate:
    """The plan's cost. Phones work at once; virtual ones share `slots` (0: every phone has its own processor)."""
    per_trial_s = wish.plan.seconds * 1.1 + START_S
    calibration_s = 0.0 if wish.plan.iterations else CALIBRATION_S
    series = wish.series
    lanes_s = []
    trials = 0
    for one in expansions.values():
        timed, ranked = sum(case.timed for case in one.cases), len(verified(one.cases))
        planned = trials_planned(one.cases, rounds=wish.max_rounds, trace=wish.plan.trace, verify=wish.plan.verify)
        trials += planned + (series.processes * ranked if series else 0)
        long_s = ranked * (series.took_s + series.processes * START_S) if series else 0.0
        beside_s = (planned - timed * wish.max_rounds) * BESIDE_S
        lanes_s.append(timed * (calibration_s + per_trial_s * wish.max_rounds) + beside_s + long_s)
    longest_s = max(lanes_s, default=0.0)
    if slots:
        longest_s = max(longest_s, sum(lanes_s) / slots)
    if wish.tune is not None:  # rounds go on until the best is known, or this is gone
        longest_s = wish.tune.budget_s * len(wish.models)
    used = {case.variant_id: case.inputs_digest for one in expansions.values() for case in one.cases}
    sizes = {
        variant.variant_id: variant.size_bytes for variant in workshop.variants.values() if not isinstance(variant, str)
    }
    inputs = {one.digest: one.size_bytes for _, one in workshop.models}
    tool_bytes = sum(each.size_bytes() for tool in tools.every for each in tool.unit.files)
    times = 2 if wish.plan.verify else 1  # a check variant is its variant and a little more
    return Estimate(
        seconds_s=longest_s,
        bytes_a_phone=tool_bytes + times * sum(sizes[variant] + inputs[data] for variant, data in used.items()),
        trials=trials,
        at_most=wish.sides is not None
        or wish.tune is not None
        or any(case.where_pays is not None for one in expansions.values() for case in one.cases),
    )
