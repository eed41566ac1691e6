"""One phone on the USB bus, as sysfs shows it; a reset of it, and power at its hub's port by `uhubctl`.

A phone is found by its serial number alone (adb's name for it is the device's iSerial): names of ports come from sysfs,
never from what a phone says. sysfs names a device by its way: `1-1.3` is port 3 of the hub `1-1`, `1-3` port 3 of the
root hub of bus 1.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from android_runner.host.usb_path import hub_above, port_on
from android_runner.host.usb_tree import read_usb_tree
from android_runner.recovery.rungs import Seen

USBDEVFS_RESET = 0x5514
"""`_IO('U', 20)`, include/uapi/linux/usbdevice_fs.h."""
POWER_OFF_S = 5
POWER_TIMEOUT_S = 60.0
_SERIAL = re.compile(r"[A-Za-z0-9._\-]{1,64}")


class RungFailed(Exception):
    """A rung could not be carried out; the message says why. It never leaves the climb."""


@dataclass(frozen=True, slots=True)
class UsbPlace:
    """Where a phone is on the bus: its way (`1-1.3`), the hub it hangs on as uhubctl names it (`1-1`, `1` for a root
    hub), the port there, and its device node below the root."""

    way: str
    hub: str
    port: int
    node: str


def _ioctl(descriptor: int, request: int) -> None:
    fcntl.ioctl(descriptor, request, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsbHost:
    """This host's USB below `root`: sysfs, device nodes; and the environment in whose PATH `uhubctl` may be."""

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    ioctl: Callable[[int, int], None] = _ioctl

    def place(self, serial: str) -> UsbPlace | None:
        """Where the phone with this serial number is now; None where it is on no bus, or two have the number."""
        if not _SERIAL.fullmatch(serial):
            return None
        found = [one for one in read_usb_tree(self.root).devices.values() if one.serial == serial and not one.is_hub]
        above = hub_above(found[0].path) if len(found) == 1 else ""
        if not above or not found[0].node:
            return None
        return UsbPlace(found[0].path, above.removeprefix("usb"), port_on(found[0].path), found[0].node)

    def reset(self, serial: str) -> str:
        """Reset the phone's USB device: the kernel drops it and finds it anew. What was done, in words.

        Raises RungFailed with the kernel's words: mostly that this user may not.
        """
        place = self.place(serial)
        if place is None:
            raise RungFailed(f"{serial}: {Seen.GONE} on any USB bus of this host")
        try:
            descriptor = os.open(self.root / place.node, os.O_WRONLY | os.O_CLOEXEC)
            try:
                self.ioctl(descriptor, USBDEVFS_RESET)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise RungFailed(f"/{place.node}: {error.strerror}: it can't be reset") from error
        return f"usb {place.way} was reset"

    @property
    def uhubctl(self) -> str | None:
        """The program that switches hubs' ports; None where there is none in the path."""
        return shutil.which("uhubctl", path=self.environ.get("PATH"))

    def cycle_power(self, place: UsbPlace) -> str:
        """Switch the phone's port off and on. What was done, in words. Raises RungFailed with uhubctl's words."""
        program = self.uhubctl
        if program is None:
            raise RungFailed("no uhubctl in the path")
        words = ["-l", place.hub, "-p", str(place.port), "-a", "cycle", "-d", str(POWER_OFF_S)]
        try:
            done = subprocess.run(
                [program, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=dict(self.environ),
                timeout=POWER_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise RungFailed(f"uhubctl: {error}") from error
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).decode(errors="replace").split())[:200]
            raise RungFailed(f"uhubctl {' '.join(words)} ends with {done.returncode}: {said}")
        return f"port {place.port} of hub {place.hub} was off for {POWER_OFF_S} s"
