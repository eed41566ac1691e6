"""Pure: which night it is, from when until when. A night bears the local date of its start."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One night: the date of its start, its start and its deadline (UTC)."""

    day: date
    starts_at: datetime
    ends_at: datetime

    @property
    def name(self) -> str:
        """As tags and folders have it: `2026-04-12`."""
        return self.day.isoformat()

    def over(self, now: datetime) -> bool:
        """Whether its deadline has passed."""
        return now >= self.ends_at


def night_of(day: date, start: time, deadline: time, zone: tzinfo | None = None) -> Night:
    """The night that begins on a day; its deadline is the first such time of day after its start. `zone` None: this
    computer's, with its changes of the clocks."""
    last = day if deadline > start else day + timedelta(days=1)
    return Night(day=day, starts_at=_at(day, start, zone), ends_at=_at(last, deadline, zone))


def latest_night(now: datetime, start: time, deadline: time, zone: tzinfo | None = None) -> Night:
    """The last night that has begun by now, over or not."""
    today = now.astimezone(zone).date()
    night = night_of(today, start, deadline, zone)
    return night if night.starts_at <= now else night_of(today - timedelta(days=1), start, deadline, zone)


def next_night(now: datetime, start: time, deadline: time, zone: tzinfo | None = None) -> Night:
    """The first night that begins after now."""
    today = now.astimezone(zone).date()
    night = night_of(today, start, deadline, zone)
    return night if night.starts_at > now else night_of(today + timedelta(days=1), start, deadline, zone)


def asked_night(day: date, now: datetime, start: time, deadline: time) -> Night:
    """A day's night measured now, because somebody says so: it may take as long as a night by the clock takes."""
    by_the_clock = night_of(day, start, deadline, UTC)
    return Night(day=day, starts_at=now, ends_at=now + (by_the_clock.ends_at - by_the_clock.starts_at))


def _at(day: date, when: time, zone: tzinfo | None) -> datetime:
    local = datetime.combine(day, when)
    return (local.astimezone(UTC) if zone is None else local.replace(tzinfo=zone)).astimezone(UTC)
