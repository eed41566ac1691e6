"""What a binary file is, read on the host without running it: for which phones it is built, what it needs, which ORT.

Only headers, the dynamic section and notes are parsed (pyelftools over a memory map); the rest is searched for a few
byte strings that every ONNX Runtime build carries. Nothing in the file is trusted: counts are bounded, and whatever is
not as it must be is `BinaryUnusable`.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, cast

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from android_runner.errors import BinaryUnusable
from android_runner.ort import OrtVersion
from android_runner.ort_build import holds_runtime, ort_version_in

MAX_DYNAMIC_TAGS = 4096
MAX_SEGMENTS = 256
MAX_NEEDED = 256
MAX_NAME_CHARS = 512
MAX_NOTE_BYTES = 4096
_DF_1_PIE = 0x08000000
_DF_TEXTREL = 0x4

_ANDROID_ABIS = {"EM_AARCH64": "arm64-v8a", "EM_ARM": "armeabi-v7a", "EM_X86_64": "x86_64", "EM_386": "x86"}
_LINUX_ABIS = {"EM_AARCH64": "linux-aarch64", "EM_ARM": "linux-arm", "EM_X86_64": "linux-x86_64", "EM_386": "linux-x86"}

OURS = ("libonnxruntime*.so*", "libc++_shared.so", "libQnn*.so")
"""Libraries that neither Android nor a Linux distribution brings, so that they must be given with the binary."""

_ELF_PROBLEMS = (ELFError, ConstructError, ArithmeticError, AssertionError, AttributeError, EOFError, LookupError,
                 MemoryError, RecursionError, TypeError, ValueError, struct.error)  # fmt: skip
"""What pyelftools lets through when a file lies about itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryFile:
    """A program or shared library.

    `interpreter` is the dynamic loader, for a script the program of its first line. `exec_abi` is the name by which a
    phone says that it executes such files (Android's ABI names, `linux-x86_64`, …); None for a script.
    `is_executable` tells a program from a lone library. `android_api` is the NDK's target API level.
    `ort_version` is that of the runtime inside, or which it was linked to; `has_nnapi` and `replay_key` are told only
    of a file that holds the runtime (None elsewhere). `position_independent`: it can be loaded at any address, as
    Android asks of programs. `page_bytes` is the largest memory page that it can be loaded with (the least alignment
    of what is loaded); None where nothing is. `text_relocations`: its code must be written to for loading, which
    Android refuses from API 23 on.
    """

    path: Path
    kind: Literal["elf", "script"]
    machine: str
    bits: int
    interpreter: str
    needed: tuple[str, ...]
    soname: str
    exec_abi: str | None
    is_executable: bool
    android_api: int | None
    ort_version: OrtVersion | None
    has_nnapi: bool | None
    replay_key: bool | None
    position_independent: bool = True
    page_bytes: int | None = None
    text_relocations: bool = False


def inspect_binary(path: Path) -> BinaryFile:
    """Read a program or shared library. Raises BinaryUnusable naming the file, what is wrong and the mend."""
    try:
        if path.stat().st_size == 0:
            raise BinaryUnusable(f"{path}: is empty; copy or build it again")
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content[:2] == b"#!":
                return _script(path, content[:MAX_NAME_CHARS])
            if content[:4] != b"\x7fELF":
                raise BinaryUnusable(f"{path}: is neither an ELF file nor a script; give one built for the phone")
            with _as_unusable(path):
                return _elf(path, content)
    except OSError as error:
        raise BinaryUnusable(f"{path}: cannot be read ({error.strerror or error}); check the path") from error


@contextlib.contextmanager
def _as_unusable(path: Path) -> Iterator[None]:
    try:
        yield
    except _ELF_PROBLEMS as error:
        what = str(error).split("\n", 1)[0][:120] or type(error).__name__
        raise BinaryUnusable(f"{path}: is a damaged or cut ELF file ({what}); copy or build it again") from error


