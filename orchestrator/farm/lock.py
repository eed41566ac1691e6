"""One claim a phone on this host: an flock that the kernel drops when its holder dies, and one for who is next.

The files hold who has them, for people: `run user pid`. Claims on phones lie where every user of the host may write, so
that runs with different homes and users meet.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pwd
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import Problem, UsageError

_MEETING_PLACES = (Path("/run/lock"), Path("/tmp"))
_TRIES = 5
_TRY_S = 0.01
"""Who looks whether somebody waits holds that file for a moment."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a phone: the run's name, the user, the process."""

    run_id: str
    user: str
    pid: int

    def text(self) -> str:
        """`7k2f (nina)`, as tables show it."""
        return f"{self.run_id.rsplit('-', 1)[-1]} ({self.user})"


_SOMEBODY = Holder("?", "?", 0)


def user_name() -> str:
    """Who we are by the system's list of users, whatever the environment says; a number where it has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def meeting_place() -> Path:
    """The folder of claims on phones: below one that all users of this host may write, whatever TMPDIR says."""
    for place in _MEETING_PLACES:
        with suppress(OSError):
            if place.stat().st_mode & stat.S_IWOTH:
                return place / "orch-locks"
    return _MEETING_PLACES[-1] / "orch-locks"


class _Claim:
    """One lock file. `open_to_all`: other users may take it, whatever this one's umask."""

    def __init__(self, path: Path, *, open_to_all: bool) -> None:
        self.path = path
        self._open_to_all = open_to_all
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    def take(self, run_id: str) -> bool:
        """Take it now, or not. Raises UsageError when its file can't be had."""
        descriptor = self._open()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{run_id} {user_name()} {os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor
        return True

    def holder(self) -> Holder | None:
        """Who has it now; None when nobody has."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            words = os.pread(descriptor, 300, 0).decode(errors="replace").split()
            known = len(words) == 3 and words[2].isdigit()
            return Holder(words[0], words[1], int(words[2])) if known else _SOMEBODY
        finally:
            os.close(descriptor)
        return None

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        """The file, made when missing. In a folder of all users Linux refuses O_CREAT on a file of another one."""
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        for _ in range(_TRIES):
            try:
                return os.open(self.path, flags)
            except FileNotFoundError:
                self._make_folder()
            except PermissionError:
                time.sleep(_TRY_S)  # its maker is about to open it to us
                continue
            except OSError as error:
                raise self._unusable(error) from error
            try:
                descriptor = os.open(self.path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:
                continue
            except PermissionError as error:
                raise self._unusable(error) from error
            if self._open_to_all:
                os.fchmod(descriptor, 0o666)
            return descriptor
        raise self._unusable(PermissionError(0, "belongs to another user"))

    def _make_folder(self) -> None:
        folder = self.path.parent
        try:
            if not self._open_to_all:
                folder.mkdir(parents=True, exist_ok=True)
            elif not folder.is_dir():
                made = folder.with_name(f".{folder.name}.{os.getpid()}")
                made.mkdir()
                made.chmod(0o1777)
                with suppress(OSError):  # somebody else was faster
                    made.rename(folder)
                with suppress(FileNotFoundError):
                    made.rmdir()
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> UsageError:
        mend = f"chmod 1777 {self.path.parent}" if self._open_to_all else "make it writable"
        return UsageError(Problem(str(self.path), f"the claim can't be taken: {error.strerror}", mend))


class PhoneLock:
    """An exclusive claim on one phone, by identity, with a place for the one who is next."""

    def __init__(self, identity: str, folder: Path | None = None) -> None:
        self.folder = folder if folder is not None else meeting_place()
        name = hashlib.sha256(identity.encode()).hexdigest()[:24]
        self.path = self.folder / f"{name}.lock"
        self._claim = _Claim(self.path, open_to_all=folder is None)
        self._next = _Claim(self.folder / f"{name}.next", open_to_all=folder is None)

    @property
    def held(self) -> bool:
        """Whether this process has the claim by this object."""
        return self._claim.held

    def take(self, run_id: str) -> Holder | None:
        """Take the claim; the present holder when somebody else has it, or waits for it.

        Raises UsageError when the claim's file can't be had.
        """
        for _ in range(_TRIES):
            if self._next.take(run_id):
                taken = self._claim.take(run_id)
                self._next.release()
                return None if taken else self.holder() or _SOMEBODY
            time.sleep(_TRY_S)
        return self.holder() or self._next.holder() or _SOMEBODY

    def wait(self, run_id: str, stopped: Callable[[], bool], *, poll_s: float = 0.2) -> bool:
        """Take the claim when it is free, after those who waited before; False when `stopped` says so first."""
        try:
            for claim in (self._next, self._claim):
                while not claim.take(run_id):
                    if stopped():
                        return False
                    time.sleep(poll_s)
            return True
        finally:
            self._next.release()

    def holder(self) -> Holder | None:
        """Who holds the claim now; None when it is free."""
        return self._claim.holder()

    def waiting(self) -> Holder | None:
        """Who is next; None when nobody waits."""
        return self._next.holder()

    def release(self) -> None:
        """Give the claim back."""
        self._claim.release()
