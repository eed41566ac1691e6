"""Pure: what a battery's readings over time say a person should do: nothing, or replace it before it swells.

Phones in a lab hang on power for years, full and warm: their batteries swell. A hub that is too weak lets them fall.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from android_runner.facts import Vitals
from android_runner.host.usb_path import hub_above, hub_words, path_of

WORN = 0.80
"""A battery with less of its capacity is at its end: what makers promise to stay above for their warranty's time."""
FULL_LEVEL = 95
FULL_FOR = timedelta(days=7)
FALL_LEVEL = 3
"""Points that a level must fall by before it is called falling: one is noise, two a cable that was out."""
FALL_S = 600.0
SLOPE_OVER = timedelta(days=60)
"""A slope from less time is noise: capacity is known to a few per cent."""
AHEAD = timedelta(days=180)
"""How far ahead the end of a battery is worth a word."""
_SOUND = (None, "", "Good", "Unknown")
_FEW = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BatteryReading:
    """A battery at one moment. `place` is where the phone hung (`usb:1-1.3`). `full_uah` is what it holds when full,
    `design_uah` what it held when new, in µAh; None where the phone does not tell."""

    at: datetime
    place: str = ""
    level: int | None = None
    status: str | None = None
    health: str | None = None
    battery_c: float | None = None
    full_uah: int | None = None
    design_uah: int | None = None
    cycles: int | None = None


def reading_of(vitals: Vitals, at: datetime, place: str) -> BatteryReading:
    """What vitals say of the battery."""
    return BatteryReading(
        at=at,
        place=place,
        level=vitals.battery_level,
        status=vitals.battery_status,
        health=vitals.battery_health,
        battery_c=vitals.battery_c,
        full_uah=vitals.battery_full_uah,
        design_uah=vitals.battery_design_uah,
        cycles=vitals.battery_cycles,
    )


def battery_care(readings: Sequence[BatteryReading]) -> list[str]:
    """What a person should do about a battery by its readings, oldest first; the most urgent first, nothing if well."""
    if not readings:
        return []
    return [words for words in (_health(readings[-1]), _wear(readings), _full(readings)) if words]


def falling(first_level: int | None, last_level: int | None, took_s: float, place: str) -> str:
    """What to say of a battery that emptied while the phone was plugged in; empty where it did not."""
    if first_level is None or last_level is None or took_s < FALL_S or first_level - last_level < FALL_LEVEL:
        return ""
    hub = hub_above(path_of(place))
    if not hub:
        return ""
    return (
        f"battery fell from {first_level} to {last_level} % in {took_s / 60:.0f} min while plugged in: "
        f"{hub_words(hub)} gives it too little power (a hub with its own supply, fewer phones on it, or another cable)"
    )


def _health(last: BatteryReading) -> str:
    if last.health in _SOUND:
        return ""
    return f"battery health {last.health}: take it off power and look at it; a swollen or failing one is replaced"


def capacity(readings: Sequence[BatteryReading]) -> tuple[float, bool] | None:
    """The share of its first capacity that a battery still holds, by the median of the last few readings; whether that
    is of its design (else of what it held when it was first seen, at least `SLOPE_OVER` ago). None: not known."""
    known = [one for one in readings if one.full_uah]
    if not known:
        return None
    now = statistics.median(one.full_uah or 0 for one in known[-_FEW:])
    if design := known[-1].design_uah:
        return now / design, True
    if known[-1].at - known[0].at < SLOPE_OVER:
        return None
    return now / statistics.median(one.full_uah or 0 for one in known[:_FEW]), False


def _wear(readings: Sequence[BatteryReading]) -> str:
    found = capacity(readings)
    if found is None:
        return ""
    share, of_design = found
    held = f"battery holds {share * 100:.0f} % of {'its design' if of_design else 'what it did when it was first seen'}"
    if share < WORN:
        return f"{held}: replace it before it swells"
    a_day = _slope(readings)
    if a_day >= 0:
        return ""
    left = timedelta(days=(share - WORN) / -a_day)
    if left > AHEAD:
        return ""
    months = max(1, round(left.days / 30))
    lost = -a_day * 30 * 100
    return f"{held} and loses {lost:.1f} points a month: replace it in about {months} month{'s' * (months > 1)}"


def _slope(readings: Sequence[BatteryReading]) -> float:
    """Change of capacity a day, as a share of the first; 0.0 where the time is too short to tell. Theil and Sen's."""
    known = [one for one in readings if one.full_uah]
    if len(known) < 2 * _FEW or known[-1].at - known[0].at < SLOPE_OVER:
        return 0.0
    step = max(1, len(known) // 100)
    points = [((one.at - known[0].at) / timedelta(days=1), one.full_uah or 0) for one in known[::step]]
    first = points[0][1]
    slopes = [(b - a) / (y - x) for at, (x, a) in enumerate(points) for y, b in points[at + 1 :] if y - x >= 1.0]
    return statistics.median(slopes) / first if slopes else 0.0


def _full(readings: Sequence[BatteryReading]) -> str:
    last = readings[-1]
    since = last.at
    for one in reversed(readings):
        if one.level is None or one.level < FULL_LEVEL:
            break
        since = one.at
    stood = last.at - since
    if stood < FULL_FOR:
        return ""
    return (
        f"battery at {FULL_LEVEL} % or more for {stood.days} days: full and warm ones swell; limit its charge "
        "(battery protection in its settings, or a hub that switches its port)"
    )
