"""Pure: shell v2 packets (u8 id, u32 length, data) and what a shell service's name asks for.

Source: AOSP `shell_protocol.h`, `daemon/services.cpp`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

PACKET = struct.Struct("<BI")
STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN, WINDOW_SIZE = range(6)
MAX_PACKET_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ShellRequest:
    """What a service name asks for; an empty command is an interactive shell."""

    command: str
    v2: bool
    pty: bool
    term: str


def parse_request(service: str) -> ShellRequest | None:
    """Read `shell:…`, `shell,v2,TERM=…,raw:…` or `exec:…`; None for any other service."""
    head, colon, command = service.partition(":")
    kind, *options = head.split(",")
    if not colon or kind not in ("shell", "exec"):
        return None
    term = next((option[5:] for option in options if option.startswith("TERM=")), "dumb")
    wants_pty = kind == "shell" and ("pty" in options or (not command and "raw" not in options))
    return ShellRequest(command, v2="v2" in options, pty=wants_pty, term=term)


def frame(kind: int, data: bytes) -> bytes:
    """One packet."""
    return PACKET.pack(kind, len(data)) + data


def shortened(data: bytes | bytearray, left_bytes: int, *, framed: bool) -> tuple[bytearray, int]:
    """Whole packets (or, not `framed`, plain output) with at most `left_bytes` of output; and what is then left."""
    if not framed:
        return bytearray(data[:left_bytes]), left_bytes - min(left_bytes, len(data))
    kept, at = bytearray(), 0
    while at < len(data):
        kind, length = PACKET.unpack_from(data, at)
        part = bytes(data[at + PACKET.size : at + PACKET.size + min(length, left_bytes)])
        left_bytes -= len(part)
        if part:
            kept += frame(kind, part)
        at += PACKET.size + length
    return kept, left_bytes
