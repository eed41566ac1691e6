"""A shell's process and the descriptors between it and its service.

As in adbd, stdin and stdout of a raw command are one socket (stderr has its own in v2), and a hang-up sends SIGHUP to
the shell alone. Source: AOSP `daemon/shell_service.cpp`.
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
from contextlib import suppress
from dataclasses import dataclass

from android_runner.virtual.gathering import Output, resolve
from android_runner.virtual.shell_packets import STDERR, STDOUT, ShellRequest

_WINDOW = re.compile(rb"(\d{1,4})x(\d{1,4}),(\d{1,5})x(\d{1,5})")


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


class Child:
    """One running shell; its descriptors do not block. Close it when its output is at its end."""

    def __init__(self, request: ShellRequest, spawn: Spawn, output: Output) -> None:
        self._pty = request.pty
        self._hangs_up = request.v2
        self._nested = spawn.nested
        self._ours: list[int] = []
        argv = [*spawn.argv, *(["-c", request.command] if request.command else [])]
        if request.pty:
            argv = [*spawn.pty_prefix, *argv]
            theirs = self._wire_terminal(output)
        else:
            theirs = self._wire_sockets(output, own_stderr=request.v2)
        try:
            self._process = subprocess.Popen(
                argv,
                env={**spawn.env, "TERM": request.term},
                cwd=spawn.cwd,
                stdin=theirs[0],
                stdout=theirs[0],
                stderr=theirs[-1],
                start_new_session=not request.pty,
                umask=0,  # as adbd has it: what a shell makes, everybody may write
            )
        except OSError:
            self.close()
            raise
        finally:
            for fd in theirs:
                os.close(fd)

    def _wire_terminal(self, output: Output) -> list[int]:
        ours, theirs = pty.openpty()
        os.set_blocking(ours, False)
        self._ours = [ours]
        output.watch(ours, STDOUT)
        return [theirs]

    def _wire_sockets(self, output: Output, *, own_stderr: bool) -> list[int]:
        theirs = []
        for kind in (STDOUT, STDERR)[: 1 + own_stderr]:
            near, far = socket.socketpair()
            near.setblocking(False)
            self._ours.append(near.detach())
            theirs.append(far.detach())
            output.watch(self._ours[-1], kind)
        return theirs

    async def write(self, data: memoryview) -> None:
        """Give it input; what it no longer reads goes nowhere, for its output still counts."""
        loop = asyncio.get_running_loop()
        while len(data) > 0 and self._ours:
            fd = self._ours[0]
            try:
                data = data[os.write(fd, data) :]
            except BlockingIOError:
                writable: asyncio.Future[bool] = loop.create_future()
                loop.add_writer(fd, resolve, writable)
                try:
                    await writable
                finally:
                    loop.remove_writer(fd)
            except (BrokenPipeError, ConnectionResetError):
                return

    def close_stdin(self) -> None:
        """No more input; a terminal has no such thing."""
        if not self._pty and self._ours:
            half = socket.socket(fileno=os.dup(self._ours[0]))
            with half, suppress(OSError):
                half.shutdown(socket.SHUT_WR)

    def resize(self, text: bytes) -> None:
        """Take a window size, `ROWSxCOLUMNS,WIDTHxHEIGHT`."""
        found = _WINDOW.match(text)
        if found and self._pty and self._ours:
            rows, columns, width, height = (min(int(part), 0xFFFF) for part in found.groups())
            fcntl.ioctl(self._ours[0], termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, width, height))

    def hang_up(self) -> None:
        """The host has gone: SIGHUP to the shell itself; `nsenter` stands between and does not pass signals on."""
        if not self._hangs_up or self._process.returncode is not None:
            return
        for pid in self._shell_pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGHUP)

    def _shell_pids(self) -> list[int]:
        pid = self._process.pid
        if not self._nested:
            return [pid]
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                return [int(word) for word in file.read().split()]
        except OSError:
            return []

    def close(self) -> None:
        """Close our ends."""
        ours, self._ours = self._ours, []
        for fd in ours:
            os.close(fd)

    async def exit_code(self) -> int:
        """Wait without blocking the other phones; a signal n is 128 + n."""
        process = self._process
        if process.poll() is None:
            loop = asyncio.get_running_loop()
            ended: asyncio.Future[bool] = loop.create_future()
            fd = os.pidfd_open(process.pid)
            loop.add_reader(fd, resolve, ended)
            try:
                await ended
            finally:
                loop.remove_reader(fd)
                os.close(fd)
            process.wait()
        code = process.returncode
        return code if code >= 0 else 128 - code
