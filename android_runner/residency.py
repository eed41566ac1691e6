"""Pure: how much of the top clock was missing between two snapshots, from counters or else from samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from android_runner.facts import Vitals

MIN_JUDGED_S = 0.3
"""`time_in_state` counts in 10 ms: over less than this it says too little, and sampled clocks are looked at."""

COUNTER_SLACK_S = 0.5
COUNTER_SLACK = 0.2
"""How far the sum of `time_in_state` may be from the time between two snapshots: more is a sensor that lies."""


def residency_loss(before: Vitals, after: Vitals, cpu_mask: int | None = None) -> float | None:
    """The share of the top clock that was missing between two snapshots, 0.0 to 1.0; None where it can't be said.

    Of the cluster with the highest mean clock, as an idle one beside it says nothing; with a mask only of clusters that
    have a core of it. None without counters, over less than `MIN_JUDGED_S`, and for counters that lie.
    """
    means = list(_mean_clocks(before, after, cpu_mask))
    if not means:
        return None
    mean_khz, top_khz = max(means)
    return min(1.0, max(0.0, 1.0 - mean_khz / top_khz))


def _mean_clocks(before: Vitals, after: Vitals, cpu_mask: int | None) -> Iterator[tuple[float, int]]:
    """(mean kHz, top kHz) of each cluster in question whose counters can be believed."""
    for policy in _policies(after.residency_s, cpu_mask):
        spent = _spent(before, after, policy)
        passed_s = sum(spent.values())
        top_khz = max(spent, default=0)
        if top_khz > 0 and passed_s >= MIN_JUDGED_S and _adds_up(passed_s, before, after):
            yield sum(khz * seconds for khz, seconds in spent.items()) / passed_s, top_khz


def _spent(before: Vitals, after: Vitals, policy: int) -> dict[int, float]:
    """Seconds at each clock between two snapshots; empty when a counter ran backwards or one snapshot has none."""
    earlier, later = dict(before.residency_s.get(policy, ())), dict(after.residency_s.get(policy, ()))
    spent = {khz: seconds - earlier.get(khz, 0.0) for khz, seconds in later.items()}
    return spent if earlier and all(seconds >= 0 for seconds in spent.values()) else {}


def _adds_up(passed_s: float, before: Vitals, after: Vitals) -> bool:
    if before.uptime_s is None or after.uptime_s is None:
        return True
    wanted_s = after.uptime_s - before.uptime_s
    return math.fabs(passed_s - wanted_s) <= COUNTER_SLACK_S + COUNTER_SLACK * wanted_s


def counters_lie(before: Vitals, after: Vitals, cpu_mask: int | None = None) -> bool:
    """Whether the counters of some cluster in question don't add up to the time between two snapshots."""
    both = set(_policies(before.residency_s, cpu_mask)) & set(after.residency_s)
    return any(not _adds_up(sum(_spent(before, after, policy).values()), before, after) for policy in both)


def _policies(known: Mapping[int, object], cpu_mask: int | None) -> list[int]:
    """The policies of the cores in a mask: a policy has its first core's number and reaches up to the next policy."""
    numbers = sorted(known)
    if cpu_mask is None:
        return numbers
    cores = [core for core in range(cpu_mask.bit_length()) if cpu_mask >> core & 1]
    return sorted({max((n for n in numbers if n <= core), default=-1) for core in cores} - {-1})


def capped(before_khz: Mapping[int, int], after_khz: Mapping[int, int], cpu_mask: int | None) -> float:
    """By what share the highest clock that the kernel allows fell, of the cluster in question with the highest."""
    both = [n for n in _policies(before_khz, cpu_mask) if n in after_khz and before_khz[n] > 0]
    fastest = max(both, key=lambda policy: before_khz[policy], default=None)
    return 0.0 if fastest is None else 1.0 - after_khz[fastest] / before_khz[fastest]


def sampled_loss(before: Vitals, after: Vitals, cpu_mask: int | None = None) -> float | None:
    """How far the highest clock right after the trial is below the highest that is allowed; None when not offered.

    With a mask of its clusters alone, where samples can be told apart by cluster or core.
    """
    now_khz = _sampled(after, cpu_mask)
    if not now_khz:
        return None
    allowed = [before.limit_khz[policy] for policy in _policies(before.limit_khz, cpu_mask)]
    highest = max([*allowed, *_sampled(before, cpu_mask)], default=0)
    return max(0.0, 1.0 - max(now_khz) / highest) if highest > 0 else None


def _sampled(vitals: Vitals, cpu_mask: int | None) -> list[int]:
    """The sampled clocks in question: one a policy where as many policies have a limit, else one a core."""
    clocks = vitals.current_freq_khz
    policies = sorted(vitals.limit_khz) if len(vitals.limit_khz) == len(clocks) else range(len(clocks))
    of_policy = dict(zip(policies, clocks, strict=True))
    return [of_policy[policy] for policy in _policies(of_policy, cpu_mask)]
