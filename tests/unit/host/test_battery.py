"""What a battery asks of a person: nothing while it is well, to be replaced before it swells."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from android_runner.battery import BatteryReading, battery_care, capacity, falling, reading_of
from android_runner.vitals_text import parse_vitals

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def history(
    days: int,
    first_uah: int | None,
    last_uah: int | None,
    *,
    design: int | None = None,
    level: int = 70,
    every: int = 5,
) -> list[BatteryReading]:
    """Readings over some days with a capacity that changes evenly."""
    readings = []
    for day in range(0, days + 1, every):
        share = day / days if days else 1.0
        full = None if first_uah is None or last_uah is None else round(first_uah + (last_uah - first_uah) * share)
        at = NOW - timedelta(days=days - day)
        readings.append(
            BatteryReading(at=at, level=level, status="Charging", health="Good", full_uah=full, design_uah=design)
        )
    return readings


SOUND = history(200, 4_400_000, 4_390_000, design=4_500_000)


@pytest.mark.parametrize(
    "readings",
    [
        [],
        SOUND,
        history(200, None, None),
        history(10, 4_400_000, 3_000_000),
        history(200, 4_500_000, 4_200_000),
        history(200, 4_500_000, 4_700_000, design=5_800_000),
    ],
)
def test_nothing_is_asked_where_nothing_is_known_or_all_is_well(readings: Sequence[BatteryReading]) -> None:
    assert battery_care(readings) == []


@pytest.mark.parametrize("health", ["Overheat", "Dead", "Over voltage", "Unspecified failure", "Cold"])
def test_what_the_phone_itself_says_comes_first(health: str) -> None:
    last = BatteryReading(at=NOW + timedelta(days=1), level=60, health=health, full_uah=3_000_000, design_uah=4_500_000)
    first, *rest = battery_care([*SOUND, last])
    assert first.startswith(f"battery health {health}")
    assert rest == []  # one low reading of five is no wear


def test_a_worn_battery_is_replaced_before_it_swells() -> None:
    assert battery_care(history(0, 3_500_000, 3_500_000, design=4_500_000)) == [
        "battery holds 78 % of its design: replace it before it swells"
    ]
    (words,) = battery_care(history(300, 4_500_000, 3_300_000))
    assert words.startswith("battery holds 7")
    assert "when it was first seen: replace it" in words


def test_a_battery_that_wears_fast_is_told_when() -> None:
    (words,) = battery_care(history(120, 4_500_000, 3_900_000, design=4_500_000))
    assert words.startswith("battery holds 8")
    assert "loses 3.3 points a month: replace it in about 2 months" in words


def test_a_battery_that_stands_full_swells() -> None:
    (words,) = battery_care(history(9, None, None, level=100, every=1))
    assert words.startswith("battery at 95 % or more for 9 days")
    emptied = [*history(9, None, None, level=100, every=1)]
    emptied[5] = BatteryReading(at=emptied[5].at, level=40)
    assert battery_care(emptied) == []


def test_capacity_is_of_the_design_or_of_what_it_was() -> None:
    assert capacity(history(0, 4_000_000, 4_000_000, design=5_000_000)) == (0.8, True)
    assert capacity(history(0, 4_000_000, 4_000_000)) is None
    found = capacity(history(300, 4_000_000, 3_600_000))
    assert found is not None
    assert found[0] == pytest.approx(0.9, abs=0.02)
    assert found[1] is False


@pytest.mark.parametrize(
    ("first", "last", "took_s", "place", "words"),
    [
        (78, 71, 2400.0, "usb:1-1.3", "from 78 to 71 % in 40 min while plugged in: hub 1-1 gives"),
        (78, 71, 2400.0, "usb:1-3", "the computer's bus 1 gives"),
        (78, 76, 2400.0, "usb:1-1.3", ""),
        (78, 71, 60.0, "usb:1-1.3", ""),
        (71, 78, 2400.0, "usb:1-1.3", ""),
        (78, 71, 2400.0, "tcp", ""),
        (None, 71, 2400.0, "usb:1-1.3", ""),
        (78, None, 2400.0, "usb:1-1.3", ""),
    ],
)
def test_a_battery_that_falls_while_plugged_names_its_hub(
    first: int | None, last: int | None, took_s: float, place: str, words: str
) -> None:
    said = falling(first, last, took_s, place)
    assert words in said
    assert bool(said) is bool(words)


DUMPSYS = "dumpsys-battery:  level: {level}\ndumpsys-battery:  Charge counter: {counter}\ndumpsys-battery:  health: 2\n"
FILES = "/sys/class/power_supply/battery/{}:{}\n"


@pytest.mark.parametrize(
    ("text", "full", "design", "cycles"),
    [
        (DUMPSYS.format(level=80, counter=3_520_000), 4_400_000, None, None),
        (DUMPSYS.format(level=20, counter=880_000), None, None, None),
        (DUMPSYS.format(level=80, counter=3_520), None, None, None),
        (DUMPSYS.format(level=80, counter=-1), None, None, None),
        (FILES.format("charge_full", 4_100_000) + DUMPSYS.format(level=80, counter=3_520_000), 4_100_000, None, None),
        (FILES.format("charge_full_design", 4_500_000) + FILES.format("cycle_count", 312), None, 4_500_000, 312),
        (FILES.format("charge_full", "\x1b[2J") + FILES.format("cycle_count", "many"), None, None, None),
    ],
)
def test_capacity_from_a_phones_own_text(text: str, full: int | None, design: int | None, cycles: int | None) -> None:
    reading = reading_of(parse_vitals(text), NOW, "usb:1-1.3")
    assert (reading.full_uah, reading.design_uah, reading.cycles) == (full, design, cycles)
