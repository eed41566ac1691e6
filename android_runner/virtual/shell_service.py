"""`shell:` v1, `shell,v2…:` and `exec:`: a command in the phone's shell, its streams carried as adbd carries them.

A v2 packet is u8 id, u32 length, data; ids: 0 stdin, 1 stdout, 2 stderr, 3 exit code (one byte), 4 close stdin,
5 window size. As in adbd, stdin and stdout of a raw command are one socket, the stream lasts until both outputs are at
their end (a child left behind can hold it), and a hang-up sends SIGHUP to the shell alone. Source: AOSP
`daemon/shell_service.cpp`, `shell_protocol.h`.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from android_runner.virtual.faults import DropKind, ShellExit
from android_runner.virtual.session import Session
from android_runner.virtual.stream import Stream, StreamClosed, StreamReader

_PACKET = struct.Struct("<BI")
STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN, WINDOW_SIZE = range(6)
_READ_BYTES = 256 * 1024
_MAX_PACKET_BYTES = 1024 * 1024
_HOLD_S = 0.0015
"""How long output waits for the command's end, so that last output and exit code leave in one packet."""


@dataclass(frozen=True, slots=True)
class ShellRequest:
    """What a service name asks for."""

    command: str
    v2: bool
    pty: bool
    term: str


