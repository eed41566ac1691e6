"""The lab's phones as they are known: the ledger's registry, with the labels of the lab's file over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from android_runner.host.usb_path import place_words
from orchestrator.home import Home
from orchestrator.plan.select import Candidate
from orchestrator.store.address import ledger_is_there
from orchestrator.store.lab_file import read_lab
from orchestrator.store.ledger import Ledger
from orchestrator.store.registered import RegisteredPhone, Sighting

if TYPE_CHECKING:
    from orchestrator.app.phones import Phone


@dataclass(frozen=True, slots=True)
class Registry:
    """Phones by identity; one that nobody spoke of is none of them."""

    phones: Mapping[str, RegisteredPhone] = field(default_factory=dict)

    def of(self, phone: str) -> RegisteredPhone:
        """What is known of a phone."""
        return self.phones.get(phone) or RegisteredPhone(phone=phone)

    def called(self, name: str) -> RegisteredPhone | None:
        """The phone of that label or identity."""
        found = (one for one in self.phones.values() if name in (one.label, one.phone))
        return next(found, None)

    def absent(self, present: Sequence[str]) -> list[RegisteredPhone]:
        """The phones of the lab that are not among those: neither by identity nor by the serial they had."""
        here = set(present)
        return [one for one in self.phones.values() if not one.retired and not here & {one.phone, serial_of(one)}]


def serial_of(phone: RegisteredPhone) -> str:
    """The transport's serial that it was last seen by."""
    return phone.seen.serial if phone.seen is not None else phone.phone


def absent_candidate(phone: RegisteredPhone) -> Candidate:
    """A phone that is not there, as `--device` expressions see it."""
    return Candidate(serial=serial_of(phone), label=phone.name, facts=None, identity=phone.phone)


def bar_of(phone: RegisteredPhone, now: datetime) -> tuple[str, str]:
    """Why no run may use a phone now, in a word or two, and what opens it again; two empty words when one may."""
    if phone.retired is not None:
        why = f"{phone.retired.why}; " if phone.retired.why else ""
        return f"retired ({phone.retired.by})", f"{why}back again: orch devices add {phone.phone}"
    if (hold := phone.held(now)) is not None:
        why = "; ".join(part for part in (until_words(hold.until, now), hold.why) if part)
        return f"held ({hold.by})", f"{why or 'in hand'}; no more: orch devices free {phone.name}"
    if (quarantine := phone.kept_out(now)) is not None:
        until = until_words(quarantine.expires, now)
        why = "; ".join(part for part in (quarantine.reason, until) if part)
        return "quarantine", f"{why}; mended: orch devices release {phone.name}"
    return "", ""


def until_words(moment: datetime | None, now: datetime) -> str:
    """`until 14:00`, with the day where that is not today; empty for no end."""
    return "" if moment is None else f"until {moment_words(moment, now)}"


def moment_words(moment: datetime, now: datetime) -> str:
    """A moment on this host's clock: `14:00`, with the day where that is not today: `12 Apr 14:00`."""
    there, here = moment.astimezone(), now.astimezone()
    return f"{there:%H:%M}" if there.date() == here.date() else f"{there.day} {there:%b %H:%M}"


def missing_words(phone: RegisteredPhone, now: datetime) -> str:
    """A phone that is not there, in words: `D1 Galaxy S20 (hub 3.1), not seen since 02:10`."""
    model = f" {phone.seen.device_model}" if phone.seen is not None and phone.seen.device_model else ""
    where = phone.seen is not None and [place_words(phone.seen.where), phone.seen.host and f"host {phone.seen.host}"]
    place = f" ({', '.join(filter(None, where))})" if where and any(where) else ""
    since = f"not seen since {moment_words(phone.seen_at, now)}" if phone.seen_at is not None else "never seen"
    return f"{phone.name}{model}{place}, {since}"


def note_seen(phones: Sequence[Phone], ledger: Ledger) -> None:
    """Write down where the known ones of these phones were seen."""
    for phone in phones:
        if phone.facts is not None and phone.known is not None:
            sighting = Sighting(
                device_model=phone.facts.device_model,
                serial=str(phone.seen.serial),
                where=phone.seen.where,
                fingerprint=phone.facts.fingerprint,
                virtual=phone.facts.virtual,
                host=phone.server.of,
            )
            ledger.phones.saw(phone.identity, sighting)


def read_registry(home: Home) -> Registry:
    """The phones of a home. Raises UsageError for a wrong lab's file, StoreError for the ledger."""
    known: dict[str, RegisteredPhone] = {}
    if ledger_is_there(home.root):
        ledger = Ledger.open(home.root)
        try:
            known = ledger.phones.all()
        finally:
            ledger.close()
    for phone, label in read_lab(home).labels().items():
        known[phone] = replace(known.get(phone) or RegisteredPhone(phone=phone), label=label)
    return Registry(known)
