"""Pure: exact rank tests of rounds. They ask only which of two rounds was longer, so that no outlier makes a discovery.

*Two runs*: F. Wilcoxon's rank sum ("Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945, 80-83),
the test of H. B. Mann and D. R. Whitney. *Pairs of one run*: his signed ranks, of the differences by round. Equal
values share the mean of their ranks, and the null distribution is that of these very ranks over all ways to deal them
out (over all signs), counted exactly: a p-value is exact with ties too, where the tables, and scipy's `exact`, are
not. Beyond `EXACT_ROUNDS` the normal approximation with its correction for ties takes over, which is then right to
the third digit.

p is two-sided: the share of all ways that lie at least as far from the mean as what was seen. So few rounds have a
least p-value that they can give at all, and whoever asks many questions must know it
(`orchestrator.measure.discoveries`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXACT_ROUNDS = 40
"""Up to so many rounds of each side every way is counted."""


@dataclass(frozen=True, slots=True)
class RankTest:
    """`p`, two-sided; `least` is the p-value that as many rounds give when all of them agree."""

    p: float
    least: float


def rank_sum(first: Sequence[float], second: Sequence[float]) -> RankTest:
    """Whether two sides' rounds, each at least one, come from the same distribution."""
    ranks = _doubled_ranks([*first, *second])
    n, seen = len(first), sum(ranks[: len(first)])
    if max(n, len(second)) > EXACT_ROUNDS:
        return RankTest(_normal_sum(ranks, n, seen), least_sum(n, len(second)))
    return RankTest(_tail(_sums_of(tuple(sorted(ranks)), n), seen), least_sum(n, len(second)))


def signed_ranks(differences: Sequence[float]) -> RankTest:
    """Whether differences by round lie around nothing; those that are nothing tell nothing, and are left out."""
    told = [value for value in differences if value != 0.0]
    if not told:
        return RankTest(1.0, least_signed(len(differences)))
    ranks = _doubled_ranks([abs(value) for value in told])
    seen = sum(rank for rank, value in zip(ranks, told, strict=True) if value > 0)
    if len(told) > EXACT_ROUNDS:
        spread = math.sqrt(sum(rank**2 for rank in ranks)) / 2
        return RankTest(_two_sided(seen - sum(ranks) / 2, spread), least_signed(len(differences)))
    return RankTest(_tail(_signed_sums(tuple(sorted(ranks))), seen), least_signed(len(differences)))


def least_sum(n_first: int, n_second: int) -> float:
    """The least p-value of `rank_sum`: every round of one side before every one of the other, either way round."""
    return min(1.0, 2 / math.comb(n_first + n_second, n_first))


def least_signed(n: int) -> float:
    """The least p-value of `signed_ranks`: every difference of one sign."""
    return min(1.0, 2.0 ** (1 - n))


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value, whole also where equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for place in order[at:end]:
            ranks[place] = at + 1 + end  # twice the mean of at + 1 … end
        at = end
    return ranks


@lru_cache(maxsize=256)  # without ties the same for all cases of as many rounds
def _sums_of(ranks: tuple[int, ...], n: int) -> NDArray[np.float64]:
    """In how many ways `n` of the ranks have each sum."""
    import numpy as np  # noqa: PLC0415 - heavy, and only who compares needs it

    ways = np.zeros((n + 1, sum(ranks) + 1))
    ways[0, 0] = 1.0
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    counted: NDArray[np.float64] = ways[n]
    return counted


@lru_cache(maxsize=256)
def _signed_sums(ranks: tuple[int, ...]) -> NDArray[np.float64]:
    """In how many ways of giving signs the positive ranks have each sum."""
    import numpy as np  # noqa: PLC0415 - as above

    ways = np.zeros(sum(ranks) + 1)
    ways[0] = 1.0
    for rank in ranks:
        ways[rank:] += ways[:-rank].copy()
    return ways


def _tail(ways: NDArray[np.float64], seen: int) -> float:
    """The share of all ways at least as far from their mean as `seen`."""
    import numpy as np  # noqa: PLC0415 - as above

    sums = np.arange(len(ways), dtype=np.float64)
    total = float(ways.sum())
    mean = float(sums @ ways) / total
    return min(1.0, float(ways[np.abs(sums - mean) >= abs(seen - mean) - 1e-9 * len(ways)].sum()) / total)


def _normal_sum(ranks: Sequence[int], n: int, seen: int) -> float:
    whole = len(ranks)
    mean = sum(ranks) / whole
    variance = math.fsum((rank - mean) ** 2 for rank in ranks) / whole * n * (whole - n) / (whole - 1)
    return _two_sided(seen - n * mean, math.sqrt(variance))


def _two_sided(distance: float, spread: float) -> float:
    """Normal, with the correction for continuity: sums of doubled ranks are two apart."""
    if spread == 0.0:
        return 1.0
    return math.erfc(max(0.0, abs(distance) - 1.0) / spread / math.sqrt(2))
