"""Pure: where a series of levels steps: a piecewise constant fit with as many pieces as an information criterion takes.

The fit is the Potts model in the first norm (F. Friedrich, A. Kempe, V. Liebscher, G. Winkler, "Complexity penalized
M-estimation: fast computation", Journal of Computational and Graphical Statistics 17, 2008, 201-224): of all ways to
cut n values into k pieces the one whose distances from the pieces' medians sum up to the least. The number of pieces is
that with the least

    4 ln(n) / n · k + ln(n · floor + Σ |e(i) − ρ e(i−1)|),

e(i) being the distance of a value from its piece's median: Schwarz's criterion for change points (Y.-C. Yao,
"Estimating the number of change-points via Schwarz' criterion", Statistics & Probability Letters 6, 1988, 181-189) as
airspeed velocity (asv) puts it: Laplacian noise of the first order of autocorrelation ρ, four degrees of freedom a
piece. Unlike there each fit is exact, a piece has at least two values, and ρ is at most 0.5.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

LEAST = 2
"""A single odd value is no level."""
FLOOR = 0.0005
"""Mean distance below which a fit is as good as any other, in the values' unit: for logarithms 0.05 %."""
MOST_PIECES = 12
PENALTY = 4.0
_RHO = 0.5
"""Nights that hang together more closely lie on levels: else a step passes for autocorrelation, and is not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Values `first` to before `end` lie at one level, their median, and stray from it by `spread` in the mean."""

    first: int
    end: int
    level: float
    spread: float


def steps(values: Sequence[float], *, floor: float = FLOOR, most: int = MOST_PIECES) -> tuple[Piece, ...]:
    """The pieces of a series of finite values, in their order; () of none. Between two pieces there is a step."""
    if not values:
        return ()
    costs = distances(values)
    best, least = _fit(values, costs, most), math.inf
    chosen = best[0]
    for cuts in best:
        told = _criterion(values, cuts, floor)
        if told < least:
            chosen, least = cuts, told
    return tuple(_piece(values, first, end) for first, end in _bounds(chosen, len(values)))


def _piece(values: Sequence[float], first: int, end: int) -> Piece:
    level = _median(sorted(values[first:end]))
    spread = math.fsum(abs(value - level) for value in values[first:end]) / (end - first)
    return Piece(first=first, end=end, level=level, spread=spread)


def _median(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _bounds(cuts: Sequence[int], count: int) -> list[tuple[int, int]]:
    edges = [0, *cuts, count]
    return list(pairwise(edges))


def distances(values: Sequence[float]) -> list[list[float]]:
    """`[first][end - first - 1]`: the sum of distances of the values from first to before end from their median."""
    table = []
    for first in range(len(values)):
        ordered: list[float] = []
        row, low_sum, all_sum = [], 0.0, 0.0
        for value in values[first:]:
            half = len(ordered) // 2
            below = half > 0 and value < ordered[half - 1]
            had_low = ordered[half - 1] if half else 0.0
            insort(ordered, value)
            all_sum += value
            if below:
                low_sum += value - had_low
            if len(ordered) // 2 > half:
                low_sum += ordered[half]
            half = len(ordered) // 2
            middle = ordered[half] if len(ordered) % 2 else 0.0
            row.append(max(0.0, all_sum - middle - 2 * low_sum))
        table.append(row)
    return table


def _fit(values: Sequence[float], costs: list[list[float]], most: int) -> list[tuple[int, ...]]:
    """The cuts of the best fit in one piece, in two, and so on, as far as there are values for them."""
    import numpy as np  # noqa: PLC0415 - heavy, and only who asks for steps needs it

    count = len(values)
    cost = np.full((count, count + 1), math.inf)
    for first, row in enumerate(costs):
        cost[first, first + LEAST : count + 1] = row[LEAST - 1 :]
    cost[0, count] = costs[0][-1]
    so_far = [cost[0]]
    from_where: list[list[int]] = []
    for _ in range(1, min(most, count // LEAST)):
        added = so_far[-1][:count, None] + cost
        places = added.argmin(axis=0)
        so_far.append(added[places, np.arange(count + 1)])
        from_where.append([int(one) for one in places])
    found = []
    for pieces in range(len(so_far)):
        cuts, end = [], count
        for back in reversed(from_where[:pieces]):
            end = back[end]
            cuts.append(end)
        found.append(tuple(reversed(cuts)))
    return found


def _criterion(values: Sequence[float], cuts: Sequence[int], floor: float) -> float:
    count = len(values)
    if count < 2:
        return 0.0
    apart: list[float] = []
    for first, end in _bounds(cuts, count):
        level = _median(sorted(values[first:end]))
        apart += [value - level for value in values[first:end]]
    rho = _correlation(apart)
    total = abs(apart[0]) + math.fsum(abs(now - rho * last) for last, now in pairwise(apart))
    return PENALTY * math.log(count) / count * (len(cuts) + 1) + math.log(count * floor + total)


def _correlation(apart: Sequence[float]) -> float:
    """The ρ that makes Σ |e(i) − ρ e(i−1)| least: a median of the ratios, each with the weight |e(i−1)|."""
    ratios = sorted((now / last, abs(last)) for last, now in pairwise(apart) if last != 0.0)
    half = math.fsum(weight for _, weight in ratios) / 2
    passed = 0.0
    for ratio, weight in ratios:
        passed += weight
        if passed >= half:
            return min(max(ratio, -_RHO), _RHO)
    return 0.0
