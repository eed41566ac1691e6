"""Bounds for code that reads what others wrote: processor time, memory, and where it may write.

Three things end a test that a reader of hostile bytes would otherwise pass: more than `CPU_S` of processor time
for one input (its waiting is bounded by deadlines, and by pytest's), more than `GROWTH_BYTES` of memory on top of what
the process has, and a file that is opened for writing, made, moved or taken away outside of one folder.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

CPU_S = 10.0
GROWTH_BYTES = 384 * 1024 * 1024
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {
    "os.rename": (0, 1),
    "os.mkdir": (0,),
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.symlink": (1,),
    "os.link": (1,),
    "os.truncate": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
    "sqlite3.connect": (0,),
}
"""Audit events of calls that change a file system, and which of their arguments name a place in it."""


class OutsideItsPlace(AssertionError):
    """Something was written where nothing may be written."""


class TooMuchTime(AssertionError):
    """One input takes for ever."""


class _Watch:
    """The audit hook: it can't be taken away again, so it stays, and watches while it is told to."""

    def __init__(self) -> None:
        self.place: str | None = None
        self.thread = 0
        self.watching = False
        self.added = False

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.watching or threading.get_ident() != self.thread:
            return
        for path in _written(event, arguments):
            where = os.path.realpath(os.fsdecode(path))
            if self.place is None or os.path.commonpath([where, self.place]) != self.place:
                raise OutsideItsPlace(f"{event} {where}")


def _written(event: str, arguments: tuple[object, ...]) -> Iterator[str | bytes | os.PathLike[str]]:
    if event == "open":
        path, mode, flags = arguments
        writes = isinstance(flags, int) and flags & _WRITES
        if (writes or set(str(mode or "")) & set("wax+")) and isinstance(path, (str, bytes, os.PathLike)):
            yield path
    for number in _CHANGES.get(event, ()):
        path = arguments[number]
        if isinstance(path, (str, bytes, os.PathLike)):
            yield path


_WATCH = _Watch()


def _out_of_time(_signal: int, _frame: FrameType | None) -> None:
    raise TooMuchTime(f"{CPU_S} s of processor time for one input")


@contextmanager
def guarded(place: Path | None = None) -> Iterator[None]:
    """Run what reads hostile input; it may write below `place`, nowhere without one. Not to be nested."""
    if not _WATCH.added:
        sys.addaudithook(_WATCH)
        _WATCH.added = True
    limits = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGVTALRM, _out_of_time)
    _WATCH.place = None if place is None else os.path.realpath(place)
    _WATCH.thread = threading.get_ident()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + GROWTH_BYTES, limits[1]))
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_S)
    _WATCH.watching = True
    try:
        yield
    finally:
        _WATCH.watching = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGVTALRM, before)
