"""Which night it is, also past midnight, late, and when the clocks change."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from orchestrator.nights.calendar import asked_night, latest_night, next_night, night_of

BERLIN = ZoneInfo("Europe/Berlin")
START, END = time(22, 0), time(6, 0)


def at(text: str, zone: ZoneInfo = BERLIN) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone)


@pytest.mark.parametrize(
    ("now", "night", "over"),
    [
        ("2026-04-12T21:59:59", "2026-04-11", True),
        ("2026-04-12T22:00:00", "2026-04-12", False),
        ("2026-04-13T05:59:59", "2026-04-12", False),
        ("2026-04-13T06:00:00", "2026-04-12", True),
        ("2026-04-13T15:00:00", "2026-04-12", True),
    ],
)
def test_the_last_night_that_has_begun(now: str, night: str, over: bool) -> None:
    found = latest_night(at(now), START, END, BERLIN)
    assert (found.name, found.over(at(now))) == (night, over)


def test_a_night_within_one_day() -> None:
    found = night_of(date(2026, 4, 12), time(1, 0), time(5, 30), BERLIN)
    assert found.starts_at == at("2026-04-12T01:00:00")
    assert found.ends_at == at("2026-04-12T05:30:00")
    assert latest_night(at("2026-04-12T00:59:00"), time(1, 0), time(5, 30), BERLIN).name == "2026-04-11"


def test_the_clocks_change_and_the_deadline_stays_a_time_of_day() -> None:
    spring = night_of(date(2026, 3, 28), START, END, BERLIN)
    autumn = night_of(date(2026, 10, 24), START, END, BERLIN)
    assert spring.ends_at - spring.starts_at == timedelta(hours=7)
    assert autumn.ends_at - autumn.starts_at == timedelta(hours=9)


def test_the_next_one_begins_after_now() -> None:
    assert next_night(at("2026-04-12T21:59:59"), START, END, BERLIN).name == "2026-04-12"
    assert next_night(at("2026-04-12T22:00:00"), START, END, BERLIN).name == "2026-04-13"


def test_a_night_by_day_lasts_as_long_as_one_by_the_clock() -> None:
    now = datetime(2026, 5, 5, 12, 0, tzinfo=UTC)
    found = asked_night(date(2026, 3, 28), now, START, END)
    assert (found.name, found.starts_at, found.ends_at) == ("2026-03-28", now, now + timedelta(hours=8))


def test_this_computers_own_zone_is_the_default() -> None:
    found = night_of(date(2026, 4, 12), START, END)
    assert found.starts_at.astimezone().strftime("%Y-%m-%d %H:%M") == "2026-04-12 22:00"
    assert found.starts_at.tzinfo is UTC
