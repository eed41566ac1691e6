"""Pure: places on the USB by the kernel's names. `1-1.3` is bus 1, port 1 of its root hub, port 3 of the hub there."""

from __future__ import annotations

import re
from collections.abc import Mapping

_DEVICE = re.compile(r"\d{1,3}-\d{1,3}(?:\.\d{1,3}){0,5}")
_PORT = re.compile(r"(?:usb(?P<bus>\d{1,3})|(?P<hub>\d{1,3}-[\d.]{1,24}))-port(?P<number>\d{1,3})")
_ROOT = re.compile(r"usb\d{1,3}")


def path_of(where: str) -> str:
    """The path in what adb says of a phone's place (`usb:1-1.3`); empty for a phone that is not on this host's USB."""
    path = where.removeprefix("usb:")
    return path if where.startswith("usb:") and _DEVICE.fullmatch(path) else ""


def hub_above(path: str) -> str:
    """The hub that a device or a hub is plugged into: `1-1.3` in `1-1`, `1-1` in `usb1`; empty for a root hub."""
    if not _DEVICE.fullmatch(path):
        return ""
    above, dot, _ = path.rpartition(".")
    return above if dot else f"usb{path.partition('-')[0]}"


def port_on(path: str) -> int:
    """The port of the hub above: 3 for `1-1.3`; 0 for what is no path."""
    return int(re.split(r"[.-]", path)[-1]) if _DEVICE.fullmatch(path) else 0


def is_root(path: str) -> bool:
    """Whether this is a controller's own root hub, which people do not see as a hub."""
    return _ROOT.fullmatch(path) is not None


def hubs_above(path: str) -> list[str]:
    """Every hub between a device and its controller, the nearest first, the root hub last."""
    chain: list[str] = []
    while path := hub_above(path):
        chain.append(path)
    return chain


def device_at_port(port_name: str) -> str:
    """What is plugged into a port as sysfs names it: `usb2-port1` holds `2-1`, `1-1-port3` holds `1-1.3`."""
    found = _PORT.fullmatch(port_name)
    if found is None:
        return ""
    return f"{found['bus']}-{found['number']}" if found["bus"] else f"{found['hub']}.{found['number']}"


def place_words(where: str) -> str:
    """A phone's place for people: `hub 1-1.3`, `usb 1-3` directly at the computer; other places as they are."""
    path = path_of(where)
    if not path:
        return where
    return f"usb {path}" if is_root(hub_above(path)) else f"hub {path}"


def hub_words(hub: str) -> str:
    """A hub for people: `hub 1-1`, `the computer's bus 1` for a root hub."""
    return f"the computer's bus {hub.removeprefix('usb')}" if is_root(hub) else f"hub {hub}"


def one_half(path: str, peers: Mapping[str, str]) -> str:
    """A USB 3 hub shows up twice, once a speed; the half that stands for both, by `peers` (path to other half)."""
    other = peers.get(path, path)
    return min(path, other, key=lambda one: (int(one.partition("-")[0]), one)) if _DEVICE.fullmatch(other) else path
