"""Takes the programs and libraries that we know by name out of a folder, tar, zip or AAR, into a folder of our own.

An archive comes from anywhere and is trusted with nothing: a member that would lie outside of it, a link in place of a
file that we want, a device, a size above the bounds, or more content than was declared, and all of it is refused.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from orchestrator.errors import Problem, UsageError

PERF_TEST, TEST_RUNNER, RUNTIME, CXX = (
    "onnxruntime_perf_test",
    "onnx_test_runner",
    "libonnxruntime.so",
    "libc++_shared.so",
)
WANTED = (PERF_TEST, TEST_RUNNER, RUNTIME, CXX, "libonnxruntime_providers_*.so", "libQnn*.so")
MAX_MEMBERS = 100_000
MAX_FILE_BYTES = 1 << 30
MAX_ALL_BYTES = 8 << 30
"""Of all that an archive holds, unpacked: what lies before a file must be read to reach it."""
_CHUNK = 1 << 20
_MAX_READ = 16 << 20
"""More than any header of an honest tar: what a header says is read into memory at once."""
_PACKED: dict[bytes, Callable[[Path], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_DAMAGED = (tarfile.TarError, zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, EOFError,
            NotImplementedError, OverflowError, RecursionError, RuntimeError, UnicodeError, ValueError)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Taken:
    """A file that was taken: where it lay in its source, and where it lies now (in a folder's case the same place)."""

    place: str
    path: Path

    @property
    def name(self) -> str:
        """Its file name in the source."""
        return PurePosixPath(self.place).name


def is_wanted(name: str) -> bool:
    """Whether a file of this name is a program or library that we keep."""
    return any(fnmatchcase(name, one) for one in WANTED)


def take(source: Path, into: Path) -> list[Taken]:
    """The known files of a folder or an archive; of an archive unpacked into `into`, which exists and is empty.

    A file that is neither is taken as it is. Raises UsageError for what can't be read, is hostile, or holds none.
    """
    try:
        if source.is_dir():
            found = list(_of_folder(source))
        else:
            with source.open("rb") as stream:
                found = _of_file(source, stream, into)
    except FileNotFoundError as error:
        raise UsageError(Problem(str(source), "is not there", "give a file, a folder or an archive")) from error
    except OSError as error:
        raise UsageError(Problem(str(source), f"can't be read: {error.strerror or error}", "check it")) from error
    if not found:
        inner = "the members of the archive" if source.is_file() else "the files below"
        raise UsageError(
            Problem(str(source), f"none of {inner} is {', '.join(WANTED[:4])}", "see: orch binaries howto")
        )
    return found


def _of_folder(folder: Path) -> Iterator[Taken]:
    seen = 0
    for where, _, names in os.walk(folder):
        seen += len(names)
        if seen > MAX_MEMBERS:
            raise UsageError(Problem(str(folder), f"holds more than {MAX_MEMBERS} files", "give a smaller folder"))
        for name in sorted(names):
            path = Path(where) / name
            if is_wanted(name) and path.is_file():
                yield Taken(path.relative_to(folder).as_posix(), path)


def _of_file(source: Path, stream: IO[bytes], into: Path) -> list[Taken]:
    head = stream.read(512)
    stream.seek(0)
    if head[:4] == b"\x7fELF":
        return [Taken(source.name, source)]
    with _as_usage(source):
        if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            return list(_of_zip(source, into))
        opener = next((one for magic, one in _PACKED.items() if head.startswith(magic)), None)
        if opener is not None or head[257:262] == b"ustar":
            return list(_of_tar(source, opener(source) if opener else source.open("rb"), into))
    raise UsageError(
        Problem(str(source), "is no program, folder, tar (plain, gz, bz2, xz), zip or AAR", "give one of these")
    )


@contextmanager
def _as_usage(source: Path) -> Iterator[None]:
    try:
        yield
    except UsageError:
        raise
    except _DAMAGED as error:
        what = str(error).split("\n", 1)[0][:120] or type(error).__name__
        raise UsageError(Problem(str(source), f"is a damaged archive: {what}", "copy or pack it again")) from error


def _hostile(source: Path, what: str) -> UsageError:
    return UsageError(Problem(str(source), what, "nothing was taken from it; get it from where you trust it"))


class _Bounded:
    """A stream for tarfile that hands out no more than a header's worth at once, whatever a header says."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        """As the stream's, up to a bound. Raises ValueError above it."""
        if not 0 <= size <= _MAX_READ:
            raise ValueError(f"a header of {size} bytes")
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As the stream's. Raises ValueError beyond the bound on all content."""
        if offset > MAX_ALL_BYTES + MAX_MEMBERS * 1024:
            raise ValueError(f"a member at {offset}")
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        """As the stream's."""
        return self._stream.tell()


def _of_tar(source: Path, stream: Any, into: Path) -> Iterator[Taken]:
    bound = _Bound(source)
    with stream, tarfile.open(fileobj=cast(IO[bytes], _Bounded(stream)), mode="r:") as archive:
        for member in archive:
            bound.see(member.name, member.size)
            if not is_wanted(PurePosixPath(member.name).name) or member.isdir():
                continue
            if not member.isreg() or member.sparse is not None:
                kind = f"a link to {member.linkname}" if member.issym() or member.islnk() else "no plain file"
                raise _hostile(source, f"{member.name} is {kind}")
            content = archive.extractfile(member)
            assert content is not None
            yield _written(source, member.name, content, member.size, into / str(bound.count))


def _of_zip(source: Path, into: Path) -> Iterator[Taken]:
    bound = _Bound(source)
    with zipfile.ZipFile(source) as archive:
        for member in archive.infolist():
            bound.see(member.filename, member.file_size)
            if not is_wanted(PurePosixPath(member.filename).name) or member.is_dir():
                continue
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG):
                raise _hostile(source, f"{member.filename} is {'a link' if kind == stat.S_IFLNK else 'no plain file'}")
            if member.flag_bits & 1:
                raise UsageError(Problem(str(source), f"{member.filename} is encrypted", "pack it without a password"))
            with archive.open(member) as content:
                yield _written(source, member.filename, content, member.file_size, into / str(bound.count))


