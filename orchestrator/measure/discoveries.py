"""Pure: many questions at once. Which differences of a matrix are discoveries, and which could never have been one.

*False discoveries*: of 300 cases that are all the same, 15 differ at p ≤ 0.05. Y. Benjamini and Y. Hochberg
("Controlling the false discovery rate", Journal of the Royal Statistical Society B 57, 1995, 289-300): with m
p-values in order, all up to the largest k with p(k) ≤ k q / m are discoveries, and on average at most a share q of
them is false. It holds for independent questions, and where they depend on each other positively, as cases of one
phone do (Benjamini and Yekutieli, Annals of Statistics 29, 2001, 1165-1188).

*Insufficient data*: few rounds can't give a small p-value whatever they are. A case is out of reach when it would not
have been a discovery even had all its rounds agreed, everything else being as it was. Cases whose least p-value is
above q can be no discovery in any matrix; they are left out of m, as no outcome has a say in that (R. E. Tarone,
Biometrics 46, 1990, 515-522; P. B. Gilbert, Applied Statistics 54, 2005, 143-158).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import StrEnum

from orchestrator.measure.rank_tests import RankTest, least_signed, least_sum

FALSE_RATE = 0.05
"""q: of what is called faster or slower, so much may be false."""
MOST_ROUNDS = 1000


class Told(StrEnum):
    """What a matrix says of one of its questions."""

    DISCOVERY = "discovery"
    NOTHING = "nothing"
    OUT_OF_REACH = "out of reach"


def discoveries(tests: Sequence[RankTest], rate: float = FALSE_RATE) -> list[Told]:
    """What may be said of each of the questions of one matrix."""
    asked = sorted(test.p for test in tests if test.least <= rate)
    steps = [at * rate / len(asked) for at in range(1, len(asked) + 1)]
    below = [bisect_right(asked, step) for step in steps]
    cut = max((step for at, step in enumerate(steps) if below[at] > at), default=0.0)
    one_more = [step for at, step in enumerate(steps) if below[at] >= at]
    return [_told(test, cut, one_more, rate) for test in tests]


def _told(test: RankTest, cut: float, one_more: Sequence[float], rate: float) -> Told:
    """`cut` is the largest p-value of a discovery; `one_more` are the steps at which one discovery more would do."""
    if test.least > rate:
        return Told.OUT_OF_REACH
    if test.p <= cut:
        return Told.DISCOVERY
    # at a step that its own p-value lies below it is counted among the others already, and they were too few
    return Told.NOTHING if any(test.least <= step < test.p for step in one_more) else Told.OUT_OF_REACH


def rounds_to_tell(cases: int, *, paired: bool = False, rate: float = FALSE_RATE) -> int:
    """How many rounds (of each of two runs; common ones where `paired`) make a discovery of the only one of `cases`
    cases that differs, when all its rounds agree."""
    needed = rate / max(cases, 1)
    return next(n for n in range(1, MOST_ROUNDS) if (least_signed(n) if paired else least_sum(n, n)) <= needed)
