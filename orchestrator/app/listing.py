"""`orch devices`: every phone as a row."""

from __future__ import annotations

from android_runner.host.usb_path import place_words
from orchestrator.app.phones import Phone, real_phones, virtual_phones
from orchestrator.farm.lock import PhoneLock
from orchestrator.home import Home
from orchestrator.report.devices import DeviceRow


def device_rows(home: Home, adb_port: int | None) -> list[DeviceRow]:
    """Real phones first (None: leave their adb server alone), then the virtual ones that live."""
    real = [] if adb_port is None else real_phones(adb_port)
    return [_row(phone) for phone in [*real, *virtual_phones(home)]]


def _row(phone: Phone) -> DeviceRow:
    facts, vitals = phone.facts, phone.vitals
    holder = PhoneLock(phone.claim_key).holder() if facts is not None else None
    state = phone.seen.state if facts is None else "ready" if holder is None else f"busy {holder.text()}"
    return DeviceRow(
        label=phone.label,
        device_model=facts.device_model if facts is not None else "",
        serial=str(phone.seen.serial),
        api_level=facts.api_level if facts is not None else None,
        rooted=facts.rooted if facts is not None else None,
        state=state,
        usable=facts is not None and holder is None,
        battery_c=vitals.battery_c if vitals is not None else None,
        battery_percent=vitals.battery_level if vitals is not None else None,
        where=place_words(phone.seen.where),
        mend=phone.mend,
        virtual=facts.virtual if facts is not None else False,
        confinement=facts.confinement if facts is not None else "",
        shell=facts.shell if facts is not None else "",
    )
