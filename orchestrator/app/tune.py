"""Pure: the wish of `orch tune`: a plan's axes, what is looked for among them, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from orchestrator.app.amounts import fraction_of, seconds_of
from orchestrator.app.estimate import CALIBRATION_S, START_S
from orchestrator.app.wish import RunOptions, Wish, wish_of
from orchestrator.errors import Problem, UsageError
from orchestrator.plan.matrix import Expansion
from orchestrator.plan.presets import unknown
from orchestrator.store.hunts import Hunt, Sought
from orchestrator.tuning.goal import LEAST_ROUNDS, Objective

BUDGET = "10m"
WITHIN = "2%"
OBJECTIVES: Mapping[str, tuple[Objective, ...]] = {
    "p50": (Objective.P50,),
    "p90": (Objective.P90,),
    "cold": (Objective.COLD,),
    "memory": (Objective.MEMORY,),
    "pareto": (Objective.P50, Objective.MEMORY, Objective.COLD),
}
"""What may be looked for, as it is typed; of several the front."""


def tune_wish(options: RunOptions, within: str = WITHIN, objective: str = "p50") -> Wish:
    """What a plan has, searched instead of measured whole. Raises UsageError with every problem."""
    problems: list[Problem] = []
    share = fraction_of(within)
    if share is None:
        problems.append(Problem("--within", f"{within!r} is no share", "give 2%, or 0.02"))
    if objective not in OBJECTIVES:
        problems.append(unknown("objective", objective, list(OBJECTIVES), "--objective"))
    wish: Wish | None = None
    try:
        wish = wish_of(options)
        problems += _no_search(wish)
    except UsageError as error:
        problems += error.problems
    if problems or wish is None or share is None:
        raise UsageError(*problems)
    name = wish.plan.name if wish.plan.name != "plan" else "tune"
    budget_s = seconds_of(wish.plan.budget or BUDGET) or 0.0
    plan = replace(
        wish.plan, name=name, twins=False, rounds=LEAST_ROUNDS, max_rounds=None, precision=None, budget="", reruns=0
    )
    process_s = wish.plan.seconds * 1.1 + START_S + (0.0 if wish.plan.iterations else CALIBRATION_S)
    sought = Sought(
        budget_s=budget_s / len(wish.models), trial_s=process_s, within=share, objectives=OBJECTIVES[objective]
    )
    return replace(wish, plan=plan, tune=sought)


def _no_search(wish: Wish) -> list[Problem]:
    """What a plan asks for that a search has no place for."""
    plan = wish.plan
    asked = {"precision": plan.precision is not None, "sustained": bool(plan.sustained), "trace": plan.trace}
    asked |= {"verify": plan.verify, "reruns": plan.reruns is not None, "max_rounds": plan.max_rounds is not None}
    mend = "leave it out, and measure the winner with orch run"
    return [Problem(name, "is nothing that a search does", mend) for name, there in asked.items() if there]


def check_search(wish: Wish, expansions: Mapping[str, Expansion]) -> None:
    """Raise UsageError where a phone's search could not end well, before a phone is touched."""
    if wish.tune is None:
        return
    for phone, expansion in expansions.items():
        models = dict.fromkeys(case.model_name for case in expansion.cases)
        for model in models:
            Hunt(phone, [case for case in expansion.cases if case.model_name == model], wish.tune.goal(0))
