"""Pure: what rounds say. Figure and interval of a case, ratio of two, ranks, verdict.

The unit is the round, one process. Iterations inside one process are correlated, so they are never pooled: a thousand
iterations of one process say nothing about the next process. Every interval here is of `orchestrator.measure.interval`,
95 %, two-sided, over the logarithms of the rounds' p50s (or of their ratios), and needs three rounds. Latencies are
skewed to the right and compared by ratio, which is what the logarithm makes of them. Intervals are not corrected for
the number of rows. Where a run chose its number of rounds by what it saw, `first` is how many decided it (Stein's
stages); None where the number was fixed (Student's t).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.measure.interval import CONFIDENCE, MIN_ROUNDS, Interval, difference, interval

__all__ = ["CONFIDENCE", "MIN_ROUNDS"]

FLOOR_S = 50e-6
"""Below this the loop of perf_test and the phone's clock are a good part of what is measured."""

_SAME = 1e-9
"""Two logarithms nearer than this are equal: it is the noise of the arithmetic, not of a phone."""

Rounds = Mapping[int, float]
"""The p50 of each valid round in seconds, by the round's number; every one above 0 and finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFigure:
    """A case on a phone: median of its rounds' p50s, with the interval of their geometric mean; all in seconds.

    `low_s` and `high_s` are None below `MIN_ROUNDS`.
    """

    p50_s: float
    low_s: float | None
    high_s: float | None
    n: int

    @property
    def half_width_s(self) -> float | None:
        """What stands after ±: the larger distance from the figure to an end of its interval, never the smaller."""
        if self.low_s is None or self.high_s is None:
            return None
        return max(self.high_s - self.p50_s, self.p50_s - self.low_s, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How many times as fast one case is as another (2.0: half the latency); no unit.

    `paired` by round with `n` common rounds; else the two cases' own rounds were compared, of which the one with fewer
    has `n`. `low` and `high` are None where one of them has fewer than `MIN_ROUNDS`. `resolves` is the half-width of
    the interval as a fraction: of true differences as large as this, half would have come out as a tie.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    paired: bool = True
    resolves: float | None = None

    @property
    def half_width(self) -> float | None:
        """What stands after ±: the larger distance from the ratio to an end of its interval."""
        if self.low is None or self.high is None:
            return None
        return max(self.high - self.value, self.value - self.low)

    @property
    def surely_faster(self) -> bool:
        """Whether the whole interval lies above 1."""
        return self.low is not None and math.log(self.low) > _SAME

    @property
    def surely_slower(self) -> bool:
        """Whether the whole interval lies below 1."""
        return self.high is not None and math.log(self.high) < -_SAME


@dataclass(frozen=True, slots=True)
class Rank:
    """A place in the order; `shared` when another row has the same."""

    place: int
    shared: bool


class Sureness(StrEnum):
    """The verdict word of a phone."""

    SURE = "sure"
    TIE = "tie"
    NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How sure the best row is. `ties` counts the other rows that share its rank; `reason` says why not sure."""

    sureness: Sureness
    ties: int = 0
    reason: str = ""


def _exp(value: float) -> float:
    """`exp` that stays a finite number above 0, whatever figures a phone sends."""
    return math.exp(min(max(value, -700.0), 700.0))


def case_figure(p50s_s: Sequence[float], *, first: int | None = None) -> CaseFigure:
    """The figure of a case from its rounds' p50s in seconds, in the order of the rounds: at least one, each above 0.

    The interval is `exp` of that on their logarithms: it covers the geometric mean of the p50 over processes, which is
    its median where the logarithms are symmetric.
    """
    p50_s = statistics.median(p50s_s)
    if len(p50s_s) < MIN_ROUNDS:
        return CaseFigure(p50_s=p50_s, low_s=None, high_s=None, n=len(p50s_s))
    found = interval([math.log(value) for value in p50s_s], first=first)
    return CaseFigure(p50_s=p50_s, low_s=_exp(found.low), high_s=_exp(found.high), n=len(p50s_s))


