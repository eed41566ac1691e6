"""The adb server that belongs to a home's virtual phones: its own port, HOME and key; never the one on 5037."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from android_runner.errors import LinkError, LinkLost, LinkRefused
from android_runner.virtual.processes import exit_status, identify, spawn_detached
from android_runner.virtual.state import Places, ServerRecord, read_phone, read_server, write_record

_START_TIMEOUT_S = 15.0
_ANSWER_TIMEOUT_S = 20.0
_ATTEMPTS = 5
_EMULATOR_PORTS = range(5037, 5586)
"""adb's own port and those on which it looks for emulators."""


@dataclass(frozen=True, slots=True)
class AdbServer:
    """A running server. `env` is for an adb client that is to talk to it (it holds port and HOME)."""

    port: int
    env: Mapping[str, str]


def server_env(places: Places, port: int) -> dict[str, str]:
    """The environment of the server and its clients: no USB, no mDNS, no emulators, no kill from outside."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(places.adb_home.resolve()),
        "ANDROID_ADB_SERVER_PORT": str(port),
        "ADB_LIBUSB": "0",
        "ADB_MDNS": "0",
        "ADB_EMU": "0",
        "ADB_USB": "0",
        "ADB_REJECT_KILL_SERVER": "1",
        "ADB_BURST_MODE": "1",
        "ORCH_ADB_SERVER": "1",
    }


@contextmanager
def locked(places: Places) -> Iterator[int]:
    """Only one process at a time changes what runs in this home.

    Gives the lock's descriptor: who inherits that holds the lock, too, until it closes it.
    """
    places.base.mkdir(parents=True, exist_ok=True)
    fd = os.open(places.base / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        os.close(fd)


def living_server(places: Places) -> ServerRecord | None:
    """The record, if its process lives."""
    record = read_server(places)
    return record if record is not None and record.process.alive() else None


def start_server(places: Places, adb_path: Path) -> AdbServer:
    """The running server, or a new one, on its former port where that is free. Call it under `locked`."""
    before = read_server(places)
    if before is not None and before.process.alive():
        if _comes_up(places, before):  # who started it may have died before it answered
            return AdbServer(before.port, server_env(places, before.port))
        before.process.end()
    places.adb_home.mkdir(parents=True, exist_ok=True)
    port = before.port if before is not None else _free_port()
    for _attempt in range(_ATTEMPTS):
        record = _spawn(places, adb_path, port)
        if record is not None and _comes_up(places, record):
            return AdbServer(port, server_env(places, port))
        if record is not None:
            record.process.end()
        port = _free_port()
    raise LinkLost(f"{adb_path}: no adb server could be started; see {places.base / 'server.log'}")


def stop_server(places: Places) -> None:
    """End the server, if it lives."""
    record = living_server(places)
    if record is not None:
        record.process.end()


def stop_server_if_unused(places: Places) -> None:
    """End the server when no phone of this home lives. Call it under `locked`."""
    if not places.phones.is_dir():
        stop_server(places)
        return
    for folder in places.phones.iterdir():
        record = read_phone(folder)
        if record is not None and record.pid != os.getpid() and record.daemon.alive():
            return
    stop_server(places)


def ask(port: int, request: str) -> str:
    """One `host:` request whose answer is OKAY and a text; raise `LinkRefused` with the server's words."""
    try:
        with socket.create_connection(("127.0.0.1", port), _ANSWER_TIMEOUT_S) as sock:
            data = request.encode()
            sock.sendall(b"%04x%b" % (len(data), data))
            status = _exactly(sock, 4)
            text = _exactly(sock, int(_exactly(sock, 4), 16)).decode("utf-8", errors="replace")
    except (OSError, ValueError) as error:
        raise LinkLost(f"adb server on port {port}: {request}: {error}") from error
    if status != b"OKAY":
        raise LinkRefused(f"adb server on port {port}: {request}: {text}")
    return text


def connect_phone(port: int, phone_port: int) -> None:
    """Let the server connect to a phone; raise `LinkError` when it cannot.

    What the server still knows of an earlier life on that port goes first: it would answer "already connected".
    """
    if f"127.0.0.1:{phone_port}\t" in ask(port, "host:devices"):
        disconnect_phone(port, phone_port)
    answer = ask(port, f"host:connect:127.0.0.1:{phone_port}")
    if not answer.startswith(("connected to", "already connected to", "failed to authenticate to")):
        raise LinkLost(answer)


def listed_ports(port: int) -> set[int]:
    """The phones' ports that the server knows, in whatever state. Raises `LinkError`."""
    serials = (line.partition("\t")[0] for line in ask(port, "host:devices").splitlines())
    return {int(one.rpartition(":")[2]) for one in serials if one.rpartition(":")[2].isdigit()}


def disconnect_phone(port: int, phone_port: int) -> None:
    """Let the server forget a phone."""
    try:
        ask(port, f"host:disconnect:127.0.0.1:{phone_port}")
    except LinkError:
        return


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = sock.recv(count - len(data))
        if not part:
            raise ConnectionResetError("closed")
        data += part
    return data


def _spawn(places: Places, adb_path: Path, port: int) -> ServerRecord | None:
    """Start a server and write down at once which it is: should we die before it answers, it is found."""
    with open(places.base / "server.log", "ab") as log:
        argv = [str(adb_path.resolve()), "-P", str(port), "nodaemon", "server"]
        pid = spawn_detached(argv, server_env(places, port), log.fileno(), log.fileno())
    process = identify(pid)
    if process is None:
        os.waitpid(pid, 0)
        return None
    record = ServerRecord(port=port, pid=pid, start_ticks=process.start_ticks)
    write_record(places.server, record)
    return record


def _comes_up(places: Places, record: ServerRecord) -> bool:
    """Wait until a server answers, and has made its key; False when it ended, or does not."""
    until = time.monotonic() + _START_TIMEOUT_S
    while record.process.alive() and time.monotonic() < until:
        with suppress(LinkLost):
            ask(record.port, "host:version")
            if places.key_file.exists():
                return True
        time.sleep(0.005)
    with suppress(ChildProcessError):
        exit_status(record.pid)
    return False


def _free_port() -> int:
    while True:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            port = int(sock.getsockname()[1])
        if port not in _EMULATOR_PORTS:
            return port
