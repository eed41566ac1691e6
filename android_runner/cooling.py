"""Pure: how long a warm phone needs until a trial may begin, told from how it cooled before."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

SHORTEST_S = 10.0
"""A shorter wait says nothing: sensors tell tenths of a degree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooling:
    """A wait in which a phone's battery went from one temperature to another, in °C and seconds."""

    from_c: float
    to_c: float
    waited_s: float


def cooling_c_per_s(waits: Iterable[Cooling]) -> float | None:
    """What the phone loses in a second while nothing computes: the median of its waits. None where it never waited."""
    rates = [
        (one.from_c - one.to_c) / one.waited_s for one in waits if one.waited_s >= SHORTEST_S and one.from_c > one.to_c
    ]
    return statistics.median(rates) if rates else None


def cooling_words(now_c: float | None, limit_c: float | None, c_per_s: float | None) -> str:
    """`cooling, ~4 min` for a phone above the limit of its trials, `cooling` where its pace is not known; empty for one
    that is cool enough, or does not tell."""
    if now_c is None or limit_c is None or now_c <= limit_c:
        return ""
    if c_per_s is None:
        return "cooling"
    return f"cooling, ~{max(1, math.ceil((now_c - limit_c) / c_per_s / 60.0))} min"
