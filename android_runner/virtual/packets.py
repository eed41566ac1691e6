"""Pure: the adb transport protocol's packets, as the device end sees them.

A packet is 24 bytes, six little-endian u32 `command, arg0, arg1, length, checksum, magic`, with
`magic = command ^ 0xffffffff`, and then `length` bytes. The checksum has no meaning from version 0x01000001 on.
Source: AOSP packages/modules/adb `protocol.txt` and `adb.h`, checked against the adb 36.0.0 server.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

HEADER = struct.Struct("<6I")
VERSION = 0x01000001
MAX_PAYLOAD_BYTES = 1024 * 1024
MAX_HANDSHAKE_BYTES = 64 * 1024
"""Bound on the payload of anything but stream data; banners and service names are far shorter."""

DELAYED_ACK_WINDOW_BYTES = 32 * 1024 * 1024
"""What a receiver allows unacknowledged when both banners list `delayed_ack` (INITIAL_DELAYED_ACK_BYTES in adb)."""


class Command(IntEnum):
    """The packet kinds, by their four letters read as a little-endian number."""

    CNXN = 0x4E584E43
    AUTH = 0x48545541
    OPEN = 0x4E45504F
    OKAY = 0x59414B4F
    WRTE = 0x45545257
    CLSE = 0x45534C43


class AuthKind(IntEnum):
    """`arg0` of an AUTH packet."""

    TOKEN = 1
    SIGNATURE = 2
    PUBLIC_KEY = 3


class BrokenPacket(Exception):
    """The peer does not speak the protocol; the connection has to end."""


@dataclass(frozen=True, slots=True)
class Header:
    """One packet's header without what follows from it."""

    command: Command
    arg0: int
    arg1: int
    length: int


def encode(command: Command, arg0: int, arg1: int, payload: bytes = b"") -> bytes:
    """One whole packet."""
    return header_bytes(command, arg0, arg1, len(payload)) + payload


def header_bytes(command: Command, arg0: int, arg1: int, length: int) -> bytes:
    """The 24 bytes before a payload of `length` bytes."""
    return HEADER.pack(command, arg0, arg1, length, 0, command ^ 0xFFFFFFFF)


def decode_header(raw: bytes | memoryview) -> Header:
    """Read 24 bytes; raise `BrokenPacket` for a wrong magic, an unknown command or a length out of bounds."""
    command, arg0, arg1, length, _checksum, magic = HEADER.unpack(raw)
    if magic != command ^ 0xFFFFFFFF:
        raise BrokenPacket(f"magic {magic:#010x} does not fit command {command:#010x}")
    try:
        known = Command(command)
    except ValueError as error:
        raise BrokenPacket(f"unknown command {command:#010x}") from error
    bound = MAX_PAYLOAD_BYTES if known is Command.WRTE else MAX_HANDSHAKE_BYTES
    if length > bound:
        raise BrokenPacket(f"{known.name} of {length} bytes")
    return Header(known, arg0, arg1, length)


def features_of(banner: bytes) -> frozenset[str]:
    """The features in a CNXN payload such as `host::features=shell_v2,cmd`."""
    text = banner.rstrip(b"\0").decode("utf-8", errors="replace")
    _kind, _, properties = text.partition("::")
    for entry in properties.split(";"):
        key, _, value = entry.partition("=")
        if key == "features":
            return frozenset(value.split(","))
    return frozenset()
