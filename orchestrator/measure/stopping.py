"""Pure: how many rounds a case is to have, decided by the spread of its first ones.

Looking at the interval after every round and stopping when it is narrow enough makes intervals that cover too seldom.
Here the first rounds decide the number once and for all (Stein 1945), those of a noisy case after a second look
(`orchestrator.measure.interval` has the argument and the interval that belongs to it).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from orchestrator.measure.interval import FIRST_STAGE, MIN_ROUNDS, SECOND_LOOK, t_quantile, variance


def rounds_needed(logs: Sequence[float], target: float, *, first: int = FIRST_STAGE, cap: int) -> int:
    """How many rounds in all a case is to have, from the logarithms of its valid rounds in the order of their numbers.

    `target` is the half-width of the 95 % interval as a fraction (0.01: ± 1 %). The least N with
    t(n - 1) s / √N ≤ log(1 + target), at least n, at most `cap`, where s is the spread of the first n values: n is
    `first`, and `SECOND_LOOK` times as many where those ask for more than that. Nothing that comes later changes the
    answer. `first` with fewer values: there is nothing to decide yet. `cap` while the second look is due. Raises
    ValueError for a target that is not above 0, or a `first` below `MIN_ROUNDS`.
    """
    if not 0.0 < target < math.inf or first < MIN_ROUNDS:
        raise ValueError(f"a target above 0 and at least {MIN_ROUNDS} first rounds are needed: {target}, {first}")
    if len(logs) < first or cap <= first:
        return min(first, cap)
    by_first, second = _needed(logs[:first], target, cap), first * SECOND_LOOK
    if by_first <= second or cap <= second:
        return by_first
    return _needed(logs[:second], target, cap) if len(logs) >= second else cap


def _needed(stage: Sequence[float], target: float, cap: int) -> int:
    reach = t_quantile(len(stage) - 1) * math.sqrt(variance(stage)) / math.log1p(target)
    return max(len(stage), cap if reach**2 >= cap else math.ceil(reach**2 - 1e-9))


def rounds_of_cases(
    rounds: Mapping[str, Mapping[int, float]],
    base: str | None,
    target: float,
    *,
    first: int = FIRST_STAGE,
    cap: int,
) -> dict[str, int]:
    """How many rounds each case of a phone is to have; `rounds` has the p50s in seconds by case and round.

    What is asked of a run is ratios to the baseline, and what all cases meet in a round (heat, mostly) is no reason
    for more rounds. So a case's spread is that of its differences to `base` by common round, and the baseline goes on
    as long as any other: a difference needs both. A case that shares too few rounds with the baseline, and every case
    where there is none, is judged by its own logarithms, as `rounds_needed` says.
    """
    needed = {}
    for case, own in rounds.items():
        if case != base:
            against = {} if base is None else rounds.get(base, {})
            common = sorted(own.keys() & against.keys())
            paired = [math.log(own[at]) - math.log(against[at]) for at in common]
            logs = paired if len(paired) >= first else [math.log(own[at]) for at in sorted(own)]
            needed[case] = rounds_needed(logs, target, first=first, cap=cap)
    if base is not None and base in rounds:
        own = rounds[base]
        alone = rounds_needed([math.log(own[at]) for at in sorted(own)], target, first=first, cap=cap)
        needed[base] = max(needed.values(), default=alone)
    return needed


def fixed_rounds(spread: float, target: float) -> int:
    """How many rounds a fixed number must be for a case of known spread (standard deviation of the logarithms).

    The least n ≥ 3 with t(n - 1) spread / √n ≤ log(1 + target): what the same precision costs without adaptation.
    """
    wanted = math.log1p(target)
    low, high = MIN_ROUNDS - 1, MIN_ROUNDS
    while _half(spread, high) > wanted:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _half(spread, middle) > wanted else (low, middle)
    return high


def _half(spread: float, n: int) -> float:
    return t_quantile(n - 1) * spread / math.sqrt(n)