class _Bound:
    """Counts what an archive says it holds."""

    def __init__(self, source: Path) -> None:
        self._source, self._bytes, self.count = source, 0, 0

    def see(self, name: str, size_bytes: int) -> None:
        """One more member. Raises UsageError for one that would lie elsewhere, or is too much."""
        self.count += 1
        self._bytes += size_bytes
        place = PurePosixPath(name.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts or "\0" in name or (place.parts and ":" in place.parts[0]):
            raise _hostile(self._source, f"its member {name[:200]!r} would lie outside of it")
        if self.count > MAX_MEMBERS:
            raise _hostile(self._source, f"has more than {MAX_MEMBERS} members")
        if not 0 <= size_bytes <= MAX_ALL_BYTES - (self._bytes - size_bytes):
            raise _hostile(self._source, f"unpacks to more than {MAX_ALL_BYTES >> 30} GiB")


def _written(source: Path, place: str, content: IO[bytes], size_bytes: int, folder: Path) -> Taken:
    """Write a member under its own file name, exactly as many bytes as were declared."""
    if not 0 < size_bytes <= MAX_FILE_BYTES:
        raise _hostile(source, f"{place[:200]} has {size_bytes} bytes (1 to {MAX_FILE_BYTES} are taken)")
    folder.mkdir()
    path = folder / PurePosixPath(place).name
    left = size_bytes
    with path.open("xb") as out:
        while chunk := content.read(min(_CHUNK, left + 1)):
            left -= len(chunk)
            if left < 0:
                break
            out.write(chunk)
    if left:
        raise _hostile(source, f"{place} is not as long as it says ({size_bytes} bytes)")
    return Taken(place, path)
