"""One claim a phone on this host: an flock that the kernel drops when its holder dies.

The file holds who has it, for people: `run user pid`. It lies in the machine's temporary folder, so that runs with
different homes and users meet.
"""

from __future__ import annotations

import fcntl
import getpass
import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a phone: the run's name, the user, the process."""

    run_id: str
    user: str
    pid: int

    def text(self) -> str:
        """`7k2f (nina)`, as tables show it."""
        return f"{self.run_id.rsplit('-', 1)[-1]} ({self.user})"


class PhoneLock:
    """An exclusive claim on one phone, by identity."""

    def __init__(self, identity: str, folder: Path | None = None) -> None:
        self.folder = folder if folder is not None else Path(tempfile.gettempdir()) / "orch-locks"
        self.path = self.folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:24]}.lock"
        self._descriptor: int | None = None

    def take(self, run_id: str) -> Holder | None:
        """Take the claim; the present holder when somebody else has it."""
        self.folder.mkdir(mode=0o1777, parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return self.holder() or Holder("?", "?", 0)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{run_id} {getpass.getuser()} {os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor
        return None

    def holder(self) -> Holder | None:
        """Who holds the claim now; None when it is free."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            words = os.pread(descriptor, 300, 0).decode(errors="replace").split()
            return Holder(words[0], words[1], int(words[2])) if len(words) == 3 and words[2].isdigit() else None
        finally:
            os.close(descriptor)
        return None

    def release(self) -> None:
        """Give the claim back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
