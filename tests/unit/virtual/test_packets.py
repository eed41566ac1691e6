"""Transport packets and shell packets, pure."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.virtual.packets import (
    HEADER,
    MAX_HANDSHAKE_BYTES,
    MAX_PAYLOAD_BYTES,
    BrokenPacket,
    Command,
    decode_header,
    encode,
    features_of,
)
from android_runner.virtual.shell_packets import parse_request


@given(st.sampled_from(Command), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.binary(max_size=100))
def test_what_is_encoded_is_decoded(command: Command, arg0: int, arg1: int, payload: bytes) -> None:
    packet = encode(command, arg0, arg1, payload)
    header = decode_header(packet[: HEADER.size])
    assert (header.command, header.arg0, header.arg1, header.length) == (command, arg0, arg1, len(payload))


@given(st.binary(min_size=24, max_size=24))
def test_any_24_bytes_are_a_header_or_broken(raw: bytes) -> None:
    try:
        header = decode_header(raw)
    except BrokenPacket:
        return
    assert header.command in Command


def test_known_letters() -> None:
    assert struct.pack("<I", Command.CNXN) == b"CNXN"
    assert struct.pack("<I", Command.WRTE) == b"WRTE"


def test_wrong_magic_unknown_command_and_excess_are_broken() -> None:
    good = bytearray(encode(Command.OPEN, 1, 0))
    good[20] ^= 1
    with pytest.raises(BrokenPacket, match="magic"):
        decode_header(bytes(good))
    with pytest.raises(BrokenPacket, match="unknown"):
        decode_header(HEADER.pack(5, 0, 0, 0, 0, 5 ^ 0xFFFFFFFF))
    for command, bound in ((Command.WRTE, MAX_PAYLOAD_BYTES), (Command.OPEN, MAX_HANDSHAKE_BYTES)):
        with pytest.raises(BrokenPacket, match="bytes"):
            decode_header(HEADER.pack(command, 0, 0, bound + 1, 0, command ^ 0xFFFFFFFF))


def test_features_of_a_host_banner() -> None:
    assert "delayed_ack" in features_of(b"host::features=shell_v2,cmd,delayed_ack")
    assert features_of(b"host::") == frozenset()
    assert features_of(b"\xff\xfe") == frozenset()


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ("shell:ls -l", ("ls -l", False, False, "dumb")),
        ("shell:", ("", False, True, "dumb")),
        ("shell,v2,TERM=xterm,raw:a:b", ("a:b", True, False, "xterm")),
        ("shell,v2,TERM=xterm,pty:", ("", True, True, "xterm")),
        ("exec:cat x", ("cat x", False, False, "dumb")),
    ],
)
def test_shell_services(service: str, expected: tuple[str, bool, bool, str]) -> None:
    request = parse_request(service)
    assert request is not None
    assert (request.command, request.v2, request.pty, request.term) == expected


@pytest.mark.parametrize("service", ["", "sync:", "shellx:ls", "reboot:", "shell", "tcp:5555"])
def test_other_services(service: str) -> None:
    assert parse_request(service) is None
