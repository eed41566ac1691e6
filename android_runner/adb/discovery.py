"""Which phones the adb server sees, in what state, and what a person must do about those that are no use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Event

from android_runner.adb.link import AdbDevice
from android_runner.adb.server import ANSWER_S, AdbServer, block
from android_runner.adb.translate import words
from android_runner.deadline import Deadline
from android_runner.device import Serial
from android_runner.errors import DeadlinePassed, LinkLost, LinkRefused

SERIAL_SHAPE = re.compile(r"[A-Za-z0-9._:\-]{1,64}")
ADDRESS_SHAPE = re.compile(r"[A-Za-z0-9.\-]{1,253}:[0-9]{1,5}")
_LINE = re.compile(
    r"(?P<serial>\(no serial number\)|\S{1,200})[ \t]+"
    r"(?P<state>no permissions.*?|\S+)"
    r"(?=$|\s+(?:usb|product|model|device|features|transport_id):)(?P<rest>.*)"
)
_LOOK_S = 0.5

MENDS = {
    "unauthorized": "accept this computer's key on its screen (unlock it; USB debugging on)",
    "authorizing": "wait a few seconds, then accept the key on its screen",
    "connecting": "wait a few seconds",
    "offline": "replug its cable; if it stays offline: adb reconnect offline",
    "no permissions": "this user may not open the USB device: install android-sdk-platform-tools-common (udev rules), "
    "join the group plugdev, replug",
    "recovery": "it is in recovery: reboot it into Android",
    "sideload": "it is in sideload mode: reboot it into Android",
    "rescue": "it is in rescue mode: reboot it into Android",
    "bootloader": "it is in the bootloader: fastboot reboot",
    "fastboot": "it is in fastboot mode: fastboot reboot",
    "host": "it acts as a USB host: change its USB mode",
}
DUPLICATE_MEND = "two phones have this serial: unplug one"
BAD_SERIAL_MEND = "its serial is not one that can be used safely: give it another, or leave it out"


@dataclass(frozen=True, slots=True)
class SeenPhone:
    """One line of the server's list. `where` is the USB path (`usb:1-1.3`) or "tcp"; `mend` is empty when usable."""

    serial: Serial
    state: str
    transport_id: int | None
    where: str
    mend: str

    @property
    def usable(self) -> bool:
        """Whether it can be opened."""
        return self.state == "device" and not self.mend


def parse_list(text: str) -> list[SeenPhone]:
    """The answer to `host:devices-l` (or one block of `host:track-devices-l`); pure.

    A serial of unusable shape or one that is listed twice keeps its line, with a mend.
    """
    phones = [phone for line in text.splitlines() if (phone := _parse_line(line))]
    counts = Counter(phone.serial for phone in phones)
    return [replace(phone, mend=DUPLICATE_MEND) if counts[phone.serial] > 1 else phone for phone in phones]


def _parse_line(line: str) -> SeenPhone | None:
    found = _LINE.match(line.strip())
    if found is None:
        return None
    serial, state, rest = found["serial"], words(found["state"]), found["rest"]
    usb = re.search(r"\busb:(\S+)", rest)
    number = re.search(r"\btransport_id:(\d{1,9})\s*$", rest)
    return SeenPhone(
        serial=Serial(words(serial)),
        state="no permissions" if state.startswith("no permissions") else state,
        transport_id=int(number.group(1)) if number else None,
        where=f"usb:{words(usb.group(1))}" if usb else ("tcp" if ADDRESS_SHAPE.fullmatch(serial) else ""),
        mend=BAD_SERIAL_MEND if not SERIAL_SHAPE.fullmatch(serial) else mend_for(state),
    )


def mend_for(state: str) -> str:
    """What a person must do about a phone in `state`; empty for a usable one."""
    if state == "device":
        return ""
    for start, mend in MENDS.items():
        if state.startswith(start):
            return mend
    return f"adb lists it as {words(state)!r}: replug it"


def attached(server: AdbServer, deadline: Deadline | None = None) -> list[SeenPhone]:
    """The phones that the server lists now, the unusable included. Raises `LinkLost` when no server answers."""
    return parse_list(
        server.answer("host:devices-l", deadline or Deadline.after(ANSWER_S)).decode("utf-8", errors="replace")
    )


def track(server: AdbServer, on_change: Callable[[list[SeenPhone]], object], stop: Event, deadline: Deadline) -> None:
    """Call `on_change` with the whole list at once and whenever it changes, until `stop` is set or time is up.

    Raises `LinkLost` when the server goes away: nothing is known of any phone then.
    """
    stream = server.request("host:track-devices-l", deadline)
    try:
        while not stop.is_set() and not deadline.passed():
            if not stream.readable():
                stream.wait(deadline.clip(_LOOK_S), write=False)
                continue
            on_change(parse_list(block(stream, "adb server", deadline).decode("utf-8", errors="replace")))
    except DeadlinePassed:
        if not deadline.passed():
            raise
    finally:
        stream.close()


def open_device(server: AdbServer, serial: str, deadline: Deadline | None = None) -> AdbDevice:
    """The phone `serial`, checked to be listed once and in state `device`.

    Raises `LinkRefused` with the mend when it is listed and no use, `LinkLost` when it is not listed.
    """
    if not SERIAL_SHAPE.fullmatch(serial):
        raise LinkRefused(f"{words(serial)!r}: {BAD_SERIAL_MEND}")
    for phone in attached(server, deadline):
        if phone.serial == serial:
            if not phone.usable:
                raise LinkRefused(f"{serial} is {phone.state}: {phone.mend}")
            return AdbDevice(server, Serial(serial))
    raise LinkLost(f"{serial}: not attached to the adb server on port {server.port}")


def connect(server: AdbServer, address: str, deadline: Deadline) -> Serial:
    """Make the server reach a phone over TCP; the serial it then has. Does nothing when it is connected already.

    The server answers OKAY also when it failed, so its text decides. Raises `LinkRefused` when the phone does not
    accept the server's key, `LinkLost` when nobody answers there.
    """
    if not ADDRESS_SHAPE.fullmatch(address):
        raise LinkRefused(f"{words(address)!r}: not an address of the form host:port")
    said = words(server.answer(f"host:connect:{address}", deadline, serial=address))
    if said.startswith(("connected to ", "already connected to ")):
        return Serial(address)
    kind = LinkRefused if "authenticate" in said or "unauthorized" in said else LinkLost
    raise kind(f"{address}: the adb server says: {said}")


def disconnect(server: AdbServer, address: str, deadline: Deadline) -> None:
    """Make the server forget a phone reached over TCP. Raises `LinkLost` when it does not know it."""
    server.answer(f"host:disconnect:{address}", deadline, serial=address)
