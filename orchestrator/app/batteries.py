"""What phones' batteries are like: written down as a run begins, and what they ask of a person now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from android_runner.battery import battery_care, reading_of
from android_runner.charging import Charge, hold_level
from android_runner.deadline import Deadline
from android_runner.errors import RunnerError
from orchestrator.app.phones import Phone
from orchestrator.home import Home
from orchestrator.lab import Lab
from orchestrator.store.ledger import FILE_NAME, Ledger

HOLD_S = 30.0
"""What setting one phone's switch may take."""


def note_batteries(phones: Sequence[Phone], run_id: str, ledger: Ledger, now: datetime) -> None:
    """Write down each phone's battery as the run finds it; a phone that tells nothing of it has no reading."""
    readings = {
        phone.facts.identity: reading_of(phone.vitals, now, phone.seen.where)
        for phone in phones
        if phone.facts is not None and phone.vitals is not None and phone.vitals.battery_level is not None
    }
    if readings:
        ledger.batteries.add(run_id, readings)


def lab_limits(phones: Sequence[Phone], lab: Lab) -> dict[str, dict[str, int]]:
    """What the lab's file says of when batteries are too low, by phone."""
    said = {one.facts.identity: lab.battery_of(one.facts.identity).limits() for one in phones if one.facts is not None}
    return {phone: limits for phone, limits in said.items() if limits}


def keep_levels(phones: Sequence[Phone], lab: Lab, say: Callable[[str], object]) -> None:
    """Let phones stop charging where the lab's file says so; `say` is told of those that can't.

    They are ours by now. What can't be reached is found out, and told, when it is to measure.
    """
    wanted = [(one, level) for one in phones if one.facts and (level := lab.battery_of(one.facts.identity).keep_level)]

    def keep(phone: Phone, level: int) -> str:
        try:
            held = hold_level(phone.source(), level, deadline=Deadline.after(HOLD_S))
        except RunnerError:
            return ""
        return "" if held.charge is Charge.HELD else f"{phone.label}: {held.words(level)}"

    if wanted:
        with ThreadPoolExecutor(max_workers=8) as pool:
            for words in filter(None, pool.map(lambda pair: keep(*pair), wanted)):
                say(words)


def cares_of(phones: Sequence[Phone], home: Home, now: datetime) -> dict[str, tuple[str, ...]]:
    """What phones' batteries ask of a person, by identity: by what was written down and what they say now."""
    asked = {
        one.facts.identity: reading_of(one.vitals, now, one.seen.where) for one in phones if one.facts and one.vitals
    }
    if not (home.root / FILE_NAME).exists():
        return {phone: tuple(battery_care([reading])) for phone, reading in asked.items()}
    ledger = Ledger.open(home.root)
    try:
        return {phone: tuple(battery_care([*ledger.batteries.of(phone), one])) for phone, one in asked.items()}
    finally:
        ledger.close()
