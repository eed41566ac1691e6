"""Pure: what a session is to be told, before any language spells it; and what no session option can say."""

from __future__ import annotations

from dataclasses import dataclass

from android_runner.invocation import DENORMALS_KEY, SPINNING_KEY
from android_runner.ort import REPLAY_KEY, ExecutionProvider, OptimizationLevel
from android_runner.settings import SessionSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """A measured case for an app: the model's file name, the settings, and the words of the cores it was bound to.

    `replay_saved`: the measured session was told to replay saved runtime optimizations (ORT 1.30 and later).
    """

    model_file: str
    settings: SessionSettings
    cores: str = ""
    replay_saved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What differs from a session of which nothing is asked; None and True where nothing does.

    `entries` are session config entries. `remarks` are what the code can't do, a line each.
    """

    level: OptimizationLevel | None
    intra_op_threads: int | None
    inter_op_threads: int | None
    parallel: bool
    arena: bool
    memory_pattern: bool
    entries: tuple[tuple[str, str], ...]
    nnapi: bool
    nnapi_flags: tuple[str, ...]
    remarks: tuple[str, ...]


def asked_of(what: HandOver) -> Asked:
    """What a session is to be told."""
    s = what.settings
    entries = dict(s.config)
    if not s.spinning:
        entries[SPINNING_KEY] = "0"
    if s.denormals_as_zero:
        entries[DENORMALS_KEY] = "1"
    if what.replay_saved:
        entries[REPLAY_KEY] = "1"
    bound = f"measured on the cores {_one_line(what.cores)} only: no session option binds a whole process"
    return Asked(
        level=s.level,
        intra_op_threads=s.intra_op_threads,
        inter_op_threads=s.inter_op_threads,
        parallel=s.parallel_executor,
        arena=s.arena,
        memory_pattern=s.memory_pattern,
        entries=tuple(sorted(entries.items())),
        nnapi=s.provider is ExecutionProvider.NNAPI,
        nnapi_flags=tuple(flag.name for flag in s.nnapi_flags),
        remarks=(bound,) if what.cores else (),
    )


def _one_line(words: str) -> str:
    return " ".join(words.split())


def quoted(text: str, *, dollar: bool = False) -> str:
    """A string literal of C++, C#, Java and Python alike (Kotlin: `dollar`, which must not begin a template there).

    Printable ASCII stands as it is; all else is a \\u escape of UTF-16, as all but Python and C++ know no other, and
    these know it as well within the basic plane. Raises ValueError for control characters and for what lies beyond.
    """
    found = []
    for letter in text:
        code = ord(letter)
        if code < 0x20 or code == 0x7F or 0xD800 <= code <= 0xDFFF or code > 0xFFFF:
            raise ValueError(f"{text!r} can't stand in code")
        if letter in '"\\' or (dollar and letter == "$"):
            found.append("\\" + letter)
        else:
            found.append(letter if code < 0x7F else f"\\u{code:04x}")
    return '"' + "".join(found) + '"'
