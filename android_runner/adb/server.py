"""The adb server: which one, its requests, and how one is started when none runs.

A server that runs is used as it is and never killed, since other programs' phones hang on it. adbutils would start one
by itself, with whatever environment we have, whenever a connection fails: `_QuietConnection` takes that away.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from adbutils import AdbClient, AdbConnection

from android_runner.adb.translate import refusal, translated, words
from android_runner.adb.trusted import key_problems, program_problem
from android_runner.adb.wire import Stream
from android_runner.deadline import Deadline
from android_runner.errors import HostileAnswer, LinkLost, LinkRefused
from android_runner.host.listeners import exposed

DEFAULT_PORT = 5037
SERVER_VERSION = 41
"""Spoken by every adb since platform-tools 28 (`ADB_SERVER_VERSION`, adb.h)."""
FLOOR = (33, 0, 3)
"""First release without CVE-2022-20128 (pull traversal) and CVE-2022-3168 (device opens host sockets)."""
PINNED = {"ADB_LIBUSB": "0", "ADB_MDNS": "0", "ADB_REJECT_KILL_SERVER": "1"}
"""libusb loses phones (default up to 36.0.1), mDNS connects uninvited, a foreign `kill-server` ends all work."""
OURS = "ORCH_ADB_SERVER"
"""The mark in the environment of a server that this program started: only such a one may be ended by it."""
_MISLEADING = ("ADB_SERVER_SOCKET", "ANDROID_ADB_SERVER_ADDRESS", "ANDROID_ADB_SERVER_PORT", "ANDROID_SERIAL")
_MAX_BLOCK_BYTES = 0xFFFF
START_S = 20.0
"""What a server may take to start and answer."""
ANSWER_S = 10.0
"""What the server itself may take for an answer, where a caller gives no deadline."""
MAX_SERVICE_BYTES = 60_000
"""A service's name (a shell command included) must fit adb's four hex digits, with room for its prefix."""


class _QuietConnection(AdbConnection):
    """adbutils' connection, without its habits of starting a server and of losing a socket that got no connection."""

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        self._address = (host, port)
        self._timeout_s = timeout_s
        super().__init__(host, port)

    def _safe_connect(self) -> socket.socket:
        return socket.create_connection(self._address, timeout=self._timeout_s)


class _QuietClient(AdbClient):
    """adbutils' client on `_QuietConnection`."""

    def make_connection(self, timeout: float | None = None) -> AdbConnection:
        return _QuietConnection(self.host, self.port, timeout or ANSWER_S)


