"""A phone's settings that will bite: how they are asked for, and pure: what they say."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from android_runner.deadline import Deadline
from android_runner.device import Device
from android_runner.errors import HostileAnswer
from android_runner.facts import PhoneFacts, Vitals, cleaned, whole_number
from android_runner.host.finding import HostFinding, Level
from android_runner.host.usb_path import path_of

SETTINGS = ("adb_allowed_connection_time", "adb_wifi_enabled")
PROPERTIES = (
    "service.adb.tcp.port",
    "persist.adb.tcp.port",
    "persist.adb.watchdog",
    "ro.build.version.security_patch",
)
KEYS_EXPIRE_API = 30
"""From Android 11 on a key that was not used for seven days is forgotten (`DEFAULT_ADB_ALLOWED_CONNECTION_TIME`)."""
WIFI_HOLE_APIS = range(34, 37)
WIFI_MENDED = "2026-05-01"
"""Security patch level that closes CVE-2026-0073: wireless debugging without its key, Android 14 to 16."""
FREE_BYTES = 1_000_000_000
LOW_BATTERY = 20
_MAX_ANSWER_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneAsked:
    """A phone as it answered; `said` holds settings and properties by name, empty where the phone has none."""

    name: str
    serial: str
    where: str
    facts: PhoneFacts
    vitals: Vitals
    said: Mapping[str, str] = field(default_factory=dict)


def ask_settings(device: Device, *, deadline: Deadline) -> dict[str, str]:
    """Settings and properties by name. Raises LinkError."""
    marker = f"said-{secrets.token_hex(8)}:"
    asked = [(name, f"settings get global {name}") for name in SETTINGS]
    asked += [(name, f"getprop {name}") for name in PROPERTIES]
    command = "\n".join(f'echo "{marker}{name}=$({call} 2>/dev/null)"' for name, call in asked)
    answer = device.shell(command, deadline=deadline, max_output_bytes=_MAX_ANSWER_BYTES).text()
    if marker not in answer:
        raise HostileAnswer(f"{device.serial}: the shell does not answer with what it was asked")
    return said_in(answer, marker)


def said_in(answer: str, marker: str) -> dict[str, str]:
    """The names and values in an answer; pure. `null` is how `settings` says that there is none."""
    known = (*SETTINGS, *PROPERTIES)
    pairs = (line.removeprefix(marker).partition("=") for line in answer.splitlines() if line.startswith(marker))
    return {name: "" if value == "null" else cleaned(value) for name, _, value in pairs if name in known}


def phone_findings(phone: PhoneAsked) -> list[HostFinding]:
    """What will bite on a phone that works now; one `ok` when nothing will."""
    found = [finding for rule in (_key, _wireless, _network, _watchdog, _storage, _battery) for finding in rule(phone)]
    if not found:
        seen = f"{phone.facts.device_model}, API {phone.facts.api_level}: nothing will bite"
        found.append(HostFinding(check="phone", level=Level.OK, about=phone.name, seen=seen))
    return found


def _shell(phone: PhoneAsked, words: str) -> str:
    return f"adb -s {phone.serial} shell {words}"


def _key(phone: PhoneAsked) -> Iterator[HostFinding]:
    said = phone.said.get("adb_allowed_connection_time")
    if phone.facts.virtual or phone.facts.api_level < KEYS_EXPIRE_API or said is None or said == "0":
        return
    time_ms = whole_number(said)
    days = 7.0 if time_ms is None else time_ms / 86_400_000
    if days <= 365:
        yield HostFinding(
            check="phone-key-expiry",
            level=Level.WARN,
            about=phone.name,
            seen=f"forgets this computer's key after {days:g} days without use, and is then unauthorized",
            mend=_shell(phone, "settings put global adb_allowed_connection_time 0"),
        )


def _wireless(phone: PhoneAsked) -> Iterator[HostFinding]:
    if phone.said.get("adb_wifi_enabled") != "1":
        return
    patch = phone.said.get("ro.build.version.security_patch", "")
    dated = patch if re.fullmatch(r"\d{4}-\d{2}-\d{2}", patch) else ""
    hole = phone.facts.api_level in WIFI_HOLE_APIS and dated < WIFI_MENDED
    yield HostFinding(
        check="phone-wireless",
        level=Level.WARN,
        about=phone.name,
        seen="wireless debugging is on"
        + (f": with patch level {dated or 'unknown'}, anybody near gets in (CVE-2026-0073)" if hole else ""),
        mend=_shell(phone, "settings put global adb_wifi_enabled 0"),
    )


def _network(phone: PhoneAsked) -> Iterator[HostFinding]:
    ports = {phone.said.get(name, "") for name in ("service.adb.tcp.port", "persist.adb.tcp.port")}
    listening = sorted(port for port in ports if (whole_number(port) or 0) > 0)
    if listening:
        yield HostFinding(
            check="phone-network",
            level=Level.WARN,
            about=phone.name,
            seen=f"adb listens on the phone's network, port {listening[0]}",
            mend=f"adb -s {phone.serial} usb"
            + ("; setprop persist.adb.tcp.port '' as root" if phone.said.get("persist.adb.tcp.port") else ""),
        )
    elif phone.where == "tcp" and not phone.facts.virtual:
        yield HostFinding(
            check="phone-network",
            level=Level.WARN,
            about=phone.name,
            seen="reached over the network, unencrypted on most phones, and lost with it",
            mend="plug it in by USB",
        )


def _watchdog(phone: PhoneAsked) -> Iterator[HostFinding]:
    if (whole_number(phone.said.get("persist.adb.watchdog", "")) or 0) > 0:
        yield HostFinding(
            check="phone-watchdog",
            level=Level.WARN,
            about=phone.name,
            seen="restarts into its bootloader when no computer speaks to it for ten minutes (persist.adb.watchdog)",
            mend=_shell(phone, "setprop persist.adb.watchdog 0 (as root)"),
        )


def _storage(phone: PhoneAsked) -> Iterator[HostFinding]:
    if 0 < phone.facts.free_bytes < FREE_BYTES:
        yield HostFinding(
            check="phone-storage",
            level=Level.WARN,
            about=phone.name,
            seen=f"{phone.facts.free_bytes / 1e6:.0f} MB left in /data",
            mend="remove apps or files from it",
        )


def _battery(phone: PhoneAsked) -> Iterator[HostFinding]:
    vitals = phone.vitals
    if vitals.battery_health not in (None, "Good", "Unknown"):
        yield HostFinding(
            check="phone-battery",
            level=Level.WARN,
            about=phone.name,
            seen=f"its battery says of its health: {vitals.battery_health}",
            mend="let it cool, look at it; a swollen or failing battery is replaced before it is used again",
        )
    low = vitals.battery_level is not None and vitals.battery_level < LOW_BATTERY
    falling = vitals.battery_status == "Discharging" and bool(path_of(phone.where))
    if low or falling:
        level = "unknown" if vitals.battery_level is None else f"{vitals.battery_level} %"
        yield HostFinding(
            check="phone-battery",
            level=Level.WARN,
            about=phone.name,
            seen=f"battery at {level}" + (", discharging while plugged in" if falling else ""),
            mend="a hub with its own supply, or another port" if falling else "let it charge",
        )
