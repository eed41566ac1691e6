"""The shell half of the port: what a phone can say wrong, and what a good one says in any pieces."""

from __future__ import annotations

import os
import struct
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.adb.shell import Packets, marked, new_marker, stdin_packets
from android_runner.deadline import Deadline
from android_runner.errors import DeadlinePassed, HostileAnswer, LinkLost, LinkRefused
from tests.unit.adb.scripted import SERIAL, ScriptedPhone, Wire, packet


def soon() -> Deadline:
    return Deadline.after(20)


def says(*packets: bytes):
    def script(wire: Wire, service: str) -> None:
        wire.give(b"OKAY" + b"".join(packets))

    return script


@pytest.mark.parametrize("features", ["shell_v2", ""])
@pytest.mark.parametrize("shell", [("sh", "-c"), ("mksh", "-c"), ("busybox", "sh", "-c")])
def test_exit_code_streams_and_stdin(phone: ScriptedPhone, features: str, shell: tuple[str, ...]) -> None:
    phone.features, phone.shell = features, shell
    result = phone.device().shell("cat; echo bad >&2; exit 7", deadline=soon(), stdin=b"\xff\x00 in")
    assert result.exit_code == 7
    if features:
        assert (result.stdout, result.stderr) == (b"\xff\x00 in", b"bad\n")
    else:
        assert result.stdout == b"\xff\x00 inbad\n"
    assert result.duration_s > 0


@pytest.mark.parametrize("command", ["echo x # comment", "echo x &", "echo 'x'", 'echo "x', "exit 3", "echo $(echo x)"])
def test_v1_marker_survives_any_command(phone: ScriptedPhone, command: str) -> None:
    phone.features = ""
    assert phone.device().shell(command, deadline=soon()).exit_code == {"exit 3": 3, 'echo "x': 2}.get(command, 0)


def test_v1_output_without_line_end_is_kept_as_it_is(phone: ScriptedPhone) -> None:
    phone.features = ""
    assert phone.device().shell("printf 'a\\n\\nb'", deadline=soon()).stdout == b"a\n\nb"
    assert phone.device().shell("printf 'a\\n'", deadline=soon()).stdout == b"a\n"


@pytest.mark.parametrize("ending", [b"", packet(1, b"half")[:6], packet(1, b"whole")])
def test_end_without_exit_packet_is_lost(phone: ScriptedPhone, ending: bytes) -> None:
    phone.scripts["shell,v2"] = says(packet(1, b"x"), ending)
    with pytest.raises(LinkLost):
        phone.device().shell("true", deadline=soon())


@pytest.mark.parametrize(
    "wrong",
    [packet(9, b"x"), packet(3, b""), packet(3, b"\0\0"), packet(0, b"x"), struct.pack("<BI", 1, 0xFFFFFFFF)],
)
def test_packets_outside_the_protocol_are_hostile(phone: ScriptedPhone, wrong: bytes) -> None:
    phone.scripts["shell,v2"] = says(wrong)
    with pytest.raises(HostileAnswer):
        phone.device().shell("true", deadline=soon())


@pytest.mark.parametrize("features", ["shell_v2", ""])
def test_endless_output_ends(phone: ScriptedPhone, features: str) -> None:
    phone.features = features
    ended = threading.Event()

    def flood(wire: Wire, service: str) -> None:
        wire.give(b"OKAY")
        try:
            while True:
                wire.give(packet(2, b"y" * 1000) if features else b"y" * 1000)
        except OSError:
            ended.set()
            raise

    phone.scripts["shell"] = flood
    with pytest.raises(HostileAnswer, match="more than it may"):
        phone.device().shell("yes", deadline=soon(), max_output_bytes=100_000)
    assert ended.wait(10), "the stream was not closed"


def test_output_up_to_the_bound_is_taken(phone: ScriptedPhone) -> None:
    command = "head -c 1000 /dev/zero; head -c 24 /dev/zero >&2"
    assert len(phone.device().shell(command, deadline=soon(), max_output_bytes=1024).stdout) == 1000
    with pytest.raises(HostileAnswer):
        phone.device().shell(command, deadline=soon(), max_output_bytes=1023)


@pytest.mark.parametrize("features", ["shell_v2", ""])
@pytest.mark.parametrize("answer", [b"", b"OKAY", b"OK"])
def test_silence_ends_at_the_deadline_and_closes(phone: ScriptedPhone, features: str, answer: bytes) -> None:
    phone.features = features
    closed = threading.Event()

    def silence(wire: Wire, service: str) -> None:
        wire.give(answer)
        while wire.socket.recv(4096):
            pass
        closed.set()

    phone.scripts["shell"] = silence
    with pytest.raises(DeadlinePassed, match="deadline"):
        phone.device().shell("sleep 9", deadline=Deadline.after(0.3))
    assert closed.wait(10), "the stream was not closed"


def test_a_drip_does_not_extend_the_deadline(phone: ScriptedPhone) -> None:
    def drip(wire: Wire, service: str) -> None:
        wire.give(b"OKAY")
        while True:
            wire.give(packet(1, b"."))
            time.sleep(0.02)

    phone.scripts["shell"] = drip
    with pytest.raises(DeadlinePassed):
        phone.device().shell("drip", deadline=Deadline.after(0.4))


