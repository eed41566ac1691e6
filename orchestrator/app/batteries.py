"""What phones' batteries are like: written down as a run begins, and what they ask of a person now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from android_runner.battery import battery_care, reading_of
from orchestrator.app.phones import Phone
from orchestrator.store.ledger import Ledger


def note_batteries(phones: Sequence[Phone], run_id: str, ledger: Ledger, now: datetime) -> None:
    """Write down each phone's battery as the run finds it; a phone that tells nothing of it has no reading."""
    readings = {
        phone.facts.identity: reading_of(phone.vitals, now, phone.seen.where)
        for phone in phones
        if phone.facts is not None and phone.vitals is not None and phone.vitals.battery_level is not None
    }
    if readings:
        ledger.batteries.add(run_id, readings)


def care_of(phone: Phone, ledger: Ledger, now: datetime) -> list[str]:
    """What a phone's battery asks of a person, by what was written down and what it says now."""
    if phone.facts is None or phone.vitals is None:
        return []
    known = ledger.batteries.of(phone.facts.identity)
    return battery_care([*known, reading_of(phone.vitals, now, phone.seen.where)])