@dataclass(frozen=True, slots=True)
class AdbServer:
    """Where an adb server listens: always loopback, since it asks nobody who they are.

    `of` names the host whose server it is when that is another one, reached through a tunnel that ends here.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    of: str = ""

    def __post_init__(self) -> None:
        """Raise `LinkRefused` for what is not loopback."""
        host = "127.0.0.1" if self.host == "localhost" else self.host
        try:
            loopback = ipaddress.IPv4Address(host).is_loopback
        except ValueError:
            loopback = False
        if not loopback:
            raise LinkRefused(f"adb server {words(self.host)}: only loopback (127.0.0.1) is used")
        if not 0 < self.port < 65536:
            raise LinkRefused(f"adb server: {self.port} is no TCP port")

    @property
    def words(self) -> str:
        """Which one, for people: `adb server on port 5037`, `host b: adb server on port 5038`."""
        return f"{f'host {self.of}: ' if self.of else ''}adb server on port {self.port}"

    def request(self, service: str, deadline: Deadline, *, serial: str = "adb server") -> Stream:
        """Send one `host:` request and wait for OKAY; the stream stands behind it. The caller closes it."""
        deadline.check(f"{serial}: connect")
        with translated(
            serial, f"connect to the adb server on port {self.port}{f' (host {self.of})' if self.of else ''}"
        ):
            connection = _QuietClient(host=self.host, port=self.port).make_connection(deadline.remaining_s())
            stream = Stream(connection.conn, serial)
        try:
            _ask(stream, service, serial, deadline)
        except BaseException:
            stream.close()
            raise
        return stream

    def answer(self, service: str, deadline: Deadline, *, serial: str = "adb server") -> bytes:
        """The text that answers one `host:` request."""
        stream = self.request(service, deadline, serial=serial)
        try:
            return block(stream, serial, deadline)
        finally:
            stream.close()

    def open(self, serial: str, service: str, deadline: Deadline) -> Stream:
        """A service of the phone `serial` (`sync:`, `shell,v2,raw:…`). The caller closes the stream."""
        stream = self.request(f"host:tport:serial:{serial}", deadline, serial=serial)
        try:
            stream.exactly(8, deadline)  # the transport's number, little-endian
            _ask(stream, service, serial, deadline)
        except BaseException:
            stream.close()
            raise
        return stream


def _ask(stream: Stream, service: str, serial: str, deadline: Deadline) -> None:
    encoded = service.encode("utf-8", errors="surrogateescape")
    if len(encoded) > _MAX_BLOCK_BYTES:
        raise ValueError(f"{len(encoded)} bytes do not fit one adb request")
    stream.send(b"%04x" % len(encoded) + encoded, deadline)
    status = stream.exactly(4, deadline)
    if status == b"FAIL":
        raise refusal(serial, block(stream, serial, deadline))
    if status != b"OKAY":
        raise HostileAnswer(f"{serial}: the adb server answers {words(status)!r}, neither OKAY nor FAIL")


def block(stream: Stream, serial: str, deadline: Deadline) -> bytes:
    """One length-prefixed text of the adb server."""
    prefix = stream.exactly(4, deadline)
    if not re.fullmatch(rb"[0-9a-fA-F]{4}", prefix):
        raise HostileAnswer(f"{serial}: the adb server sends the length {words(prefix)!r}")
    return stream.exactly(int(prefix, 16), deadline)


def real_server(port: int | None = None, deadline: Deadline | None = None) -> AdbServer:
    """The server for real phones, on 5037 unless another port is given; started when none runs there.

    `deadline` is `START_S` from now unless given. Raises as `ensure_server`.
    """
    server = AdbServer(port=DEFAULT_PORT if port is None else port)
    ensure_server(server, deadline or Deadline.after(START_S))
    return server


def running(server: AdbServer, deadline: Deadline) -> bool:
    """Whether a server answers there. Raises `LinkRefused` for one of another protocol, or that others can reach."""
    try:
        version = server.answer("host:version", deadline)
    except LinkLost:
        return False
    if version.lower() != b"%04x" % SERVER_VERSION:
        raise LinkRefused(
            f"{server.words} speaks version {words(version)}, needed is {SERVER_VERSION:04x}: "
            "end it, or name another port"
        )
    if beyond := exposed(server.port):
        raise LinkRefused(
            f"{server.words} listens on {', '.join(beyond)}: whoever reaches it owns every phone "
            "here; end it and start it without -a, or name another port"
        )
    return True


def adb_binary(environ: Mapping[str, str] | None = None) -> Path:
    """The adb program that a server is started from.

    `ORCH_ADB` if set, else the one that adbutils brings, else `adb` on the path; none older than `FLOOR`. Raises
    `LinkRefused` saying what was found.
    """
    env = os.environ if environ is None else environ
    asked = env.get("ORCH_ADB")
    if asked:
        return _checked(Path(asked))
    bundled = Path(str(resources.files("adbutils.binaries"))) / "adb"
    if bundled.is_file() and os.access(bundled, os.X_OK):
        return bundled
    found = shutil.which("adb", path=env.get("PATH"))
    if found is None:
        raise LinkRefused("no adb program: install Android's platform-tools (33.0.3 or newer), or set ORCH_ADB")
    return _checked(Path(found))


def _checked(path: Path) -> Path:
    try:
        if problem := program_problem(path, os.geteuid()):
            raise LinkRefused(f"adb program {path}: {problem}")
        done = subprocess.run([path, "version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise LinkRefused(f"adb program {path}: {words(str(error))}") from error
    version = version_of(done.stdout)
    if version < FLOOR:
        said = ".".join(map(str, version)) if version else "of no known version"
        raise LinkRefused(f"adb program {path} is {said}, needed is {'.'.join(map(str, FLOOR))} or newer")
    return path


def version_of(output: bytes) -> tuple[int, ...]:
    """The platform-tools version in the output of `adb version`; empty when it names none."""
    found = re.search(rb"^Version (\d{1,6})\.(\d{1,6})\.(\d{1,6})", output, re.M)
    return tuple(int(part) for part in found.groups()) if found else ()


def server_environment(environ: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server that we start: the caller's without what would lead adb elsewhere, pinned."""
    kept = {key: value for key, value in environ.items() if key not in _MISLEADING}
    return {**kept, **PINNED, OURS: "1", **extra}


def ensure_server(server: AdbServer, deadline: Deadline, *, extra_env: Mapping[str, str] | None = None) -> bool:
    """See that a server answers; True when it had to be started (it then stays up).

    `extra_env` is for a server of its own (`HOME`, `ADB_USB=0`). Raises `LinkLost` with adb's words when none comes up,
    `LinkRefused` when others may use the keys that it would sign with.
    """
    if running(server, deadline):
        return False
    environment = server_environment(os.environ, extra_env or {})
    if problems := key_problems(environment, os.geteuid()):
        raise LinkRefused("; ".join(words(problem) for problem in problems))
    command = [str(adb_binary()), "-P", str(server.port), "start-server"]
    with tempfile.TemporaryFile() as said:  # a pipe would be held open by the server
        try:
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=environment,
                start_new_session=True,
                timeout=max(0.1, deadline.remaining_s()),
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise LinkLost(f"{server.words} does not start: {words(str(error))}") from error
        if not running(server, deadline):
            said.seek(0)
            raise LinkLost(f"{server.words} does not start: {words(said.read(4096))}")
    return True
