"""Pure: how long a trial lasts. A short calibration finds what one iteration costs; the number is then kept."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orchestrator.plan.case import Purpose

MAX_ITERATIONS = 1_000_000_000
"""More than this nobody can mean, and some builds of perf_test count in 32 bits."""
FIRST_CALIBRATION_ITERATIONS = 5
COLD_SETTLED_S = 0.2
"""The first calibration runs cold: it says what an iteration costs only when it computed this long."""
AIM_S = 0.2
SETTLED_S = 0.08
"""What the next one aims at, and what is enough: it will be shorter, as iterations cost less when warm."""
MAX_CALIBRATIONS = 3
MARGIN = 1.1
"""A calibrating process is not yet warm, so that a trial sized by it would end a little early."""
FEW_ITERATIONS = {Purpose.TRACE: 10, Purpose.INTROSPECT: 1, Purpose.VERIFY: 3}
"""Runs of what is not timed: a trace's cap of 1,000,000 events and its perturbation ask for few; an introspection has
said everything when the session is made. A few runs are verified, as a driver may be wrong now and then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLength:
    """Bounds on one timed process, in seconds of inference and in iterations."""

    min_s: float = 2.0
    min_iterations: int = 50
    max_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """One calibrating process: how many iterations it ran and what one cost on average, in seconds."""

    iterations: int
    mean_s: float


def next_calibration(done: list[Calibration]) -> int | None:
    """How many iterations to try next; None when the last one settles it."""
    if not done:
        return FIRST_CALIBRATION_ITERATIONS
    last = done[-1]
    enough_s = COLD_SETTLED_S if len(done) == 1 else SETTLED_S
    if last.iterations * last.mean_s >= enough_s or len(done) >= MAX_CALIBRATIONS:
        return None
    return max(last.iterations * 2, math.ceil(AIM_S / max(last.mean_s, 1e-7)))


def iterations_for(calibration: Calibration, length: TrialLength) -> int:
    """Iterations for a trial: at least `min_s` and `min_iterations`, but at most `max_s`, and always one."""
    per_s = max(calibration.mean_s, 1e-7)
    wanted = max(math.ceil(MARGIN * length.min_s / per_s), length.min_iterations)
    return max(1, min(wanted, math.floor(length.max_s / per_s)))


def deadline_s(expected_s: float) -> int:
    """Whole seconds after which a process that should last `expected_s` is taken for hung."""
    return math.ceil(30 + 4 * expected_s)
