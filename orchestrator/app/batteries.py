"""What phones' batteries are like: written down as a run begins, and what they ask of a person now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from android_runner.battery import battery_care, reading_of
from android_runner.charging import Charge, hold_level
from android_runner.cooling import Cooling, cooling_c_per_s, cooling_words
from android_runner.deadline import Deadline
from android_runner.errors import RunnerError
from orchestrator.app.limiting import limits_of
from orchestrator.app.phones import Phone
from orchestrator.home import Home
from orchestrator.lab import Lab
from orchestrator.store.address import ledger_is_there
from orchestrator.store.ledger import Ledger

HOLD_S = 30.0
"""What setting one phone's switch may take."""
NEWEST_RUNS = 5
"""So many runs tell how a phone cools."""


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
    if not ledger_is_there(home.root):
        return {phone: tuple(battery_care([reading])) for phone, reading in asked.items()}
    ledger = Ledger.open(home.root)
    try:
        return {phone: tuple(battery_care([*ledger.batteries.of(phone), one])) for phone, one in asked.items()}
    finally:
        ledger.close()


def cooling_of(phones: Sequence[Phone], home: Home) -> dict[str, str]:
    """The phones that are too warm for a trial now, by identity, each in words: how long it needs, as it cooled in the
    newest runs before."""
    limits = {phone.identity: limits_of(phone.facts, {}).max_battery_c for phone in phones if phone.facts is not None}
    warm = {
        phone.identity: phone.vitals.battery_c
        for phone in phones
        if phone.vitals is not None and cooling_words(phone.vitals.battery_c, limits.get(phone.identity), None)
    }
    waits = _waits_of(warm, home) if warm else {}
    return {
        phone: cooling_words(now_c, limits[phone], cooling_c_per_s(waits.get(phone, ())))
        for phone, now_c in warm.items()
    }


def _waits_of(phones: Collection[str], home: Home) -> dict[str, list[Cooling]]:
    """When phones waited for their batteries before a trial, and what came of it."""
    found: dict[str, list[Cooling]] = {}
    if not ledger_is_there(home.root):
        return found
    ledger = Ledger.open(home.root)
    try:
        for summary in ledger.runs()[:NEWEST_RUNS]:
            last_c: dict[str, float | None] = {}
            for one in ledger.attempts(summary.run.run_id):
                from_c, to_c = last_c.get(one.phone), one.before.battery_c if one.before is not None else None
                last_c[one.phone] = one.after.battery_c if one.after is not None else None
                waited = one.gate is not None and one.gate.cause == "battery" and one.phone in phones
                if waited and one.gate is not None and from_c is not None and to_c is not None:
                    wait = Cooling(from_c=from_c, to_c=to_c, waited_s=float(one.gate.waited_s))
                    found.setdefault(one.phone, []).append(wait)
    finally:
        ledger.close()
    return found
