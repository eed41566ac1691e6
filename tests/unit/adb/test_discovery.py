"""Finding phones: what the server lists, what it says no to, which server it is."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.adb import server as server_module
from android_runner.adb.discovery import SeenPhone, attached, connect, open_device, parse_list, track
from android_runner.adb.server import (
    AdbServer,
    adb_binary,
    ensure_server,
    running,
    server_environment,
    version_of,
)
from android_runner.deadline import Deadline
from android_runner.errors import HostileAnswer, LinkLost, LinkRefused
from tests.unit.adb.scripted import SERIAL, ScriptedPhone, Wire

LIST = (Path(__file__).parents[2] / "corpus" / "phone_text" / "devices-l.txt").read_text()


def soon() -> Deadline:
    return Deadline.after(20)


def by_where(text: str) -> dict[str, SeenPhone]:
    return {seen.where: seen for seen in parse_list(text)}


def test_every_listed_state() -> None:
    seen = by_where(LIST)
    assert len(parse_list(LIST)) == 11
    assert [one.serial for one in parse_list(LIST) if one.usable] == ["R58N30ABCDE", "127.0.0.1:40321"]
    assert seen["usb:1-1.3"] == SeenPhone("R58N30ABCDE", "device", 1, "usb:1-1.3", "")  # type: ignore[arg-type]
    assert "accept" in seen["usb:2-7"].mend
    assert "cable" in seen["usb:1-1.4"].mend
    assert (seen["usb:1-2"].state, "serial" in seen["usb:1-2"].mend) == ("no permissions", True)
    assert seen["usb:1-5"].serial == "(no serial number)"
    assert (seen["tcp"].state, seen["tcp"].transport_id) == ("device", 6)
    assert "recovery" in seen["usb:3-1"].mend
    assert seen["usb:3-2"].mend == seen["usb:3-3"].mend == "two phones have this serial: unplug one"
    assert "few seconds" in seen["usb:3-4"].mend
    assert "hibernating" in seen["usb:3-5"].mend


def test_udev_mend_is_named() -> None:
    (seen,) = parse_list("ABCD no permissions (missing udev rules?); see [http://x] usb:1-2 transport_id:4\n")
    assert "udev" in seen.mend
    assert seen.where == "usb:1-2"


@given(st.text(max_size=300))
def test_any_list_is_read(noise: str) -> None:
    for seen in parse_list(noise):
        assert seen.mend or seen.state == "device"
        assert not any(ord(c) < 32 for c in seen.serial + seen.state + seen.where + seen.mend)


def test_attached_and_open(phone: ScriptedPhone) -> None:
    (seen,) = attached(phone.server)
    assert (seen.serial, seen.usable) == (SERIAL, True)
    assert open_device(phone.server, SERIAL).shell("echo x", deadline=soon()).text() == "x\n"


@pytest.mark.parametrize("state", ["unauthorized", "offline", "recovery", "bootloader", "authorizing"])
def test_unusable_phones_are_refused_with_their_mend(phone: ScriptedPhone, state: str) -> None:
    phone.devices = f"{SERIAL} {state} usb:1-1 transport_id:3\n"
    with pytest.raises(LinkRefused, match=f"is {state}: "):
        open_device(phone.server, SERIAL)


def test_twins_are_refused(phone: ScriptedPhone) -> None:
    phone.devices = f"{SERIAL} device usb:1-1 transport_id:3\n{SERIAL} device usb:1-2 transport_id:4\n"
    with pytest.raises(LinkRefused, match="two phones"):
        open_device(phone.server, SERIAL)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("connected to 127.0.0.1:5555", None),
        ("already connected to 127.0.0.1:5555", None),
        ("failed to connect to '127.0.0.1:5555': Connection refused", LinkLost),
        ("unable to connect to 127.0.0.1:5555", LinkLost),
        ("failed to authenticate to 127.0.0.1:5555", LinkRefused),
        ("", LinkLost),
    ],
)
def test_connect_reads_the_text_since_the_status_lies(
    phone: ScriptedPhone, said: str, error: type[Exception] | None
) -> None:
    phone.scripts["host:connect:127.0.0.1:5555"] = lambda wire, service: wire.give(
        b"OKAY%04x" % len(said) + said.encode()
    )
    if error is None:
        assert connect(phone.server, "127.0.0.1:5555", soon()) == "127.0.0.1:5555"
    else:
        with pytest.raises(error):
            connect(phone.server, "127.0.0.1:5555", soon())


@pytest.mark.parametrize("address", ["", "nowhere", "a b:5", "x:999999", "h:5;host:kill", "[::1]:5"])
def test_addresses_that_are_none(phone: ScriptedPhone, address: str) -> None:
    with pytest.raises(LinkRefused):
        connect(phone.server, address, soon())
    assert phone.seen == []


def test_track_tells_changes_and_stops(phone: ScriptedPhone) -> None:
    lists: list[list[SeenPhone]] = []
    stop = threading.Event()

    def changes(wire: Wire, service: str) -> None:
        wire.give(b"OKAY")
        for text in (b"", b"A device usb:1 transport_id:1\n", b"A offline usb:1 transport_id:1\n"):
            wire.give(b"%04x" % len(text) + text)
        stop.wait(10)

    def take(phones: list[SeenPhone]) -> None:
        lists.append(phones)
        if len(lists) == 3:
            stop.set()

    phone.scripts["host:track-devices-l"] = changes
    track(phone.server, take, stop, soon())
    assert [[one.state for one in phones] for phones in lists] == [[], ["device"], ["offline"]]


def test_track_ends_with_the_server(phone: ScriptedPhone) -> None:
    phone.scripts["host:track-devices-l"] = lambda wire, service: wire.give(b"OKAY0000")
    with pytest.raises(LinkLost):
        track(phone.server, lambda phones: None, threading.Event(), soon())


@pytest.mark.parametrize("host", ["192.168.1.2", "0.0.0.0", "example.org", "::", "", "127.0.0.1.evil"])
def test_only_loopback(host: str) -> None:
    with pytest.raises(LinkRefused, match="loopback"):
        AdbServer(host=host)


@pytest.mark.parametrize("port", [0, -1, 65_536])
def test_ports_that_are_none(port: int) -> None:
    with pytest.raises(LinkRefused):
        AdbServer(port=port)


def test_a_running_server_is_used_as_it_is(phone: ScriptedPhone) -> None:
    assert ensure_server(phone.server, soon()) is False
    assert phone.seen == ["host:version"]


def test_a_server_of_another_protocol_is_refused(phone: ScriptedPhone) -> None:
    phone.scripts["host:version"] = lambda wire, service: wire.give(b"OKAY00040028")
    with pytest.raises(LinkRefused, match="0028"):
        ensure_server(phone.server, soon())
    phone.scripts["host:version"] = lambda wire, service: wire.give(b"HTTP/1.1 400 Bad Request")
    with pytest.raises(HostileAnswer):
        ensure_server(phone.server, soon())


def test_a_server_is_started_once_and_refuses_to_be_killed(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = AdbServer(port=port)
    assert not running(server, soon())
    extra = {"HOME": str(tmp_path), "ADB_USB": "0", "ADB_EMU": "0"}
    assert ensure_server(server, soon(), extra_env=extra) is True
    try:
        assert running(server, soon())
        assert ensure_server(server, soon(), extra_env=extra) is False
        assert attached(server) == []
        with contextlib.suppress(LinkLost, LinkRefused, HostileAnswer):
            server.answer("host:kill", Deadline.after(1))
        assert running(server, soon())
    finally:
        end_listener(port)


def end_listener(port: int) -> None:
    """End the server that listens on `port`, found by its socket: it is the one this test started."""
    import signal

    wanted = f"0100007F:{port:04X}"
    inodes = {
        fields[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if (fields := line.split())[1] == wanted and fields[3] == "0A"
    }
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = [os.readlink(entry) for entry in (process / "fd").iterdir()]
        except OSError:
            continue
        if any(link == f"socket:[{inode}]" for link in links for inode in inodes):
            os.kill(int(process.name), signal.SIGTERM)


def program(folder: Path, version: str, mode: int = 0o755) -> Path:
    path = folder / "adb"
    path.write_text(f"#!/bin/sh\necho 'Android Debug Bridge version 1.0.41'\necho 'Version {version}'\n")
    path.chmod(mode)
    return path


def test_the_program_that_is_asked_for(tmp_path: Path) -> None:
    path = program(tmp_path, "33.0.3-8952118")
    assert adb_binary({"ORCH_ADB": str(path)}) == path


@pytest.mark.parametrize("version", ["33.0.2-1", "29.0.6-debian", "1.2", ""])
def test_programs_with_known_holes_are_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(LinkRefused, match=r"33\.0\.3"):
        adb_binary({"ORCH_ADB": str(program(tmp_path, version))})


def test_programs_that_anybody_may_change_or_nobody_can_run(tmp_path: Path) -> None:
    with pytest.raises(LinkRefused, match="overwrite"):
        adb_binary({"ORCH_ADB": str(program(tmp_path, "36.0.0-1", 0o777))})
    for path in (program(tmp_path, "36.0.0-1", 0o644), tmp_path / "none", tmp_path):
        with pytest.raises(LinkRefused):
            adb_binary({"ORCH_ADB": str(path)})


def test_the_program_that_comes_along(tmp_path: Path) -> None:
    assert adb_binary({}).name == "adb"
    assert adb_binary({"PATH": str(tmp_path)}).parent.name == "binaries"


def test_versions() -> None:
    assert version_of(b"Android Debug Bridge version 1.0.41\nVersion 36.0.0-13206524\n") == (36, 0, 0)
    assert version_of(b"Android Debug Bridge version 1.0.41\n") == ()


def test_the_environment_of_our_server() -> None:
    environ = {"PATH": "/bin", "ADB_LIBUSB": "1", "ANDROID_ADB_SERVER_PORT": "1", "ADB_SERVER_SOCKET": "x"}
    made = server_environment(environ, {"HOME": "/h"})
    assert made == {"PATH": "/bin", "HOME": "/h", **server_module.PINNED, server_module.OURS: "1"}
    assert (made["ADB_REJECT_KILL_SERVER"], made["ADB_MDNS"], made["ADB_LIBUSB"]) == ("1", "0", "0")
