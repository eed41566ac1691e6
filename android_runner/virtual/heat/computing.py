"""Which perf_tests compute on a phone now, and with how many threads: what heats it."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

_COMM = b"onnxruntime_per"
"""The kernel keeps 15 bytes of a program's name; a script has its own, not its interpreter's."""
_THREADS = re.compile(rb"--?x=?([0-9]{1,3})")


def computing_threads(proc: Path, mark: str, cores: int) -> int:
    """Threads of all perf_tests that a `/proc` folder lists.

    `mark` is an entry that their environment must have, where the folder is not the phone's own; empty: any. Without
    `-x` one computes with a thread a core.
    """
    total = 0
    for entry in proc.iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            if not (entry / "comm").read_bytes().startswith(_COMM):
                continue
            if mark and mark.encode() not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            total += threads_of((entry / "cmdline").read_bytes(), cores)
        except OSError:  # it has ended meanwhile
            continue
    return total


def threads_of(cmdline: bytes, cores: int) -> int:
    """Threads that a command line of perf_test asks for (words ended by zero bytes); 0 for one that has ended."""
    words = cmdline.split(b"\0")
    if words == [b""]:
        return 0
    asked = 0
    for word, following in itertools.pairwise(words):
        given = word + b"=" + following if word in (b"-x", b"--x") else word
        found = _THREADS.fullmatch(given)
        asked = int(found[1]) if found is not None else asked
    return asked or cores
