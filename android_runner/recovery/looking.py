"""One look at a phone through its adb server: what the server lists, and whether the phone answers for itself."""

from __future__ import annotations

from collections.abc import Mapping

from android_runner.adb.discovery import SeenPhone, attached
from android_runner.adb.link import AdbDevice
from android_runner.adb.server import AdbServer
from android_runner.adb.translate import words
from android_runner.deadline import Deadline
from android_runner.device import Serial
from android_runner.errors import DeadlinePassed, HostileAnswer, LinkError, RunnerError
from android_runner.host.processes import processes
from android_runner.recovery.answer import MAX_ANSWER_BYTES, Expected, Nonce, answer_command, judged
from android_runner.recovery.keeper import serving_on
from android_runner.recovery.rungs import Seen, Sighting
from android_runner.recovery.usb import UsbHost

LIST_S = 10.0
PROBE_S = 10.0
"""What one answer may take: a phone that was just plugged in is asked again."""

_STATES: Mapping[str, Seen] = {
    "offline": Seen.OFFLINE,
    "connecting": Seen.OFFLINE,
    "unauthorized": Seen.UNAUTHORIZED,
    "authorizing": Seen.UNAUTHORIZED,
    "no permissions": Seen.NO_PERMISSION,
    "recovery": Seen.RECOVERY,
    "sideload": Seen.RECOVERY,
    "rescue": Seen.RECOVERY,
    "bootloader": Seen.BOOTLOADER,
    "fastboot": Seen.BOOTLOADER,
}


def look(server: AdbServer, serial: str, expected: Expected, usb: UsbHost, deadline: Deadline) -> Sighting:
    """What is to be seen of a phone now; takes at most `LIST_S` and `PROBE_S`, and no longer than `deadline`."""
    try:
        lines = [one for one in attached(server, deadline.clip(LIST_S)) if one.serial == serial]
    except LinkError as error:
        return Sighting(Seen.SERVER_SILENT, str(error))
    if not lines:
        return missing(serial, usb, server.port)
    listed = stands(lines)
    if listed is not None:
        return listed
    nonce = Nonce.new()
    try:
        limit = deadline.clip(PROBE_S)
        device = AdbDevice(server, Serial(serial))
        text = device.shell(answer_command(nonce), deadline=limit, max_output_bytes=MAX_ANSWER_BYTES).text()
    except (DeadlinePassed, HostileAnswer) as error:
        return Sighting(Seen.HUNG, f"adb lists it as device: {error}")
    except RunnerError as error:
        return Sighting(Seen.OFFLINE, f"adb lists it as device: {error}")
    return judged(text, nonce, expected)


def stands(lines: list[SeenPhone]) -> Sighting | None:
    """What adb's line of a phone says is wrong with it; None for a usable one. Pure."""
    if len(lines) > 1:
        return Sighting(Seen.AMBIGUOUS, f"adb lists {len(lines)} phones with this serial")
    state = lines[0].state
    if state == "device":
        return None
    seen = next((one for start, one in _STATES.items() if state.startswith(start)), Seen.OFFLINE)
    return Sighting(seen, f"adb lists it as {words(state)}")


def missing(serial: str, usb: UsbHost, port: int) -> Sighting:
    """Why the server on `port` does not list a phone: gone, or on the bus with its interface in another's hands."""
    place = usb.place(serial)
    if place is None:
        return Sighting(Seen.GONE, "adb does not list it")
    own = serving_on(port, usb.root)
    holding = [one for one in processes(usb.root) if f"/{place.node}" in one.usb_nodes]
    other = [one.words() for one in holding if own is None or one.pid != own.pid]
    if other:
        return Sighting(Seen.HELD, f"usb {place.way} is held by {', '.join(other)}")
    return Sighting(Seen.GONE, f"it is on the bus (usb {place.way}), but adb does not list it")
