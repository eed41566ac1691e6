"""Pure: when pairs of rounds have decided between A and B, without the looking itself making errors likelier.

A value is the logarithm of A's p50 over B's in one common round; above 0, B is faster. To be told is whether the mean
lies beyond ± δ, or within. Asking after every pair whether a 95 % interval has left ± δ errs far more often than one
time in twenty (P. Armitage, C. McPherson, B. Rowe, "Repeated significance tests on accumulating data", Journal of the
Royal Statistical Society A 132, 1969, 235-244). So the pairs are looked at only a few times, at numbers that grow
geometrically and are fixed beforehand, and the 5 % are spent over these looks (K. Lan, D. DeMets, "Discrete sequential
boundaries for clinical trials", Biometrika 70, 1983, 659-663; the intervals are the repeated confidence intervals of
C. Jennison, B. Turnbull, JRSS B 51, 1989, 305-361). Look k, at n(k) pairs, gets the share α(k) = 0.05 n(k) / Σ n, and
its interval is Student's t at that level: mean ± t(n(k) - 1, 1 - α(k)/2) s / √n(k).

*Why it holds*: each interval misses the truth with probability α(k) exactly for normal values of unknown spread, so by
Bonferroni's inequality any of them misses with at most Σ α(k) = 5 %, however the looks depend on each other. Whatever
rule stops the run by these intervals, the interval that is reported covers with at least 95 %. Later looks get more,
as the interval that is left when nothing was decided is the one that a reader needs narrow.

*What ended for another reason* (budget, deadline, a lost phone), between two looks, spends all that is left on the
pairs that there are: α(k) of the looks that were passed is gone, the sum stays 5 %. It assumes that the values had no
part in that end.

*Why not an interval for every moment* (T. Lai, "On confidence sequences", Annals of Statistics 4, 1976, 265-280;
H. Wang, A. Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance",
Sequential Analysis 43, 2024): it may be looked at always, but at the few pairs of a phone's run it is wider: what is
bought is a freedom that blocks of several rounds cannot use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.measure.interval import CONFIDENCE, MIN_ROUNDS, Interval, Method, mean, variance

ALPHA = 1.0 - CONFIDENCE
FIRST_LOOK = 6
"""Pairs before the first look: fewer leave Student's t so wide that only large differences end there."""
GROWTH = 1.5
"""Each look has so many times the pairs of the one before, rounded up to whole A B B A."""
LAST_STEP = 1.2
"""A look that lies nearer than this to the last one is left out: it would take its share and save next to nothing."""


class Finding(StrEnum):
    """What may be said of B beside A."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the pairs say. `interval` is that of the mean logarithm of A over B, at the look that counts; None with too
    few pairs. `resolved`: nothing more needs to be measured. `level`: the confidence of this interval by itself; all
    that were looked at cover together with 95 %."""

    finding: Finding
    interval: Interval | None
    resolved: bool
    level: float = CONFIDENCE


@dataclass(frozen=True, slots=True)
class Looks:
    """When pairs are looked at: `delta` is the difference that matters, as a fraction (0.02), `cap` the most pairs."""

    delta: float
    cap: int

    @property
    def at(self) -> tuple[int, ...]:
        """The numbers of pairs that are looked at, growing; the last is `cap`."""
        found: list[int] = []
        pairs = FIRST_LOOK
        while pairs * LAST_STEP <= self.cap:
            found.append(pairs)
            pairs = math.ceil(pairs * GROWTH / 2) * 2
        return (*found, self.cap)

    def stage(self, number: int) -> int:
        """How many looks lie before round `number`: a block holds rounds of one stage only."""
        return sum(look < number for look in self.at)

    def decide(self, logs: Sequence[float], *, over: bool = False) -> Decision:
        """What the logarithms of A over B say, in the order of their rounds.

        `over`: no further pair will come; what is left of the 5 % is spent on those there are.
        """
        at = self.at
        spent, last = 0.0, Decision(finding=Finding.UNDECIDED, interval=None, resolved=False)
        for look in at:
            if look > len(logs) or look < MIN_ROUNDS:
                break
            share = ALPHA * look / sum(at)
            last = self._look(logs[:look], share, final=look == self.cap)
            if last.resolved:
                return last
            spent += share if look < len(logs) else 0.0
        if over and len(logs) >= MIN_ROUNDS:
            return self._look(logs, ALPHA - spent, final=True)
        return last

    def _look(self, logs: Sequence[float], alpha: float, *, final: bool) -> Decision:
        found = interval_at(logs, alpha)
        finding = finding_of(found, self.delta)
        beyond = min(abs(found.low), abs(found.high)) > math.log1p(self.delta)
        decided = finding is Finding.SAME or (beyond and finding is not Finding.UNDECIDED)
        return Decision(finding=finding, interval=found, resolved=decided or final, level=1.0 - alpha)


def finding_of(found: Interval, delta: float) -> Finding:
    """What an interval of the mean logarithm of A over B says: within ± `delta`, else on which side of 0 it lies."""
    edge = math.log1p(delta)
    if -edge <= found.low and found.high <= edge:
        return Finding.SAME
    if found.low > 0.0:
        return Finding.FASTER
    return Finding.SLOWER if found.high < 0.0 else Finding.UNDECIDED


def interval_at(logs: Sequence[float], alpha: float) -> Interval:
    """Student's t interval of the mean of at least two values, which misses with probability `alpha`."""
    from scipy.special import stdtrit  # noqa: PLC0415 - heavy, and only who asks for an interval needs it

    quantile = float(stdtrit(len(logs) - 1, 1.0 - alpha / 2))
    half = quantile * math.sqrt(variance(logs) / len(logs))
    return Interval(centre=mean(logs), half=half, n=len(logs), freedom=len(logs) - 1, method=Method.LOOKS)


def pair_logs(a_s: Mapping[int, float], b_s: Mapping[int, float]) -> list[float]:
    """The logarithms of A's p50 over B's, in the order of the rounds that both have; p50s are in seconds, above 0."""
    return [math.log(a_s[number]) - math.log(b_s[number]) for number in sorted(a_s.keys() & b_s.keys())]