def speed_ratio(base: Rounds, row: Rounds, *, first: int | None = None) -> Ratio | None:
    """How many times as fast `row` is as `base`, over the rounds that both have; None where nothing can be compared.

    Pairing by round takes out what both met together: the phone's temperature, its clocks, the hour. Where fewer than
    `MIN_ROUNDS` are common but each has as many of its own, all of these are compared, unpaired: the interval is then
    wider, but what failed in different rounds does not make two cases equal.
    """
    common = sorted(base.keys() & row.keys())
    logs = [math.log(base[number]) - math.log(row[number]) for number in common]
    if len(logs) >= MIN_ROUNDS:
        return ratio_of(interval(logs, first=first))
    if min(len(base), len(row)) >= MIN_ROUNDS:
        own = [[math.log(rounds[number]) for number in sorted(rounds)] for rounds in (base, row)]
        return ratio_of(difference(*own, first=first), paired=False)
    if not logs:
        return None
    return Ratio(value=_exp(math.fsum(logs) / len(logs)), low=None, high=None, n=len(logs))


def ratio_of(found: Interval, *, paired: bool = True) -> Ratio:
    """The ratio whose logarithm has this interval."""
    return Ratio(
        value=_exp(found.centre),
        low=_exp(found.low),
        high=_exp(found.high),
        n=found.n,
        paired=paired,
        resolves=math.expm1(min(found.half, 700.0)),
    )


def is_surely_slower(row: Rounds, than: Rounds, *, first: int | None = None) -> bool:
    """Whether the interval of their ratio says that `row` is slower; never with too few rounds."""
    ratio = speed_ratio(than, row, first=first)
    return ratio is not None and ratio.surely_slower


def ranks(rows: Sequence[Rounds], *, first: int | None = None) -> list[Rank]:
    """Ranks of rows that are sorted by p50, best first, each with at least `MIN_ROUNDS` rounds.

    A row shares the rank of the best row above it from which its ratio interval does not separate it. Only the first
    row of a rank is asked, so a chain of near neighbours never lifts a row to the rank of one that surely beats it. A
    noisy row can therefore stand below a rank that it does not have: it cannot be told from a better one.
    """
    leaders: list[int] = []
    leader_of: list[int] = []
    for index, row in enumerate(rows):
        leader = next((at for at in leaders if not is_surely_slower(row, rows[at], first=first)), index)
        if leader == index:
            leaders.append(index)
        leader_of.append(leader)
    return [Rank(leader + 1, leader_of.count(leader) > 1) for leader in leader_of]


def row_resolves(row: Rounds, others: Sequence[Rounds], *, first: int | None = None) -> float | None:
    """The smallest difference from `others` that this row's figure could have told, as a fraction: the median of
    `Ratio.resolves`. None where none has an interval.

    With the baseline as the one other it is that of "vs default"."""
    found = [ratio.resolves for other in others if (ratio := speed_ratio(other, row, first=first)) is not None]
    widths = [width for width in found if width is not None]
    return statistics.median(widths) if widths else None


def resolvable_difference(rows: Sequence[Rounds], *, first: int | None = None) -> float | None:
    """The smallest difference that this phone could tell in this run, as a fraction (0.016 is 1.6 %).

    It is the median, over all pairs of rows, of the half-width of their log-ratio's interval: a difference below it
    would have come out as a tie for half of the pairs. None without a pair that has an interval.
    """
    widths = []
    for index, row in enumerate(rows):
        for other in rows[index + 1 :]:
            ratio = speed_ratio(row, other, first=first)
            if ratio is not None and ratio.resolves is not None:
                widths.append(ratio.resolves)
    return statistics.median(widths) if widths else None


def false_difference(twin: Rounds, other: Rounds) -> float | None:
    """By how much two runs of the same thing (an A/A pair) differed, as a fraction ≥ 0; None below `MIN_ROUNDS`
    common rounds."""
    ratio = speed_ratio(twin, other)
    if ratio is None or ratio.low is None or not ratio.paired:
        return None
    return math.expm1(abs(math.log(ratio.value)))


def verdict(places: Sequence[Rank], base: int | None, *, reason: str = "") -> Verdict:
    """What may be said of the best of the ranked rows.

    `places` as `ranks` gives them; `base` is the index of the baseline among them, None when it has no rank. `reason`
    is what to say when nothing is ranked.
    """
    if not places:
        return Verdict(sureness=Sureness.NO_ANSWER, reason=reason or "nothing was measured")
    if len(places) == 1:
        return Verdict(sureness=Sureness.NO_ANSWER, reason=reason or "one setting measured, nothing to compare it with")
    ties = sum(1 for rank in places if rank.place == 1) - 1
    if base is None:
        word = Sureness.TIE if ties else Sureness.SURE
        return Verdict(sureness=word, ties=ties, reason="no clear winner" if ties else "")
    if ties and places[base].place == 1:
        return Verdict(sureness=Sureness.TIE, ties=ties, reason="no clear winner")
    return Verdict(sureness=Sureness.SURE, ties=ties)
