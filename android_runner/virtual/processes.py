"""Processes of this host by pid and start time, so that a pid that has been given to another is never hit."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_POLL_S = 0.01
KEPT = 3
"""Where a detached process finds the descriptor that it was lent."""


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process for good: its pid and the start time in clock ticks that the kernel keeps for it."""

    pid: int
    start_ticks: int

    def alive(self) -> bool:
        """Whether that very process still runs (a zombie does not)."""
        return _start_ticks(self.pid) == self.start_ticks

    def send(self, number: signal.Signals) -> None:
        """Signal it, unless it is gone."""
        if self.alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def wait_gone(self, timeout_s: float) -> bool:
        """Wait until it has ended; False when it still runs after `timeout_s`."""
        until = time.monotonic() + timeout_s
        while self.alive():
            if time.monotonic() > until:
                return False
            _reap(self.pid)
            time.sleep(_POLL_S)
        return True

    def end(self, timeout_s: float = 5.0) -> None:
        """TERM, then KILL; return when it is gone."""
        self.send(signal.SIGTERM)
        if not self.wait_gone(timeout_s):
            self.send(signal.SIGKILL)
            self.wait_gone(timeout_s)


def identify(pid: int) -> ProcessId | None:
    """The process that has this pid now."""
    ticks = _start_ticks(pid)
    return None if ticks is None else ProcessId(pid, ticks)


def spawn_detached(
    argv: Sequence[str], env: Mapping[str, str], stdout: int, stderr: int, keep: int | None = None
) -> int:
    """Start a process in a session of its own, with no input, that may outlive us; return its pid.

    It gets the descriptor `keep` as `KEPT`.
    """
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, stdout, 1),
        (os.POSIX_SPAWN_DUP2, stderr, 2),
    ]
    actions += [(os.POSIX_SPAWN_DUP2, keep, KEPT)] if keep is not None else []
    return os.posix_spawn(argv[0], list(argv), dict(env), file_actions=actions, setsid=True)


def exit_status(pid: int) -> int | None:
    """The status of a child of ours that has ended; None while it runs."""
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def _start_ticks(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def _reap(pid: int) -> None:
    """Take the exit status if the process is our own child, else it would stay a zombie."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def with_environment(entry: str) -> Iterator[int]:
    """Pids of all processes of ours whose environment had `NAME=value` when they were started."""
    needle = entry.encode()
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            content = Path(f"/proc/{name}/environ").read_bytes()
        except OSError:
            continue
        if needle in content.split(b"\0"):
            yield int(name)


def kill_with_environment(entry: str) -> None:
    """SIGKILL them until none is left: one that forks meanwhile is found in the next pass."""
    for _attempt in range(50):
        found = list(with_environment(entry))
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(_POLL_S)
