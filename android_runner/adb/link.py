"""The phone port over a real adb server."""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import TypeVar

from android_runner.adb.receiving import pull_some, read_one
from android_runner.adb.sending import (
    Part,
    Sent,
    finishing_bytes,
    finishing_command,
    judged,
    parts_of,
    removing_command,
    send_parts,
)
from android_runner.adb.server import MAX_SERVICE_BYTES, AdbServer
from android_runner.adb.shell import marked, new_marker, run_v1, run_v2
from android_runner.adb.sync import AHEAD, SyncSession, staging_error
from android_runner.adb.translate import translated, words
from android_runner.batches import COMMAND_BYTES, batches
from android_runner.deadline import Deadline
from android_runner.device import (
    MAX_OUTPUT_BYTES,
    DirEntry,
    FileStat,
    PhonePath,
    PullItem,
    PushedFile,
    PushItem,
    Serial,
    ShellResult,
    quoted,
)
from android_runner.errors import LinkError, LinkLost, PhoneRefused, RunnerError

_KEPT_SESSIONS = 2
_Answer = TypeVar("_Answer")


OUR_FILES = "umask 022; "
"""adbd's own is 0: what a shell makes, every app could write."""


class AdbDevice:
    """`android_runner.device.Device` over `server`; safe to use from several threads.

    File sessions for stat, read, pull and listing are kept open between calls and opened again when stale; shell and
    push have streams of their own. Errors of local files stay OSError.
    """

    def __init__(self, server: AdbServer, serial: Serial) -> None:
        self._server = server
        self._serial = serial
        self._lock = Lock()
        self._features: frozenset[str] | None = None
        self._idle: list[SyncSession] = []
        weakref.finalize(self, _close_all, self._idle)

    @property
    def serial(self) -> Serial:
        """The transport's name."""
        return self._serial

    @property
    def server(self) -> AdbServer:
        """The adb server that the phone is reached through."""
        return self._server

    def close(self) -> None:
        """Close the kept file sessions; the device can still be used."""
        with self._lock:
            _close_all(self._idle)

    def shell(
        self,
        command: str,
        *,
        deadline: Deadline,
        stdin: bytes = b"",
        max_output_bytes: int = MAX_OUTPUT_BYTES,
    ) -> ShellResult:
        """Run `command` to its end, with `OUR_FILES` before it; see the port.

        Without shell_v2 its stderr comes merged into stdout.

        Raises ValueError for a command above `MAX_SERVICE_BYTES`; `DeadlinePassed` closes the stream, on which adbd
        sends SIGHUP to the shell.
        """
        command = OUR_FILES + command
        if len(command.encode("utf-8", errors="surrogateescape")) > MAX_SERVICE_BYTES or "\0" in command:
            raise ValueError(f"a command of {len(command)} characters does not fit one shell call")
        clock = deadline.clock
        started_s = clock.monotonic_s()
        run = self._shell_v2 if "shell_v2" in self._known_features(deadline) else self._shell_v1
        code, out, err = run(command, stdin, max_output_bytes, deadline)
        return ShellResult(code, out, err, clock.monotonic_s() - started_s)

    def _shell_v2(self, command: str, stdin: bytes, max_bytes: int, deadline: Deadline) -> tuple[int, bytes, bytes]:
        stream = self._server.open(self._serial, f"shell,v2,raw:{command}", deadline)
        try:
            return run_v2(stream, self._serial, stdin, max_bytes, deadline)
        finally:
            stream.close()

    def _shell_v1(self, command: str, stdin: bytes, max_bytes: int, deadline: Deadline) -> tuple[int, bytes, bytes]:
        marker = new_marker()
        stream = self._server.open(self._serial, f"shell:{marked(command, marker, len(stdin))}", deadline)
        try:
            if stdin:
                stream.send(stdin, deadline)
            code, out = run_v1(stream, self._serial, marker, max_bytes, deadline)
        finally:
            stream.close()
        return code, out, b""

    def push(self, items: Sequence[PushItem], *, deadline: Deadline) -> list[PushedFile]:
        """Put files on the phone; see the port. Control characters in a target are a ValueError."""
        if not items:
            return []
        parts = parts_of(items, secrets.token_hex(6))
        pushed: list[PushedFile] = []
        try:
            try:
                sent = self._send(parts, deadline)
            except PhoneRefused as refused:
                if "no such file" not in str(refused).lower():
                    raise
                self._make_parents(items, deadline)  # adbd makes them itself; some file services do not
                sent = self._send(parts, deadline)
            for batch in batches(sent, finishing_bytes, COMMAND_BYTES):
                result = self.shell(finishing_command(batch), deadline=deadline)
                pushed += judged(self._serial, batch, result)
        except (RunnerError, OSError):
            with suppress(LinkError):
                self.shell(removing_command(parts), deadline=deadline)
            raise
        return pushed

    def _send(self, parts: Sequence[Part], deadline: Deadline) -> list[Sent]:
        session = self._new_session(deadline)
        try:
            return send_parts(session, self._serial, parts, deadline)
        finally:
            session.close()

    def _make_parents(self, items: Sequence[PushItem], deadline: Deadline) -> None:
        parents = sorted({item.target.rpartition("/")[0] or "/" for item in items})
        command = "mkdir -p " + " ".join(quoted(PhonePath(parent)) for parent in parents)
        result = self.shell(command, deadline=deadline)
        if result.exit_code:
            raise staging_error(self._serial, "make folders", words(result.stderr))

    def pull(self, items: Sequence[PullItem], *, deadline: Deadline) -> list[bool]:
        """Take files from the phone, up to 64 requests ahead; see the port.

        Raises `PhoneRefused` for a file that is there but cannot be read.
        """
        found: list[bool] = []
        ahead = AHEAD
        while len(found) < len(items):
            rest = items[len(found) :][: None if ahead > 1 else 1]
            action = partial(pull_some, serial=self._serial, items=rest, ahead=ahead, deadline=deadline)
            pulled = self._with_session(action, deadline)
            found += pulled.found
            ahead = 1 if pulled.cut else AHEAD
        return found

    def read(self, path: PhonePath, *, deadline: Deadline, max_bytes: int) -> bytes | None:
        """The bytes of one small file; None where there is none."""
        action = partial(read_one, serial=self._serial, path=path, max_bytes=max_bytes, deadline=deadline)
        return self._with_session(action, deadline)

    def stat(self, paths: Sequence[PhonePath], *, deadline: Deadline) -> list[FileStat | None]:
        """What the phone says of each path, pipelined on one kept session. Starts no process on the phone."""
        return self._with_session(lambda session: session.stats(paths, deadline), deadline)

    def listing(self, path: PhonePath, *, deadline: Deadline) -> list[DirEntry]:
        """The names in a directory, checked; empty where there is none."""
        return self._with_session(lambda session: session.listing(path, deadline), deadline)

    def _with_session(self, action: Callable[[SyncSession], _Answer], deadline: Deadline) -> _Answer:
        """Run a reading action on a kept session; once more on a new one when the kept one turns out dead.

        Dead means that it ended before it answered anything. A session is kept only after a clean action.
        """
        with self._lock:
            session = self._idle.pop() if self._idle else None
        if session is not None:
            received_bytes = session.stream.received_bytes
            try:
                return self._kept(session, action)
            except LinkLost:
                if session.stream.received_bytes != received_bytes:
                    raise
        return self._kept(self._new_session(deadline), action)

    def _kept(self, session: SyncSession, action: Callable[[SyncSession], _Answer]) -> _Answer:
        try:
            with translated(self._serial, "file service"):
                answer = action(session)
        except BaseException:
            session.close()
            raise
        with self._lock:
            keep = not session.spent and len(self._idle) < _KEPT_SESSIONS
            if keep:
                self._idle.append(session)
        if not keep:
            session.close()
        return answer

    def _new_session(self, deadline: Deadline) -> SyncSession:
        features = self._known_features(deadline)
        return SyncSession(self._server.open(self._serial, "sync:", deadline), self._serial, features)

    def _known_features(self, deadline: Deadline) -> frozenset[str]:
        """What server and phone both can; asked once."""
        if self._features is None:
            answer = self._server.answer(f"host-serial:{self._serial}:features", deadline, serial=self._serial)
            self._features = frozenset(answer.decode("ascii", errors="replace").split(","))
        return self._features


def _close_all(sessions: list[SyncSession]) -> None:
    while sessions:
        sessions.pop().close()
