"""Pure nouns of the recovery ladder: what is seen of a phone, the rungs, what is allowed, what came of a rung."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Seen(StrEnum):
    """What a look at a phone shows."""

    ANSWERS = "answers"
    SERVER_SILENT = "adb server silent"
    GONE = "not attached"
    HELD = "held by another adb server"
    OFFLINE = "offline"
    HUNG = "no answer"
    BOOTING = "booting"
    STORAGE = "storage refuses"
    RECOVERY = "in recovery"
    BOOTLOADER = "in the bootloader"
    UNAUTHORIZED = "unauthorized"
    NO_PERMISSION = "no permission"
    AMBIGUOUS = "ambiguous"
    STRANGER = "another phone"
    UPDATED = "another build"


class Rung(StrEnum):
    """What can be done about it, mildest first. The last two end the climb."""

    WAIT = "wait"
    RECONNECT = "reconnect"
    USB_RESET = "usb reset"
    REBOOT = "reboot"
    HUB_POWER = "hub power"
    SERVER_RESTART = "server restart"
    QUARANTINE = "quarantine"
    LEAVE = "leave to a person"


class Result(StrEnum):
    """What came of a rung: the phone is back, it is as it was, or the rung itself could not be carried out."""

    BACK = "back"
    IN_VAIN = "in vain"
    FAILED = "failed"
    ENDED = "ended"
    """The climb ended here: nothing more is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What may be done to one phone beyond waiting and reconnecting; a phone that boots is waited for so long."""

    usb_reset: bool = False
    reboot: bool = False
    hub_power: bool = False
    boot_timeout_s: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What this host could do for one phone now. `server_to_blame`: its server is our own, and several phones hang
    behind it or it does not answer itself."""

    on_bus: bool = False
    hub_port: bool = False
    server_to_blame: bool = False


@dataclass(frozen=True, slots=True)
class Sighting:
    """One look at a phone; `words` say more for people. `boot_id` is known where it answered."""

    seen: Seen
    words: str = ""
    boot_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One rung that was tried: what was seen before, what came of it, in words, and how long it took."""

    seen: Seen
    rung: Rung
    result: Result
    words: str
    took_s: float
