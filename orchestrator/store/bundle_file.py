"""A run as one file: a zip of `bundle.json`, `rows/<table>.jsonl` and `evidence/<sha256>`.

    bundle.json   {"format": "orch-bundle", "version": 1, "schema": 10, "orch": "…", "run": "…",
                   "rows": {"<table>": {"rows": 12, "sha256": "…"}}, "evidence": {"<sha256>": <bytes>}}

The same run makes the same bytes. Who reads one trusts nothing in it: names, sizes and digests are held against
`bundle.json` before anything is kept, and nothing is written where a name in the file says.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from orchestrator.errors import Problem, UsageError
from orchestrator.store.bundle_rows import RUN_ID, TABLES
from orchestrator.store.evidence import MAX_FILE_BYTES

FORMAT = "orch-bundle"
VERSION = 1
HEAD = "bundle.json"
MAX_HEAD_BYTES = 256 * 1024 * 1024
MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_FILES = 2_000_000
_PIECE_BYTES = 1024 * 1024
_BEGINNING = (1980, 1, 1, 0, 0, 0)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_BAD = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError, KeyError)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleHead:
    """What a bundle says of itself: rows and sha256 by table, sizes of raw files by digest."""

    schema: int
    orch: str
    run: str
    rows: Mapping[str, tuple[int, str]]
    evidence: Mapping[str, int]


class BundleWriter:
    """Writes a bundle to an open file; the head comes last, and is found by the zip's directory."""

    def __init__(self, stream: IO[bytes], *, run: str, schema: int, orch: str) -> None:
        self._zip = zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._head: dict[str, Any] = {
            "format": FORMAT, "version": VERSION, "schema": schema, "orch": orch, "run": run,
            "rows": {}, "evidence": {},
        }  # fmt: skip

    def rows(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add a table's rows."""
        digest, count = hashlib.sha256(), 0
        with self._zip.open(_entry(f"rows/{table}.jsonl"), "w", force_zip64=True) as out:
            for row in rows:
                line = json.dumps(row, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode() + b"\n"
                digest.update(line)
                out.write(line)
                count += 1
        self._head["rows"][table] = {"rows": count, "sha256": digest.hexdigest()}

    def evidence(self, sha256: str, pieces: Iterable[bytes]) -> None:
        """Add a raw file."""
        size_bytes = 0
        with self._zip.open(_entry(f"evidence/{sha256}"), "w", force_zip64=True) as out:
            for piece in pieces:
                size_bytes += len(piece)
                out.write(piece)
        self._head["evidence"][sha256] = size_bytes

    def finish(self) -> None:
        """Write the head."""
        self._zip.writestr(_entry(HEAD), json.dumps(self._head, indent=1, sort_keys=True))

    def close(self) -> None:
        """Write the zip's directory; before the stream is closed, whatever happened."""
        self._zip.close()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _BEGINNING)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


class BundleReader:
    """Reads a bundle. Every method raises UsageError with what is wrong, and in which part of the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._stream = path.open("rb")
        except OSError as error:
            raise self._wrong("", f"can't be read: {error.strerror or error}", "name a file") from error
        try:
            self._zip = zipfile.ZipFile(self._stream)
        except _BAD as error:
            self._stream.close()
            raise self._wrong("", f"is no bundle: {error}", "make one: orch export RUN --bundle FILE") from error
        try:
            entries = self._entries()
            self.head = self._read_head(entries)
            self._hold(entries)
            self.size_bytes = sum(one.file_size * (1 + one.filename.startswith("rows/")) for one in entries.values())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._zip.close()
        self._stream.close()

    def _wrong(self, place: str, what: str, mend: str = "get it anew; nothing of it was taken") -> UsageError:
        where = f"{self._path}: {place[:120]!r}" if place else str(self._path)
        return UsageError(Problem(where, what, mend))

    def _entries(self) -> dict[str, zipfile.ZipInfo]:
        """The files by name. Raises UsageError for two of one name, and for what no bundle has."""
        listed = self._zip.infolist()
        if len(listed) > MAX_FILES:
            raise self._wrong("", f"has {len(listed)} files, more than a bundle may have ({MAX_FILES})")
        found: dict[str, zipfile.ZipInfo] = {}
        for entry in listed:
            kind, _, name = entry.filename.partition("/")
            known = (
                entry.filename == HEAD
                or (kind == "rows" and name.removesuffix(".jsonl") in TABLES and name.endswith(".jsonl"))
                or (kind == "evidence" and bool(_DIGEST.fullmatch(name)))
            )
            if not known:
                raise self._wrong(entry.filename, "no bundle has a file of this name")
            if entry.filename in found:
                raise self._wrong(entry.filename, "is in it twice")
            if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self._wrong(entry.filename, "is encrypted, or packed in a way that no bundle uses")
            found[entry.filename] = entry
        return found

    def _read_head(self, entries: Mapping[str, zipfile.ZipInfo]) -> BundleHead:
        if HEAD not in entries:
            mend = "orch export RUN --bundle FILE makes one"
            raise self._wrong("", f"has no {HEAD}: it is no bundle, or cut off", mend)
        data = b"".join(self._pieces(HEAD, MAX_HEAD_BYTES))
        try:
            said = json.loads(data)
            if said["format"] != FORMAT:
                raise self._wrong(HEAD, f"is of the format {str(said['format'])[:40]!r}", f"want {FORMAT}")
            if said["version"] != VERSION:
                mend = "use a newer orch"
                raise self._wrong(HEAD, f"is of version {str(said['version'])[:20]}; known is {VERSION}", mend)
            head = BundleHead(
                schema=_whole(said["schema"]),
                orch=str(said["orch"])[:40],
                run=str(said["run"]),
                rows={str(name): (_whole(one["rows"]), str(one["sha256"])) for name, one in said["rows"].items()},
                evidence={str(digest): _whole(size) for digest, size in said["evidence"].items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise self._wrong(HEAD, f"can't be read: {error}") from error
        if not RUN_ID.fullmatch(head.run):
            raise self._wrong(HEAD, f"{head.run[:80]!r} can't be a run's name")
        return head

    def _hold(self, entries: Mapping[str, zipfile.ZipInfo]) -> None:
        """Raise UsageError where the head and the files are not of one another."""
        told = {HEAD, *(f"rows/{name}.jsonl" for name in self.head.rows)}
        told |= {f"evidence/{digest}" for digest in self.head.evidence}
        if odd := sorted(told ^ set(entries)):
            missing = odd[0] in told
            raise self._wrong(odd[0], "is missing" if missing else f"is not in {HEAD}")
        for digest, size in self.head.evidence.items():
            if size > MAX_FILE_BYTES or entries[f"evidence/{digest}"].file_size != size:
                raise self._wrong(f"evidence/{digest}", f"has not the size that {HEAD} says, or is too large")

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """A table's rows, held against their number and digest at the end."""
        if table not in self.head.rows:
            return
        name = f"rows/{table}.jsonl"
        count, digest = self.head.rows[table]
        found, seen = hashlib.sha256(), 0
        for line in self._lines(name):
            found.update(line)
            seen += 1
            try:
                row = json.loads(line, parse_constant=_no_number)
            except (ValueError, RecursionError) as error:
                raise self._wrong(name, f"line {seen} can't be read: {error}") from error
            if not isinstance(row, dict) or any(isinstance(value, dict | list) for value in row.values()):
                raise self._wrong(name, f"line {seen} is no row")
            yield row
        if (seen, found.hexdigest()) != (count, digest):
            raise self._wrong(name, f"is damaged: {seen} rows of {count}, or another digest")

    def evidence(self, sha256: str) -> Iterator[bytes]:
        """A raw file in pieces, held against its digest after the last one."""
        name, found = f"evidence/{sha256}", hashlib.sha256()
        for piece in self._pieces(name, self.head.evidence[sha256]):
            found.update(piece)
            yield piece
        if found.hexdigest() != sha256:
            raise self._wrong(name, "is damaged: its content has another digest")

    def _lines(self, name: str) -> Iterator[bytes]:
        try:
            with self._zip.open(name) as stream:
                while line := stream.readline(MAX_LINE_BYTES):
                    if not line.endswith(b"\n"):
                        raise self._wrong(name, "has a line that is too long, or cut off")
                    yield line
        except _BAD as error:
            raise self._wrong(name, f"is damaged: {error}") from error

    def _pieces(self, name: str, most_bytes: int) -> Iterator[bytes]:
        """A file's content, never more than it may have, whatever the file says of itself."""
        left = most_bytes
        try:
            with self._zip.open(name) as stream:
                while piece := stream.read(_PIECE_BYTES):
                    left -= len(piece)
                    if left < 0:
                        raise self._wrong(name, f"holds more than {most_bytes} bytes")
                    yield piece
        except _BAD as error:
            raise self._wrong(name, f"is damaged: {error}") from error


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{str(value)[:40]!r} is no whole number")
    return value


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")
