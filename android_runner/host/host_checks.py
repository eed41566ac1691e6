"""Pure: room on the disk and limits of this user: facts to findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from android_runner.host.finding import HostFinding, Level

LEAST_FREE_BYTES = 1_000_000_000
FREE_BYTES = 10_000_000_000
LEAST_FREE_FILES = 10_000
FILES_BASE = 128
FILES_A_PHONE = 16
"""Open files of a run beside those of its phones, and for each: kept file sessions, shells, a block that comes in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A folder's file system: `use` says what it is for; `free_files` is None where it has no such bound."""

    use: str
    path: str
    free_bytes: int
    free_files: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """`max_files` and `max_file_bytes` are this process's limits (None: unlimited), `hard_files` what it may ask for.

    `server_files` is the adb server's limit of open files, None unknown.
    """

    rooms: Sequence[Room]
    max_files: int | None
    hard_files: int | None
    max_file_bytes: int | None
    phones: int
    server_files: int | None = None


def host_findings(facts: HostFacts) -> list[HostFinding]:
    """Everything about disk and limits."""
    return [*_rooms(facts), *_limits(facts)]


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


def _rooms(facts: HostFacts) -> Iterator[HostFinding]:
    for room in facts.rooms:
        few = room.free_files is not None and room.free_files < LEAST_FREE_FILES
        full = room.free_bytes < LEAST_FREE_BYTES
        level = Level.STOP if full or few else Level.WARN if room.free_bytes < FREE_BYTES else Level.OK
        files = f", {room.free_files} files" if few else ""
        mend = "make room" + (", or give --home DIR on another disk" if room.use == "home" else ", or set TMPDIR")
        yield HostFinding(
            check="disk",
            level=level,
            about=room.path,
            seen=f"{_gigabytes(room.free_bytes)}{files} left for {room.use}",
            mend="" if level is Level.OK else mend,
        )


def _limits(facts: HostFacts) -> Iterator[HostFinding]:
    needed = FILES_BASE + FILES_A_PHONE * max(facts.phones, 1)
    for name, limit in (("this shell", facts.max_files), ("the adb server", facts.server_files)):
        if limit is None or limit >= needed:
            continue
        reach = facts.hard_files is None or facts.hard_files >= needed
        yield HostFinding(
            check="ulimit",
            level=Level.STOP if limit < FILES_BASE else Level.WARN,
            about=name,
            seen=f"{limit} open files; {facts.phones} phones want {needed}",
            mend=f"ulimit -n {needed} before orch" if reach else "raise nofile in /etc/security/limits.conf",
        )
    if facts.max_file_bytes is not None and facts.max_file_bytes < LEAST_FREE_BYTES:
        yield HostFinding(
            check="ulimit",
            level=Level.STOP,
            about="this shell",
            seen=f"files may have {facts.max_file_bytes} bytes at most",
            mend="ulimit -f unlimited",
        )
    if facts.max_files is None or facts.max_files >= needed:
        shown = "unlimited" if facts.max_files is None else str(facts.max_files)
        yield HostFinding(check="ulimit", level=Level.OK, seen=f"{shown} open files")
