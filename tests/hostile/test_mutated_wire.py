"""What a phone or an adb server sends, damaged: a typed error or an answer within bounds, and files in their place."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from android_runner.adb.discovery import parse_list
from android_runner.adb.receiving import pull_some
from android_runner.adb.server import block
from android_runner.adb.shell import new_marker, run_v1, run_v2
from android_runner.adb.status import parse_status
from android_runner.adb.sync import MAX_NAME_BYTES, SyncFailed, SyncSession
from android_runner.adb.wire import Stream
from android_runner.deadline import Deadline
from android_runner.device import PhonePath, PullItem
from android_runner.errors import RunnerError
from android_runner.virtual.faults import NO_FAULTS, FaultPlan
from android_runner.virtual.link import Link
from android_runner.virtual.packets import Command, encode
from android_runner.virtual.stream import Stream as PhoneStream
from tests.damage import damaged
from tests.guarded import guarded

CORPUS = Path(__file__).parent.parent / "corpus"
V2 = frozenset({"stat_v2", "ls_v2"})
MAX_OUTPUT_BYTES = 10_000
NAMES = (
    b"result.csv",
    b"trace.json",
    b"rc",
    b"../../evil",
    b"/etc/passwd",
    b"a\0b",
    b"..",
    b"",
    b"-rf",
    b"\xff",
    b"x" * 300,
)


def many(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
    )


@pytest.fixture(scope="module")
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


@contextmanager
def peer(listener: socket.socket, said: bytes) -> Iterator[Stream]:
    """A stream whose other end has said these bytes, and no more."""
    client = socket.create_connection(listener.getsockname())
    other, _ = listener.accept()
    with client, other:
        other.sendall(said)
        other.shutdown(socket.SHUT_WR)
        yield Stream(client, "HOSTILE1")


def soon() -> Deadline:
    return Deadline.after(20)


def shell_packet(ident: int, data: bytes) -> bytes:
    return struct.pack("<BI", ident, len(data)) + data


SHELL = b"".join(
    [
        shell_packet(1, b"line\n" * 40),
        shell_packet(2, b"sh: no\n"),
        shell_packet(1, b"x" * 900),
        shell_packet(3, b"\x07"),
    ]
)


@given(damaged(SHELL))
@many(250)
def test_shell_packets(listener: socket.socket, said: bytes) -> None:
    with peer(listener, said) as stream, guarded():
        try:
            code, out, err = run_v2(stream, "HOSTILE1", b"in", MAX_OUTPUT_BYTES, soon())
        except RunnerError:
            return
        assert 0 <= code <= 255
        assert len(out) + len(err) <= MAX_OUTPUT_BYTES


MARKER = new_marker()


@given(damaged(b"line\n" * 40 + f"\n{MARKER}0\n".encode() + b"late\n"))
@many(150)
def test_shell_without_packets(listener: socket.socket, said: bytes) -> None:
    with peer(listener, said) as stream, guarded():
        try:
            code, out = run_v1(stream, "HOSTILE1", MARKER, MAX_OUTPUT_BYTES, soon())
        except RunnerError:
            return
        assert 0 <= code <= 255
        assert len(out) <= len(said)


def listed(names: tuple[bytes, ...], *, v2: bool) -> bytes:
    shape = "<4sIQQIIIIQqqqI" if v2 else "<4sIIII"
    numbers = (0, 1, 2, 0o100644, 1, 2000, 2000, 4096, 1, 1, 1) if v2 else (0o100644, 4096, 1)
    ident = b"DNT2" if v2 else b"DENT"
    entries = b"".join(struct.pack(shape, ident, *numbers, len(name)) + name for name in names)
    return entries + b"DONE" + bytes(struct.calcsize(shape) - 4)


def pieces(data: bytes) -> bytes:
    return struct.pack("<4sI", b"DATA", len(data)) + data + struct.pack("<4sI", b"DONE", 0)


LISTINGS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=6).map(tuple)
FAIL = b"open failed: No such file or directory"
TRANSFERS = (
    pieces(b"figures\n" * 500),
    pieces(b""),
    pieces(b"x" * 9000),
    struct.pack("<4sI", b"FAIL", len(FAIL)) + FAIL,
    struct.pack("<4sI", b"DATA", 65_537) + b"y" * 65_537,
    struct.pack("<4sI", b"DATA", 2**32 - 1) + b"y" * 100,
)


@st.composite
def folders(draw: st.DrawFn) -> tuple[bytes, bool, bytes]:
    """A listing, whether it is in the second form, and the transfers that follow; one of the two damaged or both."""
    v2 = draw(st.booleans())
    names = listed(draw(LISTINGS), v2=v2)
    files = b"".join(draw(st.lists(st.sampled_from(TRANSFERS), max_size=4)))
    what = draw(st.integers(0, 3))
    return draw(damaged(names)) if what & 1 else names, v2, draw(damaged(files)) if what & 2 else files


@given(folders())
@many(350)
def test_a_folder_that_is_listed_and_pulled(
    listener: socket.socket, tmp_path: Path, hostile: tuple[bytes, bool, bytes]
) -> None:
    said, v2, files = hostile
    place = tmp_path / secrets.token_hex(6) / "trial"
    place.mkdir(parents=True)
    with peer(listener, said + files) as stream, guarded(place):
        session = SyncSession(stream, "HOSTILE1", V2 if v2 else frozenset())
        try:
            entries = session.listing(PhonePath("/data/local/tmp/orch/out/t1"), soon())
            for entry in entries:
                assert entry.name not in ("", ".", "..")
                assert "/" not in entry.name
                assert "\0" not in entry.name
                assert len(os.fsencode(entry.name)) <= MAX_NAME_BYTES
            items = [PullItem(PhonePath("/data") / entry.name, place / entry.name, 8192) for entry in entries[:20]]
            pull_some(session, serial="HOSTILE1", items=items, ahead=64, deadline=soon())
        except RunnerError:
            pass
    assert all(path.is_file() and path.stat().st_size <= 8192 for path in place.iterdir())
    assert not list(place.glob(".part-*"))
    assert [path.name for path in place.parent.iterdir()] == ["trial"]


@given(st.booleans().flatmap(lambda v2: st.tuples(st.just(v2), damaged(stat_answers(v2)))))
@many(150)
def test_stat_answers(listener: socket.socket, hostile: tuple[bool, bytes]) -> None:
    v2, said = hostile
    with peer(listener, said) as stream, guarded():
        session = SyncSession(stream, "HOSTILE1", V2 if v2 else frozenset())
        try:
            found = session.stats([PhonePath("/a"), PhonePath("/b"), PhonePath("/c")], soon())
        except RunnerError:
            return
        assert len(found) == 3


def stat_answers(v2: bool) -> bytes:
    one = (
        struct.pack("<4sIQQIIIIQqqq", b"STA2", 0, 1, 2, 0o100644, 1, 0, 0, 4096, 1, 1, 1)
        if v2
        else struct.pack("<4sIII", b"STAT", 0o100644, 4096, 1)
    )
    return one * 3


@given(damaged(struct.pack("<4sI", b"OKAY", 0) + struct.pack("<4sI", b"FAIL", len(FAIL)) + FAIL))
@many(100)
def test_acknowledgements(listener: socket.socket, said: bytes) -> None:
    with peer(listener, said) as stream, guarded():
        session = SyncSession(stream, "HOSTILE1", V2)
        try:
            for _ in range(3):
                session.acknowledgement(soon())
        except (RunnerError, SyncFailed):
            return


DEVICES = (CORPUS / "phone_text" / "devices-l.txt").read_bytes()


@given(damaged(b"%04x" % len(DEVICES) + DEVICES))
@many(200)
def test_the_server_s_list(listener: socket.socket, said: bytes) -> None:
    with peer(listener, said) as stream, guarded():
        try:
            text = block(stream, "adb server", soon())
        except RunnerError:
            return
        for seen in parse_list(text.decode("utf-8", errors="replace")):
            assert seen.mend or seen.state == "device"
            assert not any(ord(letter) < 32 for letter in seen.serial + seen.state + seen.where + seen.mend)
            assert len(seen.serial) <= 300


STATUS = b"\x0a\x11usb_backend: NATIVE\x12\x0536.0.2\x18\x01\x22\x04\x08\x01\x10\x02"


@given(damaged(STATUS))
@many(100)
def test_the_server_s_status(said: bytes) -> None:
    with guarded():
        try:
            parse_status(said)
        except RunnerError:
            return


class Phone:
    """What a transport asks of its phone: no service is there."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def banner_properties(self) -> str:
        return "ro.product.name=x"

    def connecting(self) -> FaultPlan:
        return NO_FAULTS

    def start_service(self, name: str, stream: PhoneStream, link: Link) -> bool:
        self.asked.append(name)
        return name.startswith("shell")