def _script(path: Path, head: bytes) -> BinaryFile:
    words = head[2:].split(b"\n", 1)[0].decode("utf-8", errors="replace").split()
    if not words:
        raise BinaryUnusable(f"{path}: its first line names no interpreter; write one behind #!")
    return BinaryFile(
        path=path,
        kind="script",
        machine="",
        bits=0,
        interpreter=words[0],
        needed=(),
        soname="",
        exec_abi=None,
        is_executable=True,
        android_api=None,
        ort_version=None,
        has_nnapi=None,
        replay_key=None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Segments:
    """What the program headers tell."""

    interpreter: str = ""
    needed: tuple[str, ...] = ()
    soname: str = ""
    pie: bool = False
    text_relocations: bool = False
    android_note: bool = False
    android_api: int | None = None
    page_bytes: int | None = None


def _elf(path: Path, content: mmap.mmap) -> BinaryFile:
    elf = ELFFile(cast(IO[bytes], content))
    machine = str(elf["e_machine"])
    found = _segments(elf, len(content))
    executable = elf["e_type"] == "ET_EXEC" or (elf["e_type"] == "ET_DYN" and (bool(found.interpreter) or found.pie))
    bionic = "liblog.so" in found.needed or (not found.interpreter and "libc.so" in found.needed)  # glibc: libc.so.6
    android = found.android_note or "/linker" in found.interpreter or bionic
    runtime = holds_runtime(content)
    return BinaryFile(
        path=path,
        kind="elf",
        machine=machine,
        bits=int(elf.elfclass),
        interpreter=found.interpreter,
        needed=found.needed,
        soname=found.soname,
        exec_abi=(_ANDROID_ABIS if android else _LINUX_ABIS).get(machine, machine.removeprefix("EM_").lower()),
        is_executable=executable,
        android_api=found.android_api,
        ort_version=ort_version_in(content),
        has_nnapi=content.find(b"NnapiExecutionProvider::GetCapability") >= 0 if runtime else None,
        replay_key=content.find(b"session.enable_saved_runtime_optimizations") >= 0 if runtime else None,
        position_independent=elf["e_type"] == "ET_DYN",
        page_bytes=found.page_bytes,
        text_relocations=found.text_relocations,
    )


def _segments(elf: ELFFile, size_bytes: int) -> _Segments:
    count = int(elf["e_phnum"])
    if not 0 < count <= MAX_SEGMENTS or elf["e_phoff"] + count * elf["e_phentsize"] > size_bytes:
        raise ELFError(f"{count} program headers at {elf['e_phoff']} in {size_bytes} bytes")
    interpreter, found, (note, api) = "", _Segments(), (False, None)
    pages: list[int] = []
    for index in range(count):
        header = elf._get_segment_header(index)
        start, size, kind = int(header["p_offset"]), int(header["p_filesz"]), header["p_type"]
        if kind not in ("PT_LOAD", "PT_INTERP", "PT_DYNAMIC", "PT_NOTE"):
            continue
        if start + size > size_bytes:
            raise ELFError(f"{kind} ends at {start + size} of {size_bytes} bytes")
        if kind == "PT_LOAD":
            pages.append(_page_of(header))
        elif kind == "PT_INTERP":
            interpreter = _name(_read(elf, start, min(size, MAX_NAME_CHARS)))
        elif kind == "PT_NOTE" and not note:
            note, api = _android_note(_read(elf, start, min(size, MAX_NOTE_BYTES)))
        elif kind == "PT_DYNAMIC":
            found = _dynamic(elf, index)
    least = min(pages, default=None)
    return replace(found, interpreter=interpreter, android_note=note, android_api=api, page_bytes=least)


def _page_of(header: Any) -> int:
    """The largest page with which a PT_LOAD can be mapped: its alignment, as far as address and offset keep to it."""
    page = max(int(header["p_align"]), 1)
    if page & (page - 1):
        raise ELFError(f"PT_LOAD is aligned to {page}, no power of two")
    apart = abs(int(header["p_vaddr"]) - int(header["p_offset"]))
    return min(page, apart & -apart) if apart else page


def _dynamic(elf: ELFFile, index: int) -> _Segments:
    segment = elf.get_segment(index)
    if not isinstance(segment, DynamicSegment):
        raise ELFError("its dynamic segment is none")
    values: dict[str, list[int]] = {}
    for tag in islice(segment._iter_tags(), MAX_DYNAMIC_TAGS):
        values.setdefault(str(tag["d_tag"]), []).append(int(tag["d_val"]))
    if len(values.get("DT_NEEDED", ())) > MAX_NEEDED:
        raise ELFError(f"it needs {len(values['DT_NEEDED'])} libraries")

    def names(tag: str) -> tuple[str, ...]:
        if tag not in values:
            return ()
        table = _place_of(elf, values["DT_STRTAB"][0])
        return tuple(_name(_read(elf, table + at, MAX_NAME_CHARS)) for at in values[tag])

    return _Segments(
        needed=names("DT_NEEDED"),
        soname="".join(names("DT_SONAME")[:1]),
        pie=any(flags & _DF_1_PIE for flags in values.get("DT_FLAGS_1", ())),
        text_relocations="DT_TEXTREL" in values or any(flags & _DF_TEXTREL for flags in values.get("DT_FLAGS", ())),
    )


def _place_of(elf: ELFFile, address: int) -> int:
    """Where in the file an address of the loaded program lies. Raises ELFError."""
    place = next(elf.address_offsets(address), None)
    if place is None:
        raise ELFError(f"nothing is loaded at {address:#x}")
    return int(place)


def _read(elf: ELFFile, start: int, size: int) -> bytes:
    elf.stream.seek(start)
    return bytes(elf.stream.read(size))


def _name(raw: bytes) -> str:
    """A NUL-terminated name as printable text, bounded."""
    text = raw[:MAX_NAME_CHARS].split(b"\0", 1)[0].decode("utf-8", errors="replace")
    return "".join(char if char.isprintable() else "?" for char in text)


def _android_note(notes: bytes) -> tuple[bool, int | None]:
    """Whether the NDK's note is among `notes`, and its API level (bionic's `crtbrand.S`: type 1, name `Android`)."""
    at = notes.find(b"Android\0")
    if at < 12:
        return False, None
    name_bytes, _, kind = struct.unpack_from("<III", notes, at - 12)
    if name_bytes != 8 or kind != 1 or len(notes) < at + 12:
        return False, None
    (level,) = struct.unpack_from("<I", notes, at + 8)
    return True, int(level)


def missing_libraries(binary: BinaryFile, libraries: Sequence[Path]) -> list[str]:
    """Names of needed shared libraries that no phone brings and that are not among `libraries`, nor are its needs.

    The dynamic loader goes by file name: a library given under another name, as wheels carry it
    (`libonnxruntime.so.1.21.0`), does not count. Raises BinaryUnusable as `inspect_binary`.
    """
    given = {library.name for library in libraries}
    needed = [*binary.needed, *(name for library in libraries for name in inspect_binary(library).needed)]
    return [name for name in dict.fromkeys(needed) if name not in given and any(fnmatchcase(name, o) for o in OURS)]


def mismatch(binary: BinaryFile, libraries: Sequence[BinaryFile]) -> str | None:
    """Why the libraries do not go with the binary: another architecture, or another ORT than it was linked to.

    None when nothing speaks against them. The architecture is compared only of what the loader takes in with the
    program: what is opened later may be for another processor (`libQnnHtpV73Skel.so` is for the DSP).
    """
    loaded = {name for file in (binary, *libraries) for name in file.needed}
    for library in libraries:
        elves = binary.kind == library.kind == "elf"
        if elves and library.path.name in loaded and library.exec_abi != binary.exec_abi:
            return f"{library.path.name} is built for {library.exec_abi}, {binary.path.name} for {binary.exec_abi}"
        versions = (binary.ort_version, library.ort_version)
        if None not in versions and versions[0] != versions[1] and library.path.name.startswith("libonnxruntime.so"):
            return f"{binary.path.name} asks for onnxruntime {versions[0]}, {library.path.name} is {versions[1]}"
    return None
