"""What can go wrong on the host, and the exit codes.

FarmError
├─ UsageError(problems)      exit 2     bad input, all of it at once: file, place, mend
├─ VariantError                         one variant cannot be built; its cases are dropped with the reason
├─ NoUsableDevice            exit 4
└─ StoreError                exit 2     ledger or evidence missing, newer than the program, not writable
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process ends with; `worst` decides between several."""

    DONE = 0
    GATE_FAILED = 1
    USAGE = 2
    INCOMPLETE = 3
    NO_DEVICE = 4
    BUG = 70
    INTERRUPTED = 130


_ORDER = (
    ExitCode.BUG,
    ExitCode.INTERRUPTED,
    ExitCode.USAGE,
    ExitCode.NO_DEVICE,
    ExitCode.GATE_FAILED,
    ExitCode.INCOMPLETE,
)


def worst(codes: Sequence[ExitCode]) -> ExitCode:
    """The code that stands for several: 70, 130, 2, 4, 1, 3 in this order, else 0."""
    return next((code for code in _ORDER if code in codes), ExitCode.DONE)


MAX_PART_CHARS = 2000
"""Bound on each part of a problem as it is said."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with the input: the file or option, the place in it, what is wrong, how to mend it."""

    where: str
    what: str
    mend: str = ""

    def line(self) -> str:
        """The problem as one line of text; what is longer than anybody reads (a word of a hostile file) is cut."""
        where, what, mend = (_cut(part) for part in (self.where, self.what, self.mend))
        return f"{where}: {what}" + (f" ({mend})" if mend else "")


def _cut(text: str) -> str:
    return text if len(text) <= MAX_PART_CHARS else text[: MAX_PART_CHARS - 1] + "…"


_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def is_no_room(error: BaseException) -> bool:
    """Whether a write failed because the disk, a quota or a limit on files is full."""
    return isinstance(error, OSError) and error.errno in _NO_ROOM


class FarmError(Exception):
    """Base of the tree."""

    exit_code = ExitCode.BUG


class UsageError(FarmError):
    """The input can't be used as asked; nothing was started."""

    exit_code = ExitCode.USAGE

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(problem.line() for problem in problems))
        self.problems = problems


class VariantError(FarmError):
    """One variant of a model cannot be built."""

    exit_code = ExitCode.DONE


class NoUsableDevice(FarmError):
    """No phone can be used; the message lists those seen, each with its mend."""

    exit_code = ExitCode.NO_DEVICE


class StoreError(FarmError):
    """Ledger or evidence can't be read or written."""

    exit_code = ExitCode.USAGE
