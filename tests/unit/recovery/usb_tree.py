"""A fake sysfs with phones on hubs, device nodes, a fake uhubctl, and a fake /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from android_runner.recovery.usb import UsbHost

UID = 54321
"""Nobody's: processes are shown as this number's."""


@dataclass
class UsbTree:
    """Below `root`: `sys`, `dev`, `bin` (in the PATH) and `proc`."""

    root: Path
    resets: list[tuple[str, int]] = field(default_factory=list)

    def plug(self, way: str, serial: str, *, bus: int = 1, number: int = 4) -> Path:
        """Plug a phone in; its device node."""
        folder = self.root / "sys/bus/usb/devices" / way
        folder.mkdir(parents=True, exist_ok=True)
        for name, value in {"serial": serial, "busnum": bus, "devnum": number}.items():
            (folder / name).write_text(f"{value}\n")
        node = self.root / f"dev/bus/usb/{bus:03d}/{number:03d}"
        node.parent.mkdir(parents=True, exist_ok=True)
        node.touch()
        return node

    def uhubctl(self, text: str) -> None:
        """Put a program of this text into the path."""
        program = self.root / "bin/uhubctl"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)

    def host(self) -> UsbHost:
        def ioctl(descriptor: int, request: int) -> None:
            self.resets.append((os.readlink(f"/proc/self/fd/{descriptor}"), request))

        return UsbHost(root=self.root, environ={"PATH": str(self.root / "bin")}, ioctl=ioctl)

    def process(self, pid: int, command: str, *, holds: tuple[str, ...] = (), environ: str = "") -> None:
        """A process that has files open, by their link's text."""
        folder = self.root / "proc" / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "comm").write_text(f"{command}\n")
        (folder / "cmdline").write_text(f"/usr/bin/{command}\0")
        (folder / "status").write_text(f"Name:\t{command}\nUid:\t{UID}\t{UID}\t{UID}\t{UID}\n")
        (folder / "stat").write_text(f"{pid} ({command}) S " + " ".join(["0"] * 18) + f" {pid * 10} 0\n")
        (folder / "environ").write_text(environ)
        for number, target in enumerate(holds):
            (folder / "fd" / str(number)).symlink_to(target)
