"""Series of nights with a known course, for the tests of what is said of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from itertools import cycle

from orchestrator.nights.nouns import CaseNight, Circumstances, SeriesKey

KEY = SeriesKey("phone", "net", "all", "cpu all")
FIRST = date(2026, 4, 1)
ROUNDS = (-0.001, 0.0, 0.001)
STRAY = (0.002, -0.003, 0.001, 0.0, -0.002, 0.003, -0.001, 0.004, -0.004)
"""Night-to-night noise of about 0.25 %."""


def night(at: int, level: float, *, confirms: str = "", **circumstances: object) -> CaseNight:
    """A night whose p50 is 10 ms × exp(level); NaN: no figures."""
    figures = () if math.isnan(level) else tuple(0.01 * math.exp(level + one) for one in ROUNDS)
    return CaseNight(
        key=KEY,
        run_id=f"run-{at}" + ("-again" if confirms else ""),
        night=(FIRST + timedelta(days=at)).isoformat(),
        rounds_s=figures,
        ended="" if figures else "failed: crashed",
        circumstances=Circumstances(**{"fingerprint": "os1", "binary_digest": "b1", **circumstances}),  # type: ignore[arg-type]
        confirms=confirms,
    )


def nights(levels: Iterable[float], *, first: int = 0, **circumstances: object) -> list[CaseNight]:
    """Nights at these levels, with a little noise of their own."""
    noisy = zip(levels, cycle(STRAY), strict=False)
    return [night(first + at, level + stray, **circumstances) for at, (level, stray) in enumerate(noisy)]


def again(of: CaseNight, level: float, **circumstances: object) -> CaseNight:
    """A run that asks a night again."""
    at = (date.fromisoformat(of.night) - FIRST).days
    return night(at, level, confirms=of.run_id, **circumstances)


def step(percent: float) -> float:
    """A step of so many per cent as a logarithm."""
    return math.log1p(percent / 100)


def flat(count: int) -> Sequence[float]:
    """Nights without a change."""
    return [0.0] * count
