"""`orch devices`: every phone as a row, and the expected ones that are not there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from android_runner.host.usb_path import place_words
from orchestrator.app.batteries import cares_of, cooling_of
from orchestrator.app.hosts import attached_phones
from orchestrator.app.phones import Phone, as_known, names_of
from orchestrator.app.registry import Registry, bar_of, missing_words, note_seen, read_registry, serial_of
from orchestrator.farm.lock import PhoneLock
from orchestrator.home import Home
from orchestrator.report.devices import DeviceRow
from orchestrator.store.ledger import Ledger
from orchestrator.store.registered import RegisteredPhone


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceList:
    """The phones that are there; of the `expected` ones those that are missing, each in words and as a row; hosts that
    do not answer, in words."""

    rows: Sequence[DeviceRow]
    missing: Sequence[str] = ()
    missing_rows: Sequence[DeviceRow] = ()
    expected: int = 0
    silent: Sequence[str] = ()


def device_list(home: Home, adb_port: int | None) -> DeviceList:
    """Real phones first (None: leave their adb server alone), then the virtual ones that live."""
    silent: list[str] = []
    registry = read_registry(home)
    phones = as_known(attached_phones(home, adb_port, silent.append), registry)
    if registry.phones:
        ledger = Ledger.open(home.root)
        try:
            note_seen(phones, ledger)
        finally:
            ledger.close()
    awaited = [
        one for one in registry.phones.values() if one.expected and not _is_out_of_sight(registry, one.phone, adb_port)
    ]
    cares = cares_of(phones, home, datetime.now(UTC))
    cooling = cooling_of(phones, home)
    gone = _missing(registry, phones, {one.phone for one in awaited})
    return DeviceList(
        rows=[_row(phone, cares.get(phone.identity, ()), cooling.get(phone.identity, "ready")) for phone in phones],
        missing=[missing_words(one, datetime.now(UTC)) for one in gone],
        missing_rows=[_missing_row(one) for one in gone],
        expected=len(awaited),
        silent=silent,
    )


def _is_out_of_sight(registry: Registry, phone: str, adb_port: int | None) -> bool:
    """Whether nobody looked where it would be: real phones were left alone."""
    seen = registry.of(phone).seen
    return adb_port is None and not (seen is not None and seen.virtual)


def _missing(registry: Registry, phones: Sequence[Phone], awaited: set[str]) -> list[RegisteredPhone]:
    now = datetime.now(UTC)
    gone = [one for one in registry.absent(names_of(phones)) if one.phone in awaited]
    return [one for one in gone if not bar_of(one, now)[0]]


def _missing_row(phone: RegisteredPhone) -> DeviceRow:
    """An expected phone that is not there, as it was last seen."""
    seen = phone.seen
    virtual = seen is not None and seen.virtual
    return DeviceRow(
        label=phone.name,
        device_model=seen.device_model if seen is not None else "",
        serial=serial_of(phone),
        api_level=None,
        rooted=None,
        state="missing",
        usable=False,
        battery_c=None,
        battery_percent=None,
        where=place_words(seen.where) if seen is not None else "",
        mend="orch virtual up" if virtual else "look after its cable and its hub",
        virtual=virtual,
        phone=phone.phone,
        host=seen.host if seen is not None else "",
    )


def _row(phone: Phone, care: tuple[str, ...], ready: str) -> DeviceRow:
    """`ready`: its state in words when nothing hinders it."""
    facts, vitals = phone.facts, phone.vitals
    lock = PhoneLock(phone.claim_key)
    holder = lock.holder() if facts is not None else None
    waiting = lock.waiting() if holder is not None else None
    return DeviceRow(
        label=phone.label,
        device_model=facts.device_model if facts is not None else "",
        serial=str(phone.seen.serial),
        api_level=(facts.api_level or None) if facts is not None else None,
        rooted=facts.rooted if facts is not None else None,
        state=phone.state or (ready if holder is None else f"busy {holder.text()}"),
        usable=phone.usable and holder is None,
        battery_c=vitals.battery_c if vitals is not None else None,
        battery_percent=vitals.battery_level if vitals is not None else None,
        where=place_words(phone.seen.where),
        mend=phone.mend,
        virtual=facts.virtual if facts is not None else False,
        confinement=facts.confinement if facts is not None else "",
        shell=facts.shell if facts is not None else "",
        phone=phone.identity,
        host=phone.server.of,
        care=care,
        waiting=waiting.text() if waiting is not None else "",
    )
