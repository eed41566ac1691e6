"""Pure: how far an output on a phone is from the expected one, in decibels, as a count that fits into a tensor's shape.

    error_db = 10 · log10(max |expected| / max |given − expected|)

over all elements of one output: 10 dB for each factor of ten between the largest value and the largest difference, so
that 40 dB is 1e-4. Larger is better. Where all that is expected is 0, the difference stands against 1.

The phone counts how many of a list of bounds lie above the largest difference. Nothing is rounded or cast there that
could overflow: of a NaN every comparison is false, so that it counts 0, where a NaN cast to an integer is 0 on ARM and
the least number on x86.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.variants.tolerance import Precision, tolerance

LOWEST_DB, HIGHEST_DB, STEPS_PER_DB = -30, 120, 10
"""The scale: from a difference 1000 times the signal to 1e-12 of it, which is finer than float32, in 0.1 dB."""
_FINITE = 1.7e308
_AND_NO_LESS = 1 + 1e-9
"""A difference that lies on a bound counts as below it."""
_EQUAL = 1e-300
"""Below every difference of two numbers of a type that an output has; no denormal, which a phone may flush."""
_STEPS = (HIGHEST_DB - LOWEST_DB) * STEPS_PER_DB
MOST = _STEPS + 3
"""The count of an output that is equal: each bound lies above a difference of 0."""


class Difference(StrEnum):
    """What a count says."""

    EQUAL = "equal"
    DIFFERS = "differs"
    NOT_FINITE = "not finite"


@dataclass(frozen=True, slots=True)
class OutputError:
    """One output on a phone. `db` is None but where it differs; then the true value lies in `db` … `db` + 0.1.

    At the ends of the scale it is `LOWEST_DB` for everything worse and `HIGHEST_DB` for everything better, but equal.
    """

    difference: Difference
    db: float | None = None


def bounds(peak: float) -> list[float]:
    """The bounds, falling, for an output whose largest expected value is `peak`; every one below the first is above
    what a smaller difference has."""
    scale = (peak if peak > 0 else 1.0) * _AND_NO_LESS
    steps = [scale * 10 ** (-(LOWEST_DB + at / STEPS_PER_DB) / 10) for at in range(_STEPS + 1)]
    return [_FINITE, *steps, _EQUAL]


def error_of(count: int) -> OutputError:
    """What a count of bounds means. Raises ValueError for one that can't be."""
    if not 0 <= count <= MOST:
        raise ValueError(f"{count} bounds of {MOST}")
    if count == 0:
        return OutputError(Difference.NOT_FINITE)
    if count == MOST:
        return OutputError(Difference.EQUAL)
    return OutputError(Difference.DIFFERS, round(LOWEST_DB + max(count - 2, 0) / STEPS_PER_DB, 1))


def tolerance_db(precision: Precision) -> float:
    """The least `error_db` that is let pass: the host's tolerance for the same arithmetic (`tolerance`), told in dB.

    float32 as it is: a share of 1e-4 is 40 dB. A cosine c bounds no single element; for an error that is spread as the
    signal is and not along it, 1 − c is half the square of the relative error, so sqrt(2 · (1 − c)) stands for it: of
    0.999 13.4 dB, of 0.98 6.9 dB.
    """
    limits = tolerance(precision)
    share = limits.share if limits.share is not None else math.sqrt(2 * (1 - (limits.cosine or 0.0)))
    exact = -10 * math.log10(share)
    return math.floor(exact * STEPS_PER_DB + 1e-6) / STEPS_PER_DB


def within(error: OutputError, allowed_db: float) -> bool:
    """Whether an output is near enough to the expected one."""
    match error.difference:
        case Difference.EQUAL:
            return True
        case Difference.NOT_FINITE:
            return False
        case Difference.DIFFERS:
            return error.db is not None and error.db >= allowed_db
