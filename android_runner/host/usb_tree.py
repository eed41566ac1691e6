"""The USB as the kernel shows it below `/sys/bus/usb/devices`: a reader over any such tree, and what it says.

Names and files: Documentation/ABI/{stable,testing}/sysfs-bus-usb of Linux. What a device says of itself (product,
serial) is from outside: it is cleaned, and never part of a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from android_runner.facts import cleaned
from android_runner.host.usb_path import device_at_port, hub_above, is_root, one_half

THIS = Path("/")
"""The root of this computer's files; another is a copy of some computer's."""
DEVICES = Path("sys/bus/usb/devices")
MAX_FILE_BYTES = 4096
_HUB_CLASS = 0x09
_ADB = ("ff", "42", "01")
"""Interface class, subclass and protocol of adb (`ADB_CLASS` … in adb's usb.h)."""
_SELF_POWERED = 0x40
"""Bit 6 of bmAttributes in a configuration descriptor (USB 2.0, table 9-10)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsbDevice:
    """One device. `endpoints` counts its control endpoint too; `max_power_ma` is what it may draw, as it says.

    `speed_mbps` is 12 at full, 480 at high, 5000 and more at super speed, 0 unknown. `node` is its file below `/dev`.
    `ports` is a hub's number of ports. `suspends` when the kernel may switch it off while it is idle.
    """

    path: str
    product: str
    serial: str
    is_hub: bool
    self_powered: bool
    max_power_ma: int
    speed_mbps: float
    endpoints: int
    adb: bool
    suspends: bool
    ports: int
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsbTree:
    """Devices by path; `controllers` names the controller of each root hub; `peers` the two halves of USB 3 ports."""

    devices: Mapping[str, UsbDevice] = field(default_factory=dict)
    controllers: Mapping[str, str] = field(default_factory=dict)
    peers: Mapping[str, str] = field(default_factory=dict)

    def hub_of(self, path: str) -> str:
        """The hub that a phone hangs on, the same for both of its halves; empty for what is no path."""
        above = hub_above(path)
        return above if is_root(above) else one_half(above, self.peers) if above else ""

    def phones(self) -> list[UsbDevice]:
        """What speaks adb, by path."""
        return [device for _, device in sorted(self.devices.items()) if device.adb]

    def endpoints(self) -> dict[str, int]:
        """Endpoints in use behind each controller."""
        counts: dict[str, int] = dict.fromkeys(self.controllers.values(), 0)
        for path, device in self.devices.items():
            root = path if is_root(path) else f"usb{path.partition('-')[0]}"
            if controller := self.controllers.get(root, ""):
                counts[controller] += device.endpoints
        return counts


def read_usb_tree(root: Path) -> UsbTree:
    """The tree below `root` (`/` for this computer). What can't be read is left out; without sysfs it is empty."""
    folder = root / DEVICES
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return UsbTree()
    interfaces: dict[str, list[Path]] = {}
    for name in names:
        owner, colon, _ = name.partition(":")
        if colon:
            interfaces.setdefault(re.sub(r"^(\d+)-0$", r"usb\1", owner), []).append(folder / name)
    devices = {
        name: _device(name, folder / name, interfaces.get(name, []))
        for name in names
        if is_root(name) or hub_above(name)
    }
    return UsbTree(
        devices=devices,
        controllers={name: _controller(folder / name) for name in devices if is_root(name)},
        peers=dict(_peers([path for paths in interfaces.values() for path in paths])),
    )


def _device(name: str, folder: Path, interfaces: list[Path]) -> UsbDevice:
    faces = [
        tuple(_text(one / file) for file in ("bInterfaceClass", "bInterfaceSubClass", "bInterfaceProtocol"))
        for one in interfaces
    ]
    bus, number = _number(folder / "busnum"), _number(folder / "devnum")
    return UsbDevice(
        path=name,
        product=_text(folder / "product"),
        serial=_text(folder / "serial"),
        is_hub=is_root(name) or _number(folder / "bDeviceClass", 16) == _HUB_CLASS,
        self_powered=bool(_number(folder / "bmAttributes", 16) & _SELF_POWERED),
        max_power_ma=_number(folder / "bMaxPower"),
        speed_mbps=_speed(folder / "speed"),
        endpoints=1 + sum(_number(one / "bNumEndpoints", 16) for one in interfaces),
        adb=_ADB in faces,
        suspends=_text(folder / "power" / "control") == "auto",
        ports=_number(folder / "maxchild"),
        node=f"dev/bus/usb/{bus:03d}/{number:03d}" if bus and number else "",
    )


def _controller(root_hub: Path) -> str:
    """The name of what the root hub belongs to (`0000:00:14.0`); the root hub's own where that is not told."""
    try:
        above = root_hub.resolve().parent.name
    except (OSError, RuntimeError):  # links that lead in a circle
        above = ""
    return root_hub.name if above in ("devices", "") else cleaned(above)


def _peers(interfaces: list[Path]) -> Iterator[tuple[str, str]]:
    for interface in interfaces:
        for port in interface.glob("*-port*"):
            try:
                other = (port / "peer").readlink().name
            except OSError:
                continue
            here, there = device_at_port(port.name), device_at_port(other)
            if here and there:
                yield here, there


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return cleaned(file.read(MAX_FILE_BYTES).decode("utf-8", errors="replace"))
    except OSError:
        return ""


def _number(path: Path, base: int = 10) -> int:
    digits = r"[0-9a-fA-F]{1,8}" if base == 16 else r"\d{1,9}"
    found = re.match(digits, _text(path))
    return int(found[0], base) if found else 0


def _speed(path: Path) -> float:
    found = re.fullmatch(r"\d{1,6}(?:\.\d)?", _text(path))
    return float(found[0]) if found else 0.0
