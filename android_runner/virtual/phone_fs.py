"""The phone's files as its sync service sees them: a folder of the host that no path can leave.

Every component is opened by itself relative to the one before it, never through a symlink; links are followed here,
an absolute one from the phone's root, so that neither `..` nor a link nor a race with the phone's shell gets out.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_MAX_LINKS = 40
_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_ONLY_TREES = ("system", "vendor", "proc", "sys", "usr", "bin", "etc", "apex", "product")
_WRITABLE_TREES = ("data/local/tmp", "storage/emulated/0", "dev/orch")


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@dataclass(frozen=True, slots=True)
class Place:
    """A resolved path: the open folder that holds it, its name there, and its true path below the root.

    For the root itself `name` is `.`. `writable` says whether the shell user may make or remove `name`.
    """

    folder: int
    name: str
    inner: str
    writable_error: int | None

    def require_writable(self) -> None:
        """Raise `OSError` as a phone does where the shell user may not write."""
        if self.writable_error is not None:
            raise _error(self.writable_error)
        if not os.fstat(self.folder).st_mode & stat.S_IWUSR:
            raise _error(errno.EACCES)


class PhoneFs:
    """One phone's root. `superuser` lifts the limits of the shell user (after `adb root` on a rooted phone)."""

    def __init__(self, root: Path, *, storage_bytes: int | None = None) -> None:
        self.root = root
        self.superuser = False
        self._storage_bytes = storage_bytes

    @contextmanager
    def place(self, path: str, *, follow_last: bool = True, make_parents: bool = False) -> Iterator[Place]:
        """Resolve `path`; raise `OSError` (ENOENT, ENOTDIR, ELOOP, …) as the kernel would."""
        walk = _Walk(self.root, make_parents=make_parents, forbidden=self._forbidden)
        try:
            folder, name = walk.to(path, follow_last=follow_last)
            inner = "/".join([*walk.names, name]) if name != "." else "/".join(walk.names)
            yield Place(folder, name, inner, self._forbidden(inner))
        finally:
            walk.close()

    def stat(self, path: str, *, follow: bool) -> os.stat_result:
        """As `stat` or `lstat`."""
        with self.place(path, follow_last=follow) as place:
            return os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)

    def listing(self, path: str) -> list[tuple[str, os.stat_result]]:
        """Names and `lstat`s of a folder, `.` and `..` among them, as adbd lists them."""
        with self.place(path) as place:
            fd = os.open(place.name, _DIR, dir_fd=place.folder)
            try:
                found = [(name, os.stat(".", dir_fd=fd)) for name in (".", "..")]
                found += [(name, os.stat(name, dir_fd=fd, follow_symlinks=False)) for name in sorted(os.listdir(fd))]
                return found
            finally:
                os.close(fd)

    def open_for_reading(self, path: str) -> int:
        """A descriptor of a regular file; EACCES without its owner's read bit, EISDIR for a folder."""
        with self.place(path) as place:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            fd = os.open(place.name, flags, dir_fd=place.folder)
        mode = os.fstat(fd).st_mode
        if stat.S_ISREG(mode) and (mode & stat.S_IRUSR or self.superuser):
            return fd
        os.close(fd)
        raise _error(errno.EISDIR if stat.S_ISDIR(mode) else errno.EACCES)

    def create(self, path: str, mode: int) -> int:
        """A descriptor of a fresh file, parents made; one that was there is replaced, never written through."""
        with self.place(path, follow_last=False, make_parents=True) as place:
            place.require_writable()
            _remove_file(place)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                fd = os.open(place.name, flags, mode, dir_fd=place.folder)
            except FileExistsError as error:
                raise _error(errno.EISDIR) from error
            os.fchmod(fd, mode)
            return fd

    def symlink(self, path: str, target: str) -> None:
        """Make a link; its target is text and is checked only when somebody follows it."""
        with self.place(path, follow_last=False, make_parents=True) as place:
            place.require_writable()
            _remove_file(place)
            os.symlink(target, place.name, dir_fd=place.folder)

    def remove(self, path: str) -> None:
        """Unlink a file, if it is there."""
        with self.place(path, follow_last=False) as place:
            place.require_writable()
            _remove_file(place)

    def set_mtime(self, path: str, mtime_s: int) -> None:
        """Set both times of what a push has made."""
        with self.place(path, follow_last=False) as place:
            os.utime(place.name, (mtime_s, mtime_s), dir_fd=place.folder, follow_symlinks=False)

    def free_bytes(self) -> int | None:
        """What is left of the phone's storage; None where it has no bound of its own."""
        if self._storage_bytes is None:
            return None
        return max(0, self._storage_bytes - used_bytes(self.root / "data"))

    def _forbidden(self, inner: str) -> int | None:
        if self.superuser or any(inner == tree or inner.startswith(f"{tree}/") for tree in _WRITABLE_TREES):
            return None
        return errno.EROFS if inner.partition("/")[0] in _READ_ONLY_TREES else errno.EACCES


def _remove_file(place: Place) -> None:
    try:
        os.unlink(place.name, dir_fd=place.folder)
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        return


def used_bytes(folder: Path) -> int:
    """Bytes in the regular files below `folder`."""
    total = 0
    for current, _names, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(current, name)).st_size
            except FileNotFoundError:
                continue
    return total


class _Walk:
    """The open folders from the root to where a path has led so far."""

    def __init__(self, root: Path, *, make_parents: bool, forbidden: Callable[[str], int | None]) -> None:
        self._root = str(root)
        self._folders = [os.open(root, _DIR)]
        self._make = make_parents
        self._forbidden = forbidden
        self.names: list[str] = []
        self._links = 0

    def close(self) -> None:
        for fd in self._folders:
            os.close(fd)

    def to(self, path: str, *, follow_last: bool) -> tuple[int, str]:
        if "\0" in path:
            raise _error(errno.EINVAL)
        todo = [part for part in reversed(path.split("/")) if part not in ("", ".")]
        must_be_folder = path.endswith("/")
        while todo:
            name = todo.pop()
            if name == "..":
                self._up()
                continue
            last = not todo
            if last and not (follow_last or must_be_folder):
                return self._folders[-1], name
            target = self._link_target(name)
            if target is not None:
                self._follow(target, todo)
            elif last:
                return self._folders[-1], name
            else:
                self._into(name)
        return self._folders[-1], "."

    def _up(self) -> None:
        if self.names:
            self.names.pop()
            os.close(self._folders.pop())

    def _link_target(self, name: str) -> str | None:
        try:
            return os.readlink(name, dir_fd=self._folders[-1])
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            raise

    def _follow(self, target: str, todo: list[str]) -> None:
        self._links += 1
        if self._links > _MAX_LINKS:
            raise _error(errno.ELOOP)
        if target.startswith("/"):
            if target.startswith(f"{self._root}/"):
                # An unconfined shell sees the host's names; what it links inside its own root still means the root.
                target = target.removeprefix(self._root)
            while self.names:
                self._up()
        todo.extend(part for part in reversed(target.split("/")) if part not in ("", "."))

    def _into(self, name: str) -> None:
        here = self._folders[-1]
        try:
            fd = os.open(name, _DIR, dir_fd=here)
        except FileNotFoundError:
            if not self._make:
                raise
            inner = "/".join([*self.names, name])
            Place(here, name, inner, self._forbidden(inner)).require_writable()
            os.mkdir(name, 0o775, dir_fd=here)
            fd = os.open(name, _DIR, dir_fd=here)
        self._folders.append(fd)
        self.names.append(name)
