"""Files that whoever may write or read them can turn against the lab: the adb program, and the keys it signs with.

An adb key opens every phone that ever accepted it, so nobody else may read it (adb itself writes it 0600); an adb
program that others may change is theirs. Each function answers in words, empty when there is nothing to say.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

KEY_NAME = "adbkey"
MAX_KEYS = 1000
"""Bound on the files that a folder of vendor keys is searched for."""


def program_problem(path: Path, uid: int) -> str:
    """What speaks against running `path` as user `uid`: it, or the folder it lies in, is somebody else's to change.

    Root may own it, too. A link is followed to what it names. Raises OSError when there is none.
    """
    real = path.resolve(strict=True)
    for place in (real, real.parent):
        found = place.stat()
        if found.st_uid not in (0, uid):
            return f"{place} belongs to user {found.st_uid}, neither to root nor to user {uid}"
        sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        if found.st_mode & stat.S_IWOTH and not sticky:
            return f"anybody may overwrite {place} (mode {stat.S_IMODE(found.st_mode):o}): chmod o-w {place}"
    return ""


def key_problems(environ: Mapping[str, str], uid: int) -> list[str]:
    """What speaks against the keys that an adb server with this environment would sign with, each with its mend.

    The folder that adb's own key lies in counts too.
    """
    home = environ.get("HOME", "")
    folder = Path(home) / ".android"
    problems = [_folder_problem(folder if folder.is_dir() else Path(home), uid)] if home else []
    problems += [_key_problem(key, uid) for key in key_files(environ)]
    return [problem for problem in problems if problem]


def key_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """The private keys that adb uses in such an environment, whether they are there or not.

    `HOME/.android/adbkey` (made by adb where it is missing) and the files and folders of `ADB_VENDOR_KEYS` (of a
    folder the `*.adb_key`; adb's client/auth.cpp).
    """
    if environ.get("HOME"):
        yield Path(environ["HOME"], ".android", KEY_NAME)
    for name in filter(None, environ.get("ADB_VENDOR_KEYS", "").split(":")):
        place = Path(name)
        if place.is_dir():
            yield from sorted(place.glob("*.adb_key"))[:MAX_KEYS]
        else:
            yield place


def _folder_problem(folder: Path, uid: int) -> str:
    """Whoever owns the folder, or may write to it, can put a key of theirs in the place of ours."""
    try:
        found = folder.stat()
    except OSError:
        return ""  # adb will say so itself
    if found.st_uid != uid:
        return f"{folder} belongs to user {found.st_uid}, not to user {uid}: set HOME to a folder of your own"
    if found.st_mode & stat.S_IWOTH:
        return f"anybody may put a key into {folder}: chmod go-w {folder}"
    return ""


def _key_problem(key: Path, uid: int) -> str:
    try:
        found = os.stat(key)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"the adb key {key} can't be looked at: {error.strerror}"
    if found.st_uid != uid:
        return f"the adb key {key} belongs to user {found.st_uid}, not to user {uid}: make a key of your own"
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        return f"others may use the adb key {key} (mode {mode:o}), so all phones that accept it: chmod 600 {key}"
    return ""
