"""Evidence: raw bytes in files under their own digest, `evidence/ab/<sha256>`, durable before anybody reads them.

A file is written beside its place, flushed to disk, then renamed; so what has its name is whole. Larger texts lie
gzipped as `<sha256>.gz`; the digest is that of the content.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from orchestrator.digest import digest_of_file
from orchestrator.errors import StoreError

GZIP_FROM_BYTES = 64 * 1024
MAX_FILE_BYTES = 4 * 1024**3
_PIECE_BYTES = 1024 * 1024
_BLOCK_BYTES = 512
"""The unit of `st_blocks`, whatever the file system's own blocks are (stat(2))."""
_SAMPLE_BYTES = 4096
_GZIP_LEVEL = 3
_DIGEST = re.compile(r"[0-9a-f]{64}")


class EvidenceCleaned(StoreError):
    """Raw files that somebody cleaned: neither lost nor damaged."""


class EvidenceStore:
    """The evidence of a home. Any number of threads and processes may keep and read at once."""

    def __init__(self, home: Path, cleaned: Callable[[str], str] | None = None) -> None:
        """`cleaned` says of a digest when it was cleaned, "" where it was not."""
        self.directory = home / "evidence"
        self._cleaned = cleaned

    def knowing(self, cleaned: Callable[[str], str]) -> EvidenceStore:
        """The same, for who knows what was cleaned."""
        return EvidenceStore(self.directory.parent, cleaned)

    def keep_bytes(self, data: bytes) -> str:
        """Keep `data`; its sha256. Raises StoreError."""
        sha256 = hashlib.sha256(data).hexdigest()
        try:
            if not self._renewed(sha256):
                self._write(io.BytesIO(data), sha256, gzipped=_worth_gzip(data[:_SAMPLE_BYTES], len(data)))
        except OSError as error:
            raise _not_kept(f"{len(data)} bytes", error) from error
        return sha256

    def keep(self, path: Path) -> str:
        """Keep a file; the sha256 of its content. It is moved away from `path`, and gone there afterwards.

        Raises StoreError: it can't be read, can't be written, or is larger than anything a phone gives.
        """
        return self.keep_many({"file": path})["file"]

    def keep_many(self, files: Mapping[str, Path]) -> dict[str, str]:
        """Keep several files, as `keep` does; sha256 by the given name. All are on disk when it returns."""
        kept: dict[str, str] = {}
        folders: set[Path] = set()
        for name, path in files.items():
            try:
                kept[name] = self._take(path, folders)
            except OSError as error:
                raise _not_kept(str(path), error) from error
        for folder in folders:
            _flush_folder(folder)
        return kept

    def _take(self, path: Path, folders: set[Path]) -> str:
        """Bring one file to its place; the folders whose entries must be flushed are added to `folders`."""
        size_bytes = path.stat(follow_symlinks=False).st_size
        if path.is_symlink() or not path.is_file():
            raise StoreError(f"{path}: no plain file, so no evidence")
        if size_bytes > MAX_FILE_BYTES:
            raise StoreError(f"{path}: {size_bytes} bytes are more than evidence may have ({MAX_FILE_BYTES})")
        sha256 = digest_of_file(path)
        if not self._renewed(sha256):
            with path.open("rb") as stream:
                gzipped = _worth_gzip(stream.read(_SAMPLE_BYTES), size_bytes)
            if gzipped or not self._move(path, sha256):
                with path.open("rb") as stream:
                    self._write(stream, sha256, gzipped=gzipped, flush_folder=False)
        folders.update((self.directory / sha256[:2], self.directory))
        path.unlink(missing_ok=True)
        return sha256

    def _move(self, path: Path, sha256: str) -> bool:
        """Move within a file system, when it is one."""
        target = self.directory / sha256[:2] / sha256
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.stat().st_dev != target.parent.stat().st_dev:
            return False
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
        path.chmod(0o644)
        path.replace(target)
        return True

    def _write(self, source: BinaryIO, sha256: str, *, gzipped: bool, flush_folder: bool = True) -> None:
        folder = self.directory / sha256[:2]
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f".{secrets.token_hex(8)}.part"
        try:
            with part.open("wb") as stream:
                if gzipped:
                    with gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0, compresslevel=_GZIP_LEVEL) as z:
                        shutil.copyfileobj(source, z)
                else:
                    shutil.copyfileobj(source, stream)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(folder / (f"{sha256}.gz" if gzipped else sha256))
        finally:
            part.unlink(missing_ok=True)
        if flush_folder:
            _flush_folder(folder)
            _flush_folder(self.directory)

    def _renewed(self, sha256: str) -> bool:
        """Whether the content is there already; it is as new from now on, so that `remove` leaves it alone.

        What can't be touched (another user's, or removed this moment) is written anew.
        """
        place = self._place(sha256)
        try:
            if place is not None:
                os.utime(place)
        except (FileNotFoundError, PermissionError):
            return False
        return place is not None

    def everything(self) -> Iterator[tuple[str, float]]:
        """Every content that is there, by digest, and when it was kept last (seconds since 1970)."""
        for folder in sorted(self.directory.glob("[0-9a-f][0-9a-f]")):
            for path in sorted(folder.glob("[0-9a-f]*")):
                name = path.name.removesuffix(".gz")
                try:
                    if _DIGEST.fullmatch(name):
                        yield name, path.stat().st_mtime
                except OSError:
                    continue

    def has(self, sha256: str) -> bool:
        """Whether the content is there, also one of no bytes."""
        return self._place(sha256) is not None

    def size_bytes(self, sha256: str) -> int:
        """What the content takes on the disk; 0 where it is not there."""
        try:
            place = self._place(sha256)
            return 0 if place is None else allocated_bytes(place.stat())
        except OSError:
            return 0

    def remove(self, sha256: str, *, untouched_since_s: float) -> int:
        """Remove a content that nobody kept after this moment (seconds since 1970); the bytes that it gave back.

        Somebody may keep the same content at this very moment: so it is moved aside, looked at, and put back when it
        was touched. Who comes later finds none, and writes it anew. Raises OSError.
        """
        place = self._place(sha256)
        if place is None:
            return 0
        aside = place.with_name(f".{secrets.token_hex(8)}.part")
        try:
            place.rename(aside)
        except FileNotFoundError:
            return 0
        found = aside.stat()
        if found.st_mtime > untouched_since_s:
            aside.rename(place)
            return 0
        aside.unlink()
        return allocated_bytes(found)

    def _place(self, sha256: str) -> Path | None:
        """Where a digest's content lies, plain or gzipped."""
        if not _DIGEST.fullmatch(sha256):
            raise StoreError(f"{sha256[:80]!r} is no digest of evidence")
        plain = self.directory / sha256[:2] / sha256
        return next((path for path in (plain, plain.with_name(f"{sha256}.gz")) if path.is_file()), None)

    def path(self, sha256: str) -> Path:
        """The file that holds a digest's content, gzipped if its name ends in `.gz`. Raises StoreError, and of these
        EvidenceCleaned where that is known."""
        place = self._place(sha256)
        if place is None and self._cleaned is not None and (when := self._cleaned(sha256)):
            raise EvidenceCleaned(f"raw files cleaned on {when}")
        if place is None:
            raise StoreError(f"evidence {sha256} is missing from {self.directory} (bring it back from a copy)")
        return place

    def open(self, sha256: str) -> BinaryIO:
        """The content as a stream. Raises StoreError when it is missing."""
        place = self.path(sha256)
        try:
            return gzip.open(place, "rb") if place.suffix == ".gz" else place.open("rb")  # type: ignore[return-value]
        except OSError as error:
            raise StoreError(f"evidence {sha256} can't be read: {error.strerror or error}") from error

    def pieces(self, sha256: str, piece_bytes: int = _PIECE_BYTES) -> Iterator[bytes]:
        """The content in pieces. Raises StoreError: missing, damaged; also after the last piece, by its digest."""
        found = hashlib.sha256()
        try:
            with self.open(sha256) as stream:
                while piece := stream.read(piece_bytes):
                    found.update(piece)
                    yield piece
        except (OSError, EOFError, zlib.error) as error:
            raise StoreError(f"evidence {sha256} is damaged: {error}") from error
        if found.hexdigest() != sha256:
            raise StoreError(f"evidence {sha256} is damaged: its content has another digest")

    def read(self, sha256: str, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        """The content. Raises StoreError: missing, damaged (the digest differs), or more than `max_bytes`."""
        try:
            with self.open(sha256) as stream:
                data = _at_most(stream, max_bytes + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise StoreError(f"evidence {sha256} is damaged: {error}") from error
        if len(data) > max_bytes:
            raise StoreError(f"evidence {sha256} has more than {max_bytes} bytes")
        if hashlib.sha256(data).hexdigest() != sha256:
            raise StoreError(f"evidence {sha256} is damaged: its content has another digest")
        return data


def allocated_bytes(found: os.stat_result) -> int:
    """What a file takes on its disk, which is more than it holds where it is small."""
    return found.st_blocks * _BLOCK_BYTES


def _at_most(stream: BinaryIO, count_bytes: int) -> bytes:
    """The stream's first bytes. In pieces, since `read(n)` sets aside n bytes before it knows how few there are."""
    pieces: list[bytes] = []
    left = count_bytes
    while left > 0 and (piece := stream.read(min(left, _PIECE_BYTES))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _worth_gzip(sample: bytes, size_bytes: int) -> bool:
    """Text over 64 KiB; what has NULs or is no UTF-8 is not text."""
    if size_bytes <= GZIP_FROM_BYTES or b"\0" in sample:
        return False
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(sample) - 3
    return True


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _not_kept(what: str, error: OSError) -> StoreError:
    return StoreError(f"evidence {what} can't be kept: {error.strerror or error}")
