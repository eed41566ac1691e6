"""Pure: the wish of `orch ab`: models, A, B, and what difference between them matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.app.amounts import fraction_of
from orchestrator.app.wish import RunOptions, Wish, wish_of
from orchestrator.errors import Problem, UsageError
from orchestrator.plan.load import CONTROL_ROUNDS
from orchestrator.plan.sides import Sides, sides_of
from orchestrator.report.ab_gates import limit_of

ROUNDS = 30
"""Pairs of rounds at most, where nobody says."""
DELTA = "2%"
"""The difference that matters, where nobody says."""


def ab_wish(
    options: RunOptions, a: Sequence[str], b: Sequence[str], delta: str = DELTA, fail_if: Sequence[str] = ()
) -> Wish:
    """A and B in words, on the models of `options` or on their own; gates as `fail_if`. Raises UsageError with every
    problem."""
    problems: list[Problem] = []
    share = fraction_of(delta)
    sides: Sides | None = None
    if share is None:
        problems.append(Problem("--delta", f"{delta!r} is no share", "give 2%, or 0.02"))
    if options.rounds is not None and options.rounds < CONTROL_ROUNDS:
        mend = f"give {CONTROL_ROUNDS} or more"
        problems.append(Problem("--rounds", f"{options.rounds} pairs tell no spread", mend))
    problems += [
        Problem(thing, "is a plan: A and B say what is measured", "give models; a plan goes with orch run")
        for thing in options.things
        if thing.endswith(".toml")
    ]
    try:
        sides = sides_of(a, b, share or 1.0)
        problems += _models(options, sides)
    except UsageError as error:
        problems += error.problems
    for gate in fail_if:
        try:
            limit_of(gate)
        except UsageError as error:
            problems += error.problems
    if problems or sides is None:
        raise UsageError(*problems)
    things = tuple(dict.fromkeys(sides.models)) or options.things
    wish = wish_of(replace(options, things=things, rounds=options.rounds or ROUNDS))
    plan = replace(wish.plan, name="ab", preset="", twins=False)
    return replace(wish, plan=plan, sides=replace(sides, fail_if=tuple(fail_if)))


def _models(options: RunOptions, sides: Sides) -> list[Problem]:
    """What is wrong with where the models are named."""
    if sides.models and options.things:
        named = ", ".join(options.things)
        return [Problem("arguments", f"{named}, but A and B have models of their own", "name them once")]
    if not sides.models and not options.things:
        return [Problem("arguments", "no model", "give MODEL.onnx, or a model in --a and in --b")]
    return []
