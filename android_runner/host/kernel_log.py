"""Pure: what the kernel's log says of USB trouble, line by line, whatever stands before the message.

Messages: drivers/usb/core/hub.c, generic.c and drivers/usb/host/xhci.c, xhci-ring.c of Linux.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from android_runner.facts import cleaned

MAX_LOG_BYTES = 16 * 1024 * 1024
MANY_DISCONNECTS = 5
"""Fewer disconnects of one device are people with cables."""


class TroubleKind(StrEnum):
    """What went wrong."""

    OVER_CURRENT = "over-current"
    NO_POWER = "no power"
    FULL_CONTROLLER = "full controller"
    NO_BANDWIDTH = "no bandwidth"
    DEAD_CONTROLLER = "dead controller"
    NOT_READ = "not read"
    DISCONNECTS = "disconnects"


_PLACE = r"\b(?P<where>usb\d{1,3}-port\d{1,3}|\d{1,3}-[\d.]{1,24}(?:-port\d{1,3})?(?=[: ]))"
_MESSAGES: tuple[tuple[TroubleKind, str], ...] = (
    (TroubleKind.OVER_CURRENT, r"over-current (?:condition|change)"),
    (TroubleKind.NO_POWER, r"insufficient (?:available bus power|power available)"),
    (
        TroubleKind.FULL_CONTROLLER,
        r"Not enough host controller resources|Max number of devices this xHCI host supports",
    ),
    (TroubleKind.NO_BANDWIDTH, r"Not enough bandwidth"),
    (TroubleKind.DEAD_CONTROLLER, r"HC died|host controller not responding, assume dead"),
    (
        TroubleKind.NOT_READ,
        r"device descriptor read/\S{1,8} error -\d|device not accepting address|unable to enumerate USB device"
        r"|Maybe the USB cable is bad|can't set config #\d{1,3}, error -",
    ),
    (TroubleKind.DISCONNECTS, r"USB disconnect, device number"),
)
_KINDS = [(kind, re.compile(pattern)) for kind, pattern in _MESSAGES]
_CONTROLLER = re.compile(r"xhci[_-]\S{1,24} (?P<where>[0-9a-zA-Z:.\-]{1,32}):")


@dataclass(frozen=True, slots=True, kw_only=True)
class UsbTrouble:
    """One kind of trouble at one place (a port's, device's or controller's name, empty unknown): how often, and the
    last line that says so."""

    kind: TroubleKind
    where: str
    count: int
    last: str


def usb_troubles(text: str) -> list[UsbTrouble]:
    """The troubles in a log, by kind and place; a few disconnects are none."""
    counts: Counter[tuple[TroubleKind, str]] = Counter()
    last: dict[tuple[TroubleKind, str], str] = {}
    for line in text[-MAX_LOG_BYTES:].splitlines():
        kind = next((kind for kind, pattern in _KINDS if pattern.search(line)), None)
        if kind is None:
            continue
        found = re.search(_PLACE, line) or _CONTROLLER.search(line)
        key = (kind, found["where"] if found else "")
        counts[key] += 1
        last[key] = cleaned(line)
    order = list(TroubleKind)
    return [
        UsbTrouble(kind=kind, where=where, count=count, last=last[kind, where])
        for (kind, where), count in sorted(counts.items(), key=lambda item: (order.index(item[0][0]), item[0][1]))
        if kind is not TroubleKind.DISCONNECTS or count >= MANY_DISCONNECTS
    ]