class Host(asyncio.Transport):
    """The host's end of a virtual phone's transport, in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.sent_bytes = 0
        self.ended = False
        self.socket = socket.socket()

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self.socket if name == "socket" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent_bytes += len(data)

    def abort(self) -> None:
        self.ended = True


PACKETS = b"".join(
    [
        encode(Command.CNXN, 0x01000001, 1 << 20, b"host::features=shell_v2,cmd,stat_v2,delayed_ack"),
        encode(Command.AUTH, 2, 0, b"s" * 256),
        encode(Command.OPEN, 1, 0, b"shell,v2,raw:true\0"),
        encode(Command.WRTE, 1, 1, b"input" * 20),
        encode(Command.OKAY, 1, 1),
        encode(Command.CLSE, 1, 1),
    ]
)


@given(damaged(PACKETS), st.booleans(), st.integers(1, 200))
@many(300)
def test_packets_to_a_virtual_phone(tmp_path: Path, said: bytes, inside: bool, step: int) -> None:
    async def feed() -> None:
        phone, host = Phone(), Host()
        link = Link(phone, tmp_path / "no-key", lambda _link: None)
        link.connection_made(host)
        link._authenticated = inside  # who has the key may send anything, too
        with host.socket, guarded():
            for at in range(0, len(said), step):
                link.data_received(said[at : at + step])
            link.connection_lost(None)
        assert host.sent_bytes <= 100 * (1 + len(said) // 24)
        assert inside or not phone.asked

    asyncio.run(feed())
