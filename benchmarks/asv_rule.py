"""The regression rule of airspeed velocity (asv), from its published description, for the same nights as ours.

asv fits a piecewise constant function (the L1 Potts model, with a penalty γ chosen by Schwarz's criterion with
autocorrelated Laplacian noise) and calls an upward step a regression that the latest value has not undone, if it is
larger than the mean deviations around it and than a threshold, 5 % where nobody sets another
(https://asv.readthedocs.io/en/stable/dev.html, asv/step_detect.py, asv/plugins/regressions.py). Pieces shorter than two
values count only if the level is not back to where it was.

Two things are otherwise here, both in its favour: each fit is the exact one (asv approximates it, to be faster), and γ
is looked for on a grid. Weights are equal: in these series all nights are measured alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from orchestrator.measure.steps import distances

THRESHOLD = 0.05
MIN_SIZE = 2
_GRID = 0.35
"""Neighbouring γ differ by this factor's logarithm."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Values from `first` to before `end`: their median, and their mean distance from it."""

    first: int
    end: int
    value: float
    error: float


class Potts:
    """The fits of a series and of each of its beginnings, for a grid of penalties."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = list(values)
        table = distances(values)
        count = len(values)
        self._cost = np.full((count, count + 1), np.inf)
        for first, row in enumerate(table):
            self._cost[first, first + 1 :] = row
        self._from: dict[int, list[int]] = {}

    def cost(self, first: int, end: int) -> float:
        """The sum of distances from the median."""
        return float(self._cost[first, end])

    def cuts(self, exponent: int, end: int) -> tuple[int, ...]:
        """Where the first `end` values are cut under γ = exp(exponent · grid)."""
        if exponent not in self._from:
            self._from[exponent] = self._best(math.exp(exponent * _GRID))
        found = []
        while end > 0:
            end = self._from[exponent][end]
            found.append(end)
        return tuple(reversed(found))[1:]

    def _best(self, penalty: float) -> list[int]:
        """Bellman's recursion: for each end the best beginning of its last piece."""
        count = len(self.values)
        total = np.full(count + 1, np.inf)
        total[0] = -penalty
        back = [0] * (count + 1)
        for end in range(1, count + 1):
            sums = total[:end] + penalty + self._cost[:end, end]
            back[end] = int(sums.argmin())
            total[end] = sums[back[end]]
        return back

    def pieces(self, end: int) -> list[Piece]:
        """The pieces of the first `end` values (at least one), under the best γ."""
        whole = self.cost(0, end) or 1.0
        low, high = (math.log(x) / _GRID for x in (0.1 * whole / end, whole))
        told = {self.cuts(exponent, end) for exponent in range(math.floor(low), math.ceil(high) + 1)}
        chosen = min(told, key=lambda cuts: (self._criterion(cuts, end), len(cuts)))
        return [self._piece(a, b) for a, b in pairwise([0, *chosen, end])]

    def _piece(self, first: int, end: int) -> Piece:
        return Piece(first, end, _median(self.values[first:end]), self.cost(first, end) / (end - first))

    def _criterion(self, cuts: tuple[int, ...], end: int) -> float:
        edges = [0, *cuts, end]
        levels = [_median(self.values[a:b]) for a, b in pairwise(edges)]
        apart = [v - level for (a, b), level in zip(pairwise(edges), levels, strict=True) for v in self.values[a:b]]
        if len(levels) > 2:
            floor = 0.1 * min(abs(a - b) for a, b in pairwise(levels))
        else:
            floor = 0.001 * min(abs(level) for level in levels)
        rho = _correlation(apart)
        total = abs(apart[0]) + math.fsum(abs(now - rho * last) for last, now in pairwise(apart))
        return 4 * math.log(end) / end * len(levels) + math.log(max(1e-300, floor) + total)


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _correlation(apart: Sequence[float]) -> float:
    ratios = sorted((now / last, abs(last)) for last, now in pairwise(apart) if last != 0.0)
    half, passed = math.fsum(weight for _, weight in ratios) / 2, 0.0
    for ratio, weight in ratios:
        passed += weight
        if passed >= half:
            return min(max(ratio, -1.0), 1.0)
    return 0.0


def regressions(pieces: Sequence[Piece], threshold: float = THRESHOLD) -> list[int]:
    """The first values of pieces that are regressions, in their order: from the latest value back, each step up that is
    larger than what is asked of it. A short piece is forgotten where the level before it was as after it."""
    found: list[int] = []
    best, best_error = pieces[-1].value, pieces[-1].error
    short: tuple[float, float] | None = None
    after: int = pieces[-1].first
    for piece in reversed(pieces):
        least = max(piece.error, best_error, threshold * piece.value)
        if best > piece.value + least:
            if piece.end - piece.first < MIN_SIZE:
                short = (best, best_error)
            found.append(after)
            best, best_error = piece.value, piece.error
        elif short is not None:
            if short[0] <= piece.value + least:
                found.pop()
                best, best_error = short
            short = None
        after = piece.first
    return found[::-1]
