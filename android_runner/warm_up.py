"""Pure: which leading iterations of a process are warm-up.

One rule, for every model and phone. perf_test runs once before it counts; caches, clocks and the allocator take longer.
Of n counted iterations at least 3 are dropped, and as many more as it takes until the running median is flat: the
fewest k ≥ 3 such that the median of the w iterations from k on lies as near to the median of the second half as the
tolerance says. w is n / 20, but 5 at least and 201 at most. The tolerance is 2 %, or three standard errors of a median
of w values where the iterations are noisier than that (1.2533 σ / √w, with σ = 1.4826 times the median absolute
deviation of the second half). k is looked for in the first half, in steps of a fifth of w. Where there is none the
process never became flat: 3 are dropped, and the trial is suspect. Below 16 iterations nobody can tell; below 8 none
can be spared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

LEAST_DROPPED = 3
LEAST_TO_SPARE = 8
LEAST_TO_TELL = 16
TOLERANCE = 0.02
_WINDOWS = 20
_WINDOW_BOUNDS = (5, 201)
_SIGMA_BY_MAD = 1.4826
_MEDIAN_ERROR = 1.2533
_ERRORS = 3.0


@dataclass(frozen=True, slots=True)
class WarmUp:
    """How many leading iterations to drop, and whether the rest was `flat`; None where nobody can tell."""

    dropped: int
    flat: bool | None


def warm_up(latencies_s: npt.NDArray[np.float64]) -> WarmUp:
    """The warm-up of one process by the rule of this module; `latencies_s` has shape (iterations,), in their order."""
    count = int(latencies_s.size)
    if count < LEAST_TO_TELL:
        return WarmUp(LEAST_DROPPED if count >= LEAST_TO_SPARE else 0, None)
    half = latencies_s[count // 2 :]
    level = float(np.median(half))
    window = min(max(count // _WINDOWS, _WINDOW_BOUNDS[0]), _WINDOW_BOUNDS[1])
    sigma = _SIGMA_BY_MAD * float(np.median(np.abs(half - level)))
    allowed = max(TOLERANCE * level, _ERRORS * _MEDIAN_ERROR * sigma / math.sqrt(window))
    for start in range(LEAST_DROPPED, max(count // 2 + 1, LEAST_DROPPED + 1), max(1, window // 5)):
        if abs(float(np.median(latencies_s[start : start + window])) - level) <= allowed:
            return WarmUp(start, True)
    return WarmUp(LEAST_DROPPED, False)
