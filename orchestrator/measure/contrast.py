"""Pure: two sides of many cases → what may be said of each: faster, slower, same, undecided, or not with these rounds.

Ratio and interval are those of logarithms (`orchestrator.measure.interval`): of the differences by common round where
both sides stand in one run, for what they met together goes out; else Welch's. A word is more than an interval:

* `same`: the case's own 95 % interval lies within ± delta. No rank test is asked, and no correction made: of cases
  that truly differ by more than delta, at most one in forty is called the same.
* `faster`, `slower`: the exact rank test is a discovery of the matrix (`orchestrator.measure.discoveries`), and the
  interval leaves 1 out.
* `insufficient data`: fewer than three rounds on a side, or too few for a discovery whatever they had been.
* `undecided`: all else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.measure.discoveries import FALSE_RATE, Told, discoveries
from orchestrator.measure.interval import MIN_ROUNDS, Interval, difference, interval
from orchestrator.measure.rank_tests import RankTest, rank_sum, signed_ranks

DELTA = 0.02
"""Closer than this is the same, unless somebody asks for another."""


class Word(StrEnum):
    """The verdict on a case."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNDECIDED = "undecided"
    INSUFFICIENT = "insufficient data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """A case's rounds on both sides: figures above 0 (seconds, bytes) by the round's number.

    `paired`: both stand in one run, and a round is the same round. `first` as in `orchestrator.measure.interval`.
    """

    base: Mapping[int, float]
    new: Mapping[int, float]
    paired: bool = False
    first: int | None = None

    @property
    def enough(self) -> bool:
        """Whether there is an interval."""
        return min(self.counts) >= MIN_ROUNDS

    @property
    def counts(self) -> tuple[int, int]:
        """Rounds of either side that count."""
        if self.paired:
            return (len(self._common), len(self._common))
        return len(self.base), len(self.new)

    @property
    def _common(self) -> list[int]:
        return sorted(self.base.keys() & self.new.keys())

    def found(self) -> tuple[Interval, RankTest] | None:
        """The interval of the logarithm of new / base, and the test; None with too few rounds."""
        if not self.enough:
            return None
        if self.paired:
            apart = [math.log(self.new[at]) - math.log(self.base[at]) for at in self._common]
            return interval(apart, first=self.first), signed_ranks(apart)
        old, new = ([math.log(side[at]) for at in sorted(side)] for side in (self.base, self.new))
        return difference(new, old, first=self.first), rank_sum(new, old)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """What is said of a case. `found` is the interval of the logarithm of new / base (above 0: NEW takes longer), and
    `test` the rank test; None with too few rounds."""

    word: Word
    found: Interval | None
    test: RankTest | None


def contrasts(sides: Sequence[Sides], *, delta: float = DELTA, rate: float = FALSE_RATE) -> list[Contrast]:
    """What may be said of each case of a matrix, in its order."""
    found = [one.found() for one in sides]
    told = iter(discoveries([one[1] for one in found if one is not None], rate))
    return [
        Contrast(word=Word.INSUFFICIENT, found=None, test=None)
        if one is None
        else Contrast(word=_word(one[0], next(told), delta), found=one[0], test=one[1])
        for one in found
    ]


def _word(found: Interval, told: Told, delta: float) -> Word:
    edge = math.log1p(delta)
    if -edge <= found.low and found.high <= edge:
        return Word.SAME
    if told is Told.OUT_OF_REACH:
        return Word.INSUFFICIENT
    if told is Told.DISCOVERY and (found.low > 0.0 or found.high < 0.0):
        return Word.SLOWER if found.centre > 0.0 else Word.FASTER
    return Word.UNDECIDED
