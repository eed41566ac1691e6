"""The phone port: what the program can ask of one phone, and nothing else.

`android_runner.adb` implements it over the real adb server; the contract tests in `tests/contract` say what an
implementation must hold. Paths are the phone's own (`/data/local/tmp/...`). A virtual phone without namespaces has
its root somewhere on the host: file calls still take the phone's path, shell commands reach it through the variable
`ORCH_ROOT`, which is unset (so empty) on every real phone. `quoted()` writes a path so that both work.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NewType, Protocol

from android_runner.deadline import Deadline

Serial = NewType("Serial", str)
"""The transport's name as adb lists it; not an identity (that is `ro.serialno`)."""

MAX_OUTPUT_BYTES = 16 * 1024 * 1024
"""Bound on what one shell command may print before the call ends with `HostileAnswer`."""


class PhonePath(str):
    """An absolute path on the phone; `/` joins."""

    __slots__ = ()

    def __truediv__(self, name: str) -> PhonePath:
        return PhonePath(f"{self.rstrip('/')}/{name}")


def quoted(word: str) -> str:
    """One shell word; a `PhonePath` is written behind the root prefix, other text is quoted as it is."""
    if isinstance(word, PhonePath):
        return '"${ORCH_ROOT-}"' + shlex.quote(str(word))
    return shlex.quote(word)


@dataclass(frozen=True, slots=True)
class ShellResult:
    """One command's end: exit code (0-255), both streams as bytes, wall time in seconds."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    duration_s: float

    def text(self) -> str:
        """stdout as text; bytes that are not UTF-8 become U+FFFD."""
        return self.stdout.decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class PushItem:
    """One file to put on the phone: from a local path or from bytes, with its permission bits.

    `sha256` is what it must be there, where the caller knows; else what is read while sending.
    """

    source: Path | bytes
    target: PhonePath
    mode: int = 0o644
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class PushedFile:
    """A file that arrived: its sha256 was computed on the phone and is the one asked for, or the sender's."""

    target: PhonePath
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PullItem:
    """One file to take from the phone into a local path, refused above `max_bytes`."""

    source: PhonePath
    target: Path
    max_bytes: int


@dataclass(frozen=True, slots=True)
class FileStat:
    """What the phone says of one path."""

    mode: int
    size_bytes: int
    mtime_s: int

    def is_dir(self) -> bool:
        """Whether the path is a directory."""
        return self.mode & 0o170000 == 0o040000

    def is_file(self) -> bool:
        """Whether the path is a regular file."""
        return self.mode & 0o170000 == 0o100000


@dataclass(frozen=True, slots=True)
class DirEntry:
    """One checked name in a directory: no `/`, no NUL, not `.` or `..`, at most 255 bytes."""

    name: str
    stat: FileStat


class Device(Protocol):
    """One phone that can be reached now. Every call ends by its deadline with an answer or a `LinkError`."""

    @property
    def serial(self) -> Serial:
        """The transport's name."""
        ...

    def shell(
        self,
        command: str,
        *,
        deadline: Deadline,
        stdin: bytes = b"",
        max_output_bytes: int = MAX_OUTPUT_BYTES,
    ) -> ShellResult:
        """Run `command` in the phone's shell to its end.

        The exit code is the command's own: an end of the stream without one is `LinkLost`, never a short success.
        """
        ...

    def push(self, items: Sequence[PushItem], *, deadline: Deadline) -> list[PushedFile]:
        """Put files on the phone: temporary name, sha256 there, then rename; parents are made.

        Raises `PhoneFull`, `PhoneRefused` (with the phone's words) or `TransferCorrupt`; a file that failed leaves
        nothing under its final name.
        """
        ...

    def pull(self, items: Sequence[PullItem], *, deadline: Deadline) -> list[bool]:
        """Take files from the phone, requests pipelined; False where the phone has no such file.

        Each lands under a temporary name and is renamed when whole. Raises `HostileAnswer` above `max_bytes`.
        """
        ...

    def read(self, path: PhonePath, *, deadline: Deadline, max_bytes: int) -> bytes | None:
        """The bytes of one small file; None where there is none."""
        ...

    def stat(self, paths: Sequence[PhonePath], *, deadline: Deadline) -> list[FileStat | None]:
        """What the phone says of each path; None where there is nothing. Starts no process on the phone."""
        ...

    def listing(self, path: PhonePath, *, deadline: Deadline) -> list[DirEntry]:
        """The names in a directory, checked; empty where there is none."""
        ...
