"""Pure: what an adb server says of itself when asked `host:server-status` (adb 35 and newer)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from android_runner.adb.server import version_of
from android_runner.errors import HostileAnswer
from android_runner.facts import cleaned

SERVICE = "host:server-status"
FEATURE = "server_status"
_LIBUSB = 2
_VARINT, _BYTES = 0, 2
_MAX_FIELDS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """A server's version, its program, how it reaches USB and whether it looks for phones on the network."""

    version: tuple[int, ...]
    program: str
    libusb: bool
    mdns: bool


def parse_status(answer: bytes) -> ServerStatus:
    """The answer, a protobuf message `AdbServerStatus` (adb's proto/adb_host.proto). Raises HostileAnswer."""
    numbers: dict[int, int] = {}
    texts: dict[int, str] = {}
    for field, value in _fields(answer):
        if isinstance(value, int):
            numbers[field] = value
        else:
            texts[field] = cleaned(value.decode("utf-8", errors="replace"))
    return ServerStatus(
        version=version_of(f"Version {texts.get(5, '')}".encode()),
        program=texts.get(7, ""),
        libusb=numbers.get(1) == _LIBUSB,
        mdns=bool(numbers.get(12)),
    )


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    for _ in range(_MAX_FIELDS):
        if at >= len(data):
            return
        key, at = _varint(data, at)
        value, at = _varint(data, at)
        if key & 7 == _VARINT:
            yield key >> 3, value
        elif key & 7 == _BYTES and at + value <= len(data):
            yield key >> 3, data[at : at + value]
            at += value
        else:
            break
    raise HostileAnswer("adb server: its status is no message of the known form")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for count in range(10):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * count)
        if not byte & 0x80:
            return value, at
    raise HostileAnswer("adb server: its status is cut off")