@dataclass(frozen=True, slots=True)
class Spawn:
    """How this phone starts a shell.

    `nested`: the shell is the child of the process that is started. `pty_prefix` gives it its terminal.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    nested: bool
    pty_prefix: Sequence[str] = ()


def parse_request(service: str) -> ShellRequest | None:
    """Read `shell:…`, `shell,v2,TERM=…,raw:…` or `exec:…`; None for any other service."""
    head, colon, command = service.partition(":")
    kind, *options = head.split(",")
    if not colon or kind not in ("shell", "exec"):
        return None
    term = next((option[5:] for option in options if option.startswith("TERM=")), "dumb")
    wants_pty = kind == "shell" and ("pty" in options or (not command and "raw" not in options))
    return ShellRequest(command, v2="v2" in options, pty=wants_pty, term=term)


class ShellService:
    """One command, from its start to its exit code."""

    def __init__(self, session: Session, request: ShellRequest, spawn: Spawn) -> None:
        self._session = session
        self._stream: Stream = session.stream
        self._request = request
        self._spawn = spawn
        self._output = _Output()
        self._stdin_fd: int | None = None
        self._sockets: list[socket.socket] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._tail = bytearray()

    async def run(self) -> None:
        """Run the command; return when its end has been told, or raise `StreamClosed`."""
        if self._session.plan.endless_output:
            await self._endless()
        process = self._process = self._start()
        self._stream.on_close = self._hang_up
        feeder = asyncio.ensure_future(self._feed_stdin())
        try:
            await self._pump()
            code = await _exit_code(process)
            await self._send_end(code)
        finally:
            self._stream.on_close = None
            feeder.cancel()
            await asyncio.wait([feeder])
            self._close()
            if process.returncode is None:
                await _exit_code(process)

    # --- start and end ---------------------------------------------------------------------------------------

    def _start(self) -> subprocess.Popen[bytes]:
        argv = [*self._spawn.argv, *(["-c", self._request.command] if self._request.command else [])]
        env = {**self._spawn.env, "TERM": self._request.term}
        if self._request.pty:
            ours, theirs = pty.openpty()
            child = (theirs, theirs, theirs)
            argv = [*self._spawn.pty_prefix, *argv]
            os.set_blocking(ours, False)
            self._stdin_fd = ours
            self._output.watch(ours, STDOUT)
            close = [theirs]
        else:
            near, far = socket.socketpair()
            near.setblocking(False)
            self._sockets = [near]
            self._stdin_fd = near.fileno()
            self._output.watch(near.fileno(), STDOUT)
            error_fd, close = far.fileno(), []
            if self._request.v2:
                near_error, far_error = socket.socketpair()
                near_error.setblocking(False)
                self._sockets.append(near_error)
                self._output.watch(near_error.fileno(), STDERR)
                error_fd = far_error.detach()
                close = [error_fd]
            child = (far.fileno(), far.fileno(), error_fd)
            close.append(far.detach())
        try:
            return subprocess.Popen(
                argv, env=env, cwd=self._spawn.cwd, stdin=child[0], stdout=child[1], stderr=child[2],
                start_new_session=not self._request.pty,
            )  # fmt: skip
        finally:
            for fd in close:
                os.close(fd)

    def _hang_up(self) -> None:
        process = self._process
        if process is not None and process.returncode is None and self._request.v2:
            _signal_shell(process.pid, nested=self._spawn.nested)
        self._output.abandon()

    def _close(self) -> None:
        self._output.abandon()
        if self._request.pty and self._stdin_fd is not None:
            os.close(self._stdin_fd)
        self._stdin_fd = None
        for sock in self._sockets:
            sock.close()

    # --- output ----------------------------------------------------------------------------------------------

    async def _pump(self) -> None:
        while True:
            data = await self._output.next(self._request.v2)
            if self._stream.is_closed:
                raise StreamClosed
            if self._output.at_end:
                self._tail = data
                return
            await self._send(data)

    async def _send(self, data: bytes | bytearray) -> None:
        allowed = self._session.allowance(DropKind.SHELL, len(data))
        await self._stream.send(memoryview(data)[:allowed])
        self._session.passed(DropKind.SHELL, allowed, len(data))

    async def _send_end(self, code: int) -> None:
        data = bytearray(self._tail)
        fault = self._session.plan.shell_exit
        if self._request.v2 and fault is not ShellExit.MISSING:
            shown = (code + 1) % 256 if fault is ShellExit.WRONG else code
            data += _PACKET.pack(EXIT, 1) + bytes([shown])
        if data:
            await self._send(data)

    async def _endless(self) -> None:
        block = b"y\n" * 32768
        framed = _PACKET.pack(STDOUT, len(block)) + block if self._request.v2 else block
        while True:
            await self._stream.send(framed)
            await asyncio.sleep(0)

    # --- input -----------------------------------------------------------------------------------------------

    async def _feed_stdin(self) -> None:
        try:
            if self._request.v2:
                await self._feed_packets()
            else:
                while True:
                    await self._write_stdin(memoryview(await self._stream.receive()))
        except (StreamClosed, OSError):
            return

    async def _feed_packets(self) -> None:
        reader = StreamReader(self._stream)
        while True:
            kind, length = _PACKET.unpack(await reader.exactly(_PACKET.size))
            if length > _MAX_PACKET_BYTES:
                self._session.drop_transport()
                return
            data = await reader.exactly(length)
            if kind == STDIN:
                await self._write_stdin(memoryview(data))
            elif kind == CLOSE_STDIN:
                self._close_stdin()
            elif kind == WINDOW_SIZE and self._request.pty:
                self._resize(data)

    async def _write_stdin(self, data: memoryview) -> None:
        loop = asyncio.get_running_loop()
        while len(data) > 0 and self._stdin_fd is not None:
            try:
                data = data[os.write(self._stdin_fd, data) :]
            except BlockingIOError:
                writable = loop.create_future()
                fd = self._stdin_fd
                loop.add_writer(fd, _resolve, writable)
                try:
                    await writable
                finally:
                    loop.remove_writer(fd)
            except (BrokenPipeError, ConnectionResetError):
                # The command has closed its input: what is left goes nowhere, but its output still counts.
                return

    def _close_stdin(self) -> None:
        if not self._request.pty and self._sockets:
            try:
                self._sockets[0].shutdown(socket.SHUT_WR)
            except OSError:
                return

    def _resize(self, data: bytes) -> None:
        found = re.match(rb"(\d{1,4})x(\d{1,4}),(\d{1,5})x(\d{1,5})", data)
        if found and self._stdin_fd is not None:
            rows, columns, width, height = (min(int(part), 0xFFFF) for part in found.groups())
            fcntl.ioctl(self._stdin_fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, width, height))


class _Output:
    """What the command prints, gathered from one or two descriptors."""

    def __init__(self) -> None:
        self._kinds: dict[int, int] = {}
        self._wake: asyncio.Future[bool] | None = None
        self._abandoned = False

    @property
    def at_end(self) -> bool:
        """Whether every output is at its end."""
        return not self._kinds

    def watch(self, fd: int, kind: int) -> None:
        self._kinds[fd] = kind

    def abandon(self) -> None:
        """Read no more; who waits is let go."""
        self._abandoned = True
        self._kinds.clear()
        _resolve(self._wake)

    async def next(self, framed: bool) -> bytearray:
        """What there is now and within a moment; empty only at the end."""
        data = bytearray()
        await self._readable(None)
        let_go = asyncio.get_running_loop().time() + _HOLD_S
        while self._kinds:
            self._read_all(data, framed)
            if self.at_end or len(data) >= _READ_BYTES or not await self._readable(let_go):
                break
        return data

    def _read_all(self, data: bytearray, framed: bool) -> None:
        for fd, kind in list(self._kinds.items()):
            try:
                part = os.read(fd, _READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                part = b""  # a terminal whose last holder is gone answers EIO
            if not part:
                del self._kinds[fd]
            elif framed:
                data += _PACKET.pack(kind, len(part))
                data += part
            else:
                data += part

    async def _readable(self, until_s: float | None) -> bool:
        """Wait for output, at most until that loop time; False when there is none."""
        if self.at_end:
            return False
        loop = asyncio.get_running_loop()
        wake: asyncio.Future[bool] = loop.create_future()
        self._wake = wake
        watched = list(self._kinds)
        for fd in watched:
            loop.add_reader(fd, _resolve, wake)
        timer = loop.call_at(until_s, _resolve, wake, False) if until_s is not None else None
        try:
            return await wake
        finally:
            if timer is not None:
                timer.cancel()
            for fd in watched:
                loop.remove_reader(fd)


def _resolve(future: asyncio.Future[bool] | None, value: bool = True) -> None:
    if future is not None and not future.done():
        future.set_result(value)


async def _exit_code(process: subprocess.Popen[bytes]) -> int:
    """Wait without blocking the other phones; a signal n is 128 + n."""
    if process.poll() is None:
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        fd = os.pidfd_open(process.pid)
        loop.add_reader(fd, _resolve, ended)
        try:
            await ended
        finally:
            loop.remove_reader(fd)
            os.close(fd)
        process.wait()
    code = process.returncode
    return code if code >= 0 else 128 - code


def _signal_shell(pid: int, *, nested: bool) -> None:
    """SIGHUP to the shell itself; `nsenter` stands between and does not pass signals on."""
    targets = [pid]
    if nested:
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                targets = [int(word) for word in file.read().split()]
        except OSError:
            targets = []
    for target in targets:
        try:
            os.kill(target, signal.SIGHUP)
        except ProcessLookupError:
            continue
