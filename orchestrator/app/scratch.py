"""Where lanes put what they pull, until it is evidence: a folder a run in its home, removed when nobody lives in it.

What a dead process left there is on its phones still (a block's folder goes when its rows are safe), so it may go. A
folder is its process's by a lock on the folder itself, which ends with the process however it dies.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.home import Home

_PREFIX = ".collect-"


def make_scratch(home: Home) -> Path:
    """A new folder, this process's until it ends; what dead ones left is removed first."""
    for folder in home.root.glob(f"{_PREFIX}*"):
        remove_scratch(folder)
    made = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=home.root))
    _lock(made)  # never closed: the kernel does that when this process ends
    return made


@contextmanager
def scratch_in(home: Home) -> Iterator[Path]:
    """A folder of ours for as long as this lasts."""
    folder = make_scratch(home)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_scratch(folder: Path) -> bool:
    """Remove a folder, unless a living process has it; whether it is gone."""
    lock = _lock(folder)
    if lock is None:
        return not folder.exists()
    try:
        shutil.rmtree(folder, ignore_errors=True)  # somebody else's, in a shared home: theirs to remove
    finally:
        os.close(lock)
    return not folder.exists()


def _lock(folder: Path) -> int | None:
    """A descriptor that holds the folder; None when another does, or it is gone."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
