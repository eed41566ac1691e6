"""Pure: when something ends, as people say it: `90m`, `2h`, `3d`, `14:00`, `2026-04-12`, `2026-04-12T14:00`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from orchestrator.errors import Problem, UsageError

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
MAX_DAYS = 3660


def moment_of(text: str, now: datetime, option: str) -> datetime:
    """The moment that `text` means at `now`; a time of day is its next one, on `now`'s clock.

    Raises UsageError for what is none, or has passed.
    """
    problem = Problem(option, f"{text!r} is no time to come", "say 90m, 2h, 3d, 14:00 or 2026-04-12T14:00")
    try:
        moment = _spoken(text.strip(), now)
    except (ValueError, OverflowError):
        raise UsageError(problem) from None
    if moment is None or not now < moment <= now + timedelta(days=MAX_DAYS):
        raise UsageError(problem)
    return moment


def _spoken(text: str, now: datetime) -> datetime | None:
    if found := re.fullmatch(r"([0-9]{1,6})([mhd])", text):
        return now + timedelta(**{_UNITS[found[2]]: int(found[1])})
    if found := re.fullmatch(r"([0-9]{1,2}):([0-9]{2})", text):
        today = now.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
        return today if today > now else today + timedelta(days=1)
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2})?", text):
        return None
    return datetime.fromisoformat(text).replace(tzinfo=now.tzinfo)
