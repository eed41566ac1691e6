"""A plan cut down to a few series that are asked again, and to the time that is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from orchestrator.app.amounts import seconds_of
from orchestrator.app.phones import Phone
from orchestrator.app.wish import Wish
from orchestrator.errors import NoUsableDevice
from orchestrator.nights.nouns import SeriesKey
from orchestrator.plan.case import Case
from orchestrator.plan.matrix import Expansion, with_twin, without_twins

LEAST_S = 1
"""What is left of a deadline that has passed: all is skipped with its reason."""


def series_of(case: Case, phone: str) -> SeriesKey:
    """Which series a case on a phone belongs to."""
    return SeriesKey(phone=phone, model_name=case.model_name, recipe_name=case.recipe_name, row_name=case.row)


def asked_of(found: Expansion, wish: Wish, phone: str) -> Expansion:
    """What a phone is asked for out of its part of the matrix. Where series are named, these alone: what they were
    merged with or weighed against does not matter, nor what was dropped."""
    if wish.only is not None:
        named = [case for case in found.cases if series_of(case, phone) in wish.only]
        found = Expansion(tuple(replace(case, where_pays=None) for case in named), ())
    return with_twin(found) if wish.twins else without_twins(found)


def phones_asked(phones: Sequence[Phone], wish: Wish) -> list[Phone]:
    """The phones on which something is asked. Raises NoUsableDevice when none of them is there."""
    if wish.only is None:
        return list(phones)
    wanted = {key.phone for key in wish.only}
    there = [phone for phone in phones if phone.identity in wanted]
    if not there:
        raise NoUsableDevice(f"not there any more: {', '.join(sorted(wanted))}")
    return there


def seconds_left(ends_at: datetime, now: datetime) -> int:
    """Whole seconds until a deadline."""
    return max(LEAST_S, math.floor((ends_at - now).total_seconds()))


def until(wish: Wish, ends_at: datetime | None, now: datetime) -> Wish:
    """The wish with nothing handed out after `ends_at`; the plan's own deadline holds where it is earlier."""
    if ends_at is None:
        return wish
    left, own = seconds_left(ends_at, now), seconds_of(wish.plan.deadline)
    return replace(wish, plan=replace(wish.plan, deadline=f"{left if own is None else min(left, math.floor(own))}s"))
