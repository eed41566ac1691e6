"""A computer as files: /sys, /proc and /etc of a lab with hubs and phones, for what reads below a root."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from pathlib import Path


class FakeHost:
    """Files below `root`; nothing but text and links."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._number = 1
        self._listening: list[str] = []
        (root / "proc/net").mkdir(parents=True)
        (root / "sys/bus/usb/devices").mkdir(parents=True)
        self._write_listeners()

    def controller(self, pci: str, *buses: int) -> None:
        """A controller with its root hubs, linked as the kernel links them."""
        for bus in buses:
            folder = self.root / f"sys/devices/pci0000:00/{pci}/usb{bus}"
            (self.root / "sys/bus/usb/devices" / f"usb{bus}").symlink_to(_made(folder))
            self._device(f"usb{bus}", {"bDeviceClass": "09", "bmAttributes": "e0", "maxchild": "4"})
            self._interface(f"{bus}-0:1.0", ("09", "00", "00"), 1)

    def hub(self, path: str, *, self_powered: bool = True) -> None:
        """A hub at a path."""
        self._device(path, {"bDeviceClass": "09", "bmAttributes": "e0" if self_powered else "80", "maxchild": "4"})
        self._interface(f"{path}:1.0", ("09", "00", "00"), 1)

    def phone(self, path: str, *, speed: str = "480", power: str = "on", mtp: bool = False) -> Path:
        """A phone at a path; its node below /dev."""
        number = self._device(path, {"bDeviceClass": "00", "speed": speed, "power/control": power, "product": "Phone"})
        self._interface(f"{path}:1.0", ("ff", "42", "01"), 2)
        if mtp:
            self._interface(f"{path}:1.1", ("06", "01", "01"), 3)
        node = self.root / f"dev/bus/usb/{int(path.partition('-')[0]):03d}/{number:03d}"
        _made(node.parent)
        node.touch()
        return node

    def peer(self, interface: str, port: str, other: str) -> None:
        """The other half of a hub's port."""
        folder = self.root / "sys/bus/usb/devices" / interface / port
        (_made(folder) / "peer").symlink_to(f"../../../{other}")

    def listen(self, address: str, port: int, inode: int) -> None:
        """A listening socket."""
        packed = ipaddress.ip_address(address).packed
        hexed = "".join(packed[at : at + 4][::-1].hex().upper() for at in range(0, len(packed), 4))
        line = f"   0: {hexed}:{port:04X} {'0' * len(hexed)}:0000 0A 0:0 00:0 0 0 0 {inode} 1 0 100 0 0 10 0"
        self._listening.append(line)
        self._write_listeners()

    def process(
        self,
        pid: int,
        *command: str,
        uid: int = 1000,
        sockets: Sequence[int] = (),
        nodes: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
        max_files: int = 1024,
    ) -> None:
        """A process with its open files."""
        folder = _made(self.root / f"proc/{pid}/fd").parent
        (folder / "comm").write_text(f"{Path(command[0]).name}\n")
        (folder / "cmdline").write_text("".join(f"{word}\0" for word in command))
        (folder / "status").write_text(f"Name:\t{Path(command[0]).name}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n")
        (folder / "limits").write_text(f"Max open files            {max_files}                 4096      files\n")
        if environ is not None:
            (folder / "environ").write_text("".join(f"{name}={value}\0" for name, value in environ.items()))
        targets = [*(f"socket:[{inode}]" for inode in sockets), *nodes]
        for number, target in enumerate(targets, 3):
            (folder / "fd" / str(number)).symlink_to(target)

    def _device(self, path: str, files: Mapping[str, str]) -> int:
        self._number += 1
        bus = path.removeprefix("usb").partition("-")[0]
        common = {"busnum": bus, "devnum": str(self._number), "bMaxPower": "500mA", "speed": "480"}
        for name, text in {**common, **files}.items():
            file = self.root / "sys/bus/usb/devices" / path / name
            _made(file.parent)
            file.write_text(f"{text}\n")
        return self._number

    def _interface(self, name: str, kind: tuple[str, str, str], endpoints: int) -> None:
        folder = _made(self.root / "sys/bus/usb/devices" / name)
        files = ("bInterfaceClass", "bInterfaceSubClass", "bInterfaceProtocol")
        for file, text in zip(files, kind, strict=True):
            (folder / file).write_text(f"{text}\n")
        (folder / "bNumEndpoints").write_text(f"{endpoints:02x}\n")

    def _write_listeners(self) -> None:
        head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        for name, digits in (("tcp", 8), ("tcp6", 32)):
            lines = [line for line in self._listening if line.split()[1].index(":") == digits]
            (self.root / "proc/net" / name).write_text(head + "".join(f"{line}\n" for line in lines))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
