"""Pure: how far a series strays by itself, learnt from its own nights. Levels and misses are natural logarithms.

A night is predicted by the median of the nights before it, and misses that by something. Those misses are the noise:
whatever makes neighbouring nights resemble each other, or lets a series creep, is in them, since each of them was made
the way the newest night is judged. Four of five misses were smaller than their 80 % quantile; in that of a normal
distribution there are 1.2816 standard deviations, so one bad night in a month does not blow up the scale.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache

_SHARE = 0.8
_OF_NORMAL = 1.2815515655446004
_LEAST_FREEDOM = 5
_MEDIAN_COST = 1.2533141373155001
"""The standard error of a median of normal values over that of their mean."""


def level_of(rounds_s: Sequence[float]) -> float:
    """A night's level: the median of the rounds' logarithms; seconds above 0, at least one."""
    return statistics.median(math.log(value) for value in rounds_s)


def round_error(rounds_s: Sequence[float]) -> float | None:
    """The standard error of a night's level by its rounds alone; None below three rounds."""
    if len(rounds_s) < 3:
        return None
    return _MEDIAN_COST * statistics.stdev(math.log(value) for value in rounds_s) / math.sqrt(len(rounds_s))


def scale_of(misses: Sequence[float]) -> float:
    """The standard deviation of misses by their 80 % quantile (Hyndman and Fan's type 6); at least one miss."""
    sizes = sorted(abs(miss) for miss in misses)
    place = min(max(_SHARE * (len(sizes) + 1) - 1, 0.0), len(sizes) - 1.0)
    low = math.floor(place)
    high = min(low + 1, len(sizes) - 1)
    return (sizes[low] + (place - low) * (sizes[high] - sizes[low])) / _OF_NORMAL


def freedom_of(count: int) -> float:
    """Degrees of freedom of `scale_of` so many misses: half of them, as a quantile tells less than all values and
    neighbouring nights resemble each other; with few misses at most five, and one less than there are."""
    return max(1.0, min(count - 1, max(_LEAST_FREEDOM, count / 2)))


def short_base(nights: int, window: int) -> float:
    """By how much a prediction from so many nights misses more than one from a whole window."""
    return math.sqrt((1 + 1 / max(1, nights)) / (1 + 1 / window))


@lru_cache(maxsize=4096)
def t_above(chance: float, freedom: float) -> float:
    """What Student's t exceeds with this chance (one side)."""
    from scipy.special import stdtrit  # noqa: PLC0415 - heavy, and only who judges needs it

    return float(stdtrit(freedom, 1 - chance))


def chance_above(value: float, freedom: float) -> float:
    """The chance that Student's t exceeds a value (one side)."""
    from scipy.special import stdtr  # noqa: PLC0415 - heavy, and only who judges needs it

    return float(stdtr(freedom, -value))
