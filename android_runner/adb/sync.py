"""adb's file service (`sync:`): stat, list, receive and send over one stream (file_sync_protocol.h).

Requests are `4-byte id, u32le length, path`. Several may be under way; answers come in their order. A FAIL ends the
session: what was queued behind it is lost.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from android_runner.adb.translate import words
from android_runner.adb.wire import Stream
from android_runner.deadline import Deadline
from android_runner.device import DirEntry, FileStat, PhonePath
from android_runner.errors import HostileAnswer, PhoneFull, PhoneRefused, StagingError

DATA_BYTES = 64 * 1024
"""Most that one DATA packet carries (SYNC_DATA_MAX)."""
MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255
MAX_ENTRIES = 100_000
MAX_FAIL_BYTES = 4096
AHEAD = 64
"""Requests under way at once."""
_ENOENT, _ENOTDIR = 2, 20
_HEAD = struct.Struct("<4sI")
_STAT1 = struct.Struct("<4sIII")
_STAT2 = struct.Struct("<4sIQQIIIIQqqq")  # id error dev ino mode nlink uid gid size atime mtime ctime
_DENT1 = struct.Struct("<4sIIII")
_DENT2 = struct.Struct("<4sIQQIIIIQqqqI")
_FULL = ("no space left", "disk quota exceeded")
_MISSING = ("no such file", "not a directory")


@dataclass(frozen=True, slots=True)
class Failed:
    """The phone's FAIL, in its words."""

    text: str

    def missing(self) -> bool:
        """Whether it says that there is no such file."""
        return any(part in self.text.lower() for part in _MISSING)


def staging_error(serial: str, what: str, text: str) -> StagingError:
    """`PhoneFull` or `PhoneRefused` for the phone's words."""
    full = any(part in text.lower() for part in _FULL)
    return (PhoneFull if full else PhoneRefused)(f"{serial}: {what}: the phone says: {text}")


def request(kind: bytes, path: str) -> bytes:
    """One request. Raises ValueError for a path that the protocol cannot carry."""
    encoded = path.encode("utf-8")
    if len(encoded) > MAX_PATH_BYTES or not path.startswith("/") or "\0" in path:
        raise ValueError(f"not a path for the phone: {path!r}")
    return _HEAD.pack(kind, len(encoded)) + encoded


def checked_name(serial: str, raw: bytes) -> str | None:
    """A directory entry's name; None for `.` and `..`, which adbd lists. Raises `HostileAnswer`."""
    if raw in (b".", b".."):
        return None
    if not raw or len(raw) > MAX_NAME_BYTES or b"/" in raw or b"\0" in raw:
        raise HostileAnswer(f"{serial}: lists a name that leaves its folder or breaks the rules: {words(raw)!r}")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise HostileAnswer(f"{serial}: lists a name that is not UTF-8: {words(raw)!r}") from None


class SyncSession:
    """One `sync:` stream. After any error it is of no further use and its owner closes it."""

    def __init__(self, stream: Stream, serial: str, features: frozenset[str]) -> None:
        self.stream = stream
        self.spent = False
        self._serial = serial
        self._stat2 = "stat_v2" in features
        self._list2 = "ls_v2" in features

    def close(self) -> None:
        """Close the stream."""
        self.stream.close()

    def stats(self, paths: Sequence[PhonePath], deadline: Deadline) -> list[FileStat | None]:
        """What the phone says of each path. A link is followed where the phone has stat_v2."""
        kind = b"STA2" if self._stat2 else b"STAT"
        answers: list[FileStat | None] = []
        for start in range(0, len(paths), AHEAD):
            batch = paths[start : start + AHEAD]
            self.stream.send(b"".join(request(kind, path) for path in batch), deadline)
            answers += [self._stat(path, deadline) for path in batch]
        return answers

    def _stat(self, path: PhonePath, deadline: Deadline) -> FileStat | None:
        if not self._stat2:
            ident, mode, size, mtime = _STAT1.unpack(self.stream.exactly(_STAT1.size, deadline))
            self._expect(ident, b"STAT")
            return FileStat(mode, size, mtime) if mode or size or mtime else None
        fields = _STAT2.unpack(self.stream.exactly(_STAT2.size, deadline))
        self._expect(fields[0], b"STA2")
        if fields[1] in (_ENOENT, _ENOTDIR):
            return None
        if fields[1]:
            raise PhoneRefused(f"{self._serial}: stat {path}: the phone says: error {fields[1]}")
        return FileStat(mode=fields[4], size_bytes=fields[8], mtime_s=fields[10])

    def listing(self, path: PhonePath, deadline: Deadline) -> list[DirEntry]:
        """The names in a directory, checked."""
        self.stream.send(request(b"LIS2" if self._list2 else b"LIST", path), deadline)
        shape = _DENT2 if self._list2 else _DENT1
        entries: list[DirEntry] = []
        for _ in range(MAX_ENTRIES):
            fields = shape.unpack(self.stream.exactly(shape.size, deadline))
            if fields[0] == b"DONE":
                return entries
            self._expect(fields[0], b"DNT2" if self._list2 else b"DENT")
            if fields[-1] > MAX_NAME_BYTES:
                raise HostileAnswer(f"{self._serial}: lists a name of {fields[-1]} bytes in {path}")
            name = checked_name(self._serial, self.stream.exactly(fields[-1], deadline))
            if name is not None:
                mode, size, mtime = (fields[4], fields[8], fields[10]) if self._list2 else fields[1:4]
                entries.append(DirEntry(name, FileStat(mode, size, mtime)))
        raise HostileAnswer(f"{self._serial}: lists more than {MAX_ENTRIES} names in {path}")

    def ask_for(self, paths: Sequence[PhonePath], deadline: Deadline) -> None:
        """Request files; each is then taken with `receive`, in this order."""
        self.stream.send(b"".join(request(b"RECV", path) for path in paths), deadline)

    def receive(self, path: PhonePath, max_bytes: int, sink: Callable[[bytes], object], deadline: Deadline) -> int:
        """Take the next requested file into `sink`; its size. Raises `SyncFailed` with the phone's words."""
        total = 0
        while True:
            ident, length = _HEAD.unpack(self.stream.exactly(_HEAD.size, deadline))
            if ident == b"DONE":
                return total
            if ident == b"FAIL":
                self.spent = True
                raise SyncFailed(self._words(length, deadline))
            self._expect(ident, b"DATA")
            total += length
            if length > DATA_BYTES or total > max_bytes:
                raise HostileAnswer(f"{self._serial}: {path} is larger than the {max_bytes} bytes it may have")
            sink(self.stream.exactly(length, deadline))

    def acknowledgement(self, deadline: Deadline) -> Failed | None:
        """The answer to one sent file: None for OKAY."""
        ident, length = _HEAD.unpack(self.stream.exactly(_HEAD.size, deadline))
        if ident == b"FAIL":
            return Failed(self._words(length, deadline))
        self._expect(ident, b"OKAY")
        return None

    def _words(self, length: int, deadline: Deadline) -> str:
        if length > MAX_FAIL_BYTES:
            raise HostileAnswer(f"{self._serial}: a failure text of {length} bytes")
        return words(self.stream.exactly(length, deadline))

    def _expect(self, ident: bytes, wanted: bytes) -> None:
        if ident != wanted:
            raise HostileAnswer(f"{self._serial}: the file service answers {words(ident)!r} in place of {wanted!r}")


class SyncFailed(Exception):
    """The phone answered FAIL; stays inside this package."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.failed = Failed(text)
