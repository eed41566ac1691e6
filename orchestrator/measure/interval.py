"""Pure: 95 % intervals of a mean of logarithms, right at few rounds and right after stopping early.

The unit is the round (one process); a value is the logarithm of its p50 in seconds, or the difference of two of them.

*A fixed number of rounds*: Student's t over all of them, with n - 1 degrees of freedom.

*A number that the rounds themselves decided* (`stopping.rounds_needed`): Student's t would be wrong, as a case whose
rounds happen to agree stops early, with an interval that is too narrow. Stein's two-stage scheme (C. Stein, "A
two-sample test for a linear hypothesis whose power is independent of the variance", Annals of Mathematical Statistics
16, 1945, 243-258) keeps the coverage: the spread s0 of the first n0 rounds alone decides the number N, and s0 alone,
with n0 - 1 degrees of freedom, makes the interval: mean of all N ± t(n0 - 1) s0 / √N. For normal values the mean of the
first stage is independent of its residuals, and all later values are independent of both. Given the residuals, hence
N, the mean of all N is normal around the truth with variance σ²/N; so (mean - truth) √N / s0 has Student's t
distribution with n0 - 1 degrees of freedom exactly, whatever N came out.

*A noisy case decides twice*: where the first n0 = 6 rounds ask for more than 12, the spread of the first 12 is asked
again, and it decides: with t(11) = 2.20 in place of t(5) = 2.57 a quarter of the rounds are saved. Which of the two
decided is told by the number of rounds alone (more than 12: the second). For a case that surely needs fewer, or surely
more, the argument above holds as it stands; between the two the choice depends on the spread, and nearly nothing is
lost: the tests ask for the coverage of such cases too.

*Two cases of one run*, each stopped by itself: their interval is that of their differences by common round, with s0 of
the differences' own stage. Both numbers of rounds, so the number of common ones too, depend on residuals of the
stages only. The argument above then holds word by word for the differences: the interval stays exact, and what
both met in a round (the phone's temperature, its clocks, the hour) goes out.

*Never narrower than Student's t over all rounds*: a phone may become restless after the deciding stage, and then s0
says too little. So the wider of the two is taken. For normal values this only adds to the coverage, most where a limit
cut rounds off.

What it costs: t(5) = 2.57, or t(11) = 2.20, in place of 1.96, as if the spread were known. What it assumes: normal
values. `benchmarks/known_truth.py` measures how much of it survives heat, bursts of load, and processes that are
neither normal nor independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

CONFIDENCE = 0.95
MIN_ROUNDS = 3
"""Fewer values than this have no interval."""
FIRST_STAGE = 6
"""n0: rounds whose spread decides how many there are to be."""
SECOND_LOOK = 2
"""Where these are to be more than so many times the first stage, that many rounds decide."""


class Method(StrEnum):
    """How an interval was made; the words stand in reports."""

    STUDENT = "Student's t"
    STEIN = "Stein's stages"
    LOOKS = "Student's t, alpha spent over looks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Mean of `n` logarithms and half the width of its interval; `freedom` is that of the t distribution used."""

    centre: float
    half: float
    n: int
    freedom: float
    method: Method

    @property
    def low(self) -> float:
        """Lower end."""
        return self.centre - self.half

    @property
    def high(self) -> float:
        """Upper end."""
        return self.centre + self.half


def t_quantile(freedom: float) -> float:
    """The two-sided 95 % quantile of Student's t with `freedom` > 0 degrees of freedom."""
    from scipy.special import stdtrit  # noqa: PLC0415 - heavy, and only who asks for an interval needs it

    return float(stdtrit(freedom, 0.5 + CONFIDENCE / 2))


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean of at least one value."""
    return math.fsum(values) / len(values)


def variance(values: Sequence[float]) -> float:
    """Unbiased variance of at least two values."""
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def stage_of(rounds: int, first: int) -> int:
    """By the spread of how many rounds it was decided that there are `rounds`, of which more than `first`."""
    return first * SECOND_LOOK if rounds > first * SECOND_LOOK else first


def interval(logs: Sequence[float], *, first: int | None = None) -> Interval:
    """The 95 % interval of the mean of `logs`, which stand in the order of their rounds.

    `first`: their number was decided by the spread of the first so many, or of `SECOND_LOOK` times as many (Stein,
    unless Student's t over all is wider); None: it was fixed beforehand. With no more values than `first` both are the
    same. Raises ValueError below `MIN_ROUNDS`.
    """
    ways = [_stage(logs, None)] if first is None else [_stage(logs, first), _stage(logs, None)]
    halves = [t_quantile(freedom) * math.sqrt(spread / len(logs)) for spread, freedom, _ in ways]
    half = max(halves)
    _, freedom, method = ways[halves.index(half)]
    return Interval(centre=mean(logs), half=half, n=len(logs), freedom=freedom, method=method)


def difference(first_logs: Sequence[float], second_logs: Sequence[float], *, first: int | None = None) -> Interval:
    """Mean of `first_logs` less that of `second_logs`, unpaired, with Welch's t; `n` is the smaller number of rounds.

    For two cases without rounds in common. It holds nearly, not exactly, also where the numbers were fixed; `first` as
    in `interval`. Raises ValueError below `MIN_ROUNDS` of either.
    """
    (spread_1, freedom_1, method), (spread_2, freedom_2, other) = _stage(first_logs, first), _stage(second_logs, first)
    part_1, part_2 = spread_1 / len(first_logs), spread_2 / len(second_logs)
    both = part_1 + part_2
    parts = part_1**2 / freedom_1 + part_2**2 / freedom_2
    freedom = both**2 / parts if parts > 0 else freedom_1 + freedom_2
    return Interval(
        centre=mean(first_logs) - mean(second_logs),
        half=t_quantile(freedom) * math.sqrt(both),
        n=min(len(first_logs), len(second_logs)),
        freedom=freedom,
        method=Method.STEIN if Method.STEIN in (method, other) else Method.STUDENT,
    )


def _stage(logs: Sequence[float], first: int | None) -> tuple[float, float, Method]:
    """Variance of one value, its degrees of freedom, and from which rounds it comes."""
    n = len(logs)
    if n < MIN_ROUNDS:
        raise ValueError(f"an interval needs {MIN_ROUNDS} rounds, not {n}")
    if first is None or n <= first:
        return variance(logs), n - 1, Method.STUDENT
    stage = stage_of(n, first)
    return variance(logs[:stage]), stage - 1, Method.STEIN