def test_a_passed_deadline_asks_nothing(phone: ScriptedPhone) -> None:
    with pytest.raises(DeadlinePassed):
        phone.device().shell("true", deadline=Deadline.after(-1))
    assert phone.seen == []


@pytest.mark.parametrize("code", [b"x", b"999", b"-1", b"", b"256"])
def test_v1_marker_with_a_wrong_code_is_hostile(phone: ScriptedPhone, code: bytes) -> None:
    phone.features = ""

    def lie(wire: Wire, service: str) -> None:
        marker = service.rpartition("echo ")[2].removesuffix("$r")
        wire.give(b"OKAY\n" + marker.encode() + code + b"\n")

    phone.scripts["shell:"] = lie
    with pytest.raises(HostileAnswer):
        phone.device().shell("true", deadline=soon())


def test_v1_wrong_marker_is_lost(phone: ScriptedPhone) -> None:
    phone.features = ""
    phone.scripts["shell:"] = says(b"\nend-000000000000000000000000-0\n")
    with pytest.raises(LinkLost):
        phone.device().shell("true", deadline=soon())


def test_large_input_and_large_output_do_not_wait_for_each_other(phone: ScriptedPhone) -> None:
    data = os.urandom(4_000_000)

    def echo(wire: Wire, service: str) -> None:
        wire.give(b"OKAY")
        while True:
            ident, length = struct.unpack("<BI", wire.take(5))
            piece = wire.take(length)
            if ident == 4:
                wire.give(packet(3, b"\0"))
                return
            wire.give(packet(1, piece))

    phone.scripts["shell"] = echo
    assert phone.device().shell("cat", deadline=soon(), stdin=data).stdout == data


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set", LinkRefused),
        (b"device still authorizing", LinkRefused),
        (b"more than one device with serial SCRIPTED1", LinkRefused),
        (b"insufficient permissions for device", LinkRefused),
        (b"device offline", LinkLost),
        (b"device 'SCRIPTED1' not found", LinkLost),
        (b"closed", LinkLost),
        (b"\x1b[31m\xff", LinkLost),
    ],
)
def test_refusals_of_the_server(phone: ScriptedPhone, text: bytes, error: type[Exception]) -> None:
    phone.scripts["host:tport"] = lambda wire, service: wire.give(b"FAIL" + b"%04x" % len(text) + text)
    with pytest.raises(error, match="SCRIPTED1: the adb server says") as caught:
        phone.device().shell("true", deadline=soon())
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400", b"FAILzzzz", b"OKAYzzzz"])
def test_something_else_on_the_port(phone: ScriptedPhone, answer: bytes) -> None:
    phone.scripts["host-serial"] = lambda wire, service: wire.give(answer)
    with pytest.raises(HostileAnswer):
        phone.device().shell("true", deadline=soon())


def test_no_server_is_lost_and_none_is_started(phone: ScriptedPhone) -> None:
    device = phone.device()
    phone.close()
    with pytest.raises(LinkLost, match=str(phone.server.port)):
        device.shell("true", deadline=soon())


def test_commands_too_long_or_impossible_are_refused_here(phone: ScriptedPhone) -> None:
    for command in ("x" * 60_001, "a\0b"):
        with pytest.raises(ValueError, match="does not fit"):
            phone.device().shell(command, deadline=soon())
    assert len(phone.device().shell(f"echo {'é' * 20_000}", deadline=soon()).stdout) == 40_001


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=50)), max_size=20), st.data())
def test_packets_in_pieces_of_any_size(parts: list[tuple[int, bytes]], data: st.DataObject) -> None:
    whole = b"".join(packet(ident, text) for ident, text in parts) + packet(3, b"\x07") + b"behind"
    packets = Packets(SERIAL, 10_000)
    position = 0
    while position < len(whole):
        step = data.draw(st.integers(1, 40))
        packets.feed(whole[position : position + step])
        position += step
    assert packets.exit_code == 7
    assert packets.stdout == b"".join(text for ident, text in parts if ident == 1)
    assert packets.stderr == b"".join(text for ident, text in parts if ident == 2)


@given(st.binary(max_size=300), st.integers(1, 100))
def test_any_bytes_end_in_an_answer_or_an_error_of_ours(noise: bytes, step: int) -> None:
    packets = Packets(SERIAL, 100)
    try:
        for start in range(0, len(noise), step):
            packets.feed(noise[start : start + step])
    except HostileAnswer:
        pass
    assert len(packets.stdout) + len(packets.stderr) <= 100


def test_stdin_is_closed_behind_its_data() -> None:
    assert stdin_packets(b"") == packet(4, b"")
    assert stdin_packets(b"a" * 40_000) == packet(0, b"a" * 32_768) + packet(0, b"a" * 7_232) + packet(4, b"")


def test_markers_differ() -> None:
    assert new_marker() != new_marker()
    assert "head -c" not in marked("x", "m", 0)
