"""Who may come in: the phones' own adb server, and nobody else."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from android_runner.virtual.packets import HEADER, AuthKind, Command
from android_runner.virtual.server import ask, living_server, locked, start_server, stop_server
from android_runner.virtual.state import Places
from tests.contract.adb_host import BANNER, RawHost, RsaKey
from tests.virtual_lab import VirtualLab, adb_path


@pytest.fixture
def port(lab: VirtualLab) -> int:
    (phone,) = lab.up("pixel-8")
    return int(phone.serial.rpartition(":")[2])


@pytest.fixture
def key(lab: VirtualLab, port: int) -> RsaKey:
    return RsaKey(Places(lab.home.resolve()).adb_home / ".android" / "adbkey")


@pytest.fixture
def other_key(tmp_path: Path) -> RsaKey:
    path = tmp_path / "otherkey"
    subprocess.run([adb_path(), "keygen", path], check=True, capture_output=True, timeout=30)
    return RsaKey(path)


def test_the_right_key_comes_in(port: int, key: RsaKey) -> None:
    with RawHost(port) as host:
        banner = host.connect(key)
    assert banner.startswith(b"device::ro.product.name=shiba;ro.product.model=Pixel 8;")
    assert b"features=shell_v2,stat_v2,ls_v2,sendrecv_v2,delayed_ack" in banner


def test_a_wrong_key_gets_another_token_each_time(port: int, other_key: RsaKey) -> None:
    with RawHost(port) as host:
        token = host.challenge()
        for _ in range(3):
            host.send(Command.AUTH, AuthKind.SIGNATURE, 0, other_key.sign(token))
            header, fresh = host.receive()
            assert (header.command, header.arg0) == (Command.AUTH, AuthKind.TOKEN)
            assert fresh != token
            token = fresh
        host.send(Command.AUTH, AuthKind.PUBLIC_KEY, 0, b"QAAAA some@one\0")
        host.sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            host.receive()


def test_a_signature_is_good_once(port: int, key: RsaKey) -> None:
    with RawHost(port) as first:
        token = first.challenge()
        signature = key.sign(token)
        first.send(Command.AUTH, AuthKind.SIGNATURE, 0, signature)
        assert first.receive()[0].command is Command.CNXN
    with RawHost(port) as second:
        second.challenge()
        second.send(Command.AUTH, AuthKind.SIGNATURE, 0, signature)
        assert second.receive()[0].command is Command.AUTH


@pytest.mark.parametrize("size", [0, 1, 255, 257, 5000])
def test_a_signature_of_wrong_length(port: int, size: int) -> None:
    with RawHost(port) as host:
        host.challenge()
        host.send(Command.AUTH, AuthKind.SIGNATURE, 0, b"\1" * size)
        assert host.receive()[0].command is Command.AUTH


def test_a_signature_before_any_token_is_not_looked_at(port: int, key: RsaKey) -> None:
    with RawHost(port) as host:
        host.send(Command.AUTH, AuthKind.SIGNATURE, 0, key.sign(b"\0" * 20))
        host.sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            host.receive()


@pytest.mark.parametrize("command", [Command.OPEN, Command.WRTE, Command.OKAY, Command.CLSE])
@pytest.mark.parametrize("after_cnxn", [True, False])
def test_nothing_else_before_the_match(port: int, command: Command, after_cnxn: bool) -> None:
    with RawHost(port) as host:
        if after_cnxn:
            host.challenge()
        host.send(command, 1, 1, b"shell:id\0")
        assert host.closed()


def test_a_new_cnxn_takes_the_right_away(port: int, key: RsaKey) -> None:
    with RawHost(port) as host:
        host.connect(key)
        host.challenge()
        host.send(Command.OPEN, 1, 0, b"shell:id\0")
        assert host.closed()


@pytest.mark.parametrize(
    "garbage",
    [b"\xff" * HEADER.size, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", HEADER.pack(Command.CNXN, 0, 0, 2**31, 0, 0)],
)
def test_garbage_ends_the_connection_and_the_phone_lives_on(port: int, key: RsaKey, garbage: bytes) -> None:
    with RawHost(port) as host:
        host.sock.sendall(garbage)
        assert host.closed()
    with RawHost(port) as host:
        host.connect(key)


def test_packets_in_single_bytes(port: int, key: RsaKey) -> None:
    from android_runner.virtual.packets import encode

    with RawHost(port) as host:
        for byte in encode(Command.CNXN, 0x01000001, 1024 * 1024, BANNER):
            host.sock.sendall(bytes([byte]))
        _header, token = host.receive()
        for byte in encode(Command.AUTH, AuthKind.SIGNATURE, 0, key.sign(token)):
            host.sock.sendall(bytes([byte]))
        assert host.receive()[0].command is Command.CNXN


def test_another_adb_server_stays_unauthorized(lab: VirtualLab, port: int, tmp_path: Path) -> None:
    places = Places(tmp_path / "stranger")
    with locked(places):
        stranger = start_server(places, adb_path())
    try:
        assert ask(stranger.port, f"host:connect:127.0.0.1:{port}").startswith("failed to authenticate")
        assert ask(stranger.port, "host:devices").split() == [f"127.0.0.1:{port}", "unauthorized"]
    finally:
        stop_server(places)
    assert living_server(places) is None
    assert lab.adb("-s", f"127.0.0.1:{port}", "shell", "echo", "in").stdout == b"in\n"


def test_listens_on_the_loopback_only(port: int) -> None:
    own = {line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]}
    assert f"0100007F:{port:04X}" in own
    assert f"00000000:{port:04X}" not in own
    # Nothing on IPv6 either: the same port there is free.
    with socket.socket(socket.AF_INET6) as sock:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(("::1", port))
