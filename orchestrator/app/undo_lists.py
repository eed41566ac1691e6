"""The undo lists in the home: what a run changed on a phone, on the disk before the phone is told.

One file a phone, replaced whole: written beside it, synced, renamed, the folder synced. So after a power cut there is
the list of before the last step or of after it, and either leads back.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from android_runner.preparing.undo import MAX_LIST_BYTES, UndoList, undo_from_text, undo_to_text
from orchestrator.digest import digest_of
from orchestrator.errors import StoreError
from orchestrator.home import Home


class UndoLists:
    """The lists of one home. Who changes a phone's list holds the claim on that phone."""

    def __init__(self, home: Home) -> None:
        self._folder = home.undo

    def keep(self, undo: UndoList) -> None:
        """Have the list on the disk; an empty one is removed. Raises StoreError: then nothing may be changed."""
        path = self._path(undo.phone)
        try:
            if not undo.entries:
                path.unlink(missing_ok=True)
                self._sync_folder()
                return
            if not self._folder.is_dir():
                self._folder.mkdir(parents=True, exist_ok=True)
                _sync(self._folder.parent)
            beside = path.with_suffix(".new")
            with beside.open("w", encoding="utf-8") as file:
                file.write(undo_to_text(undo))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
            self._sync_folder()
        except OSError as error:
            raise StoreError(f"{path}: the undo list can't be written: {error.strerror}") from error

    def of(self, phone: str) -> UndoList | None:
        """A phone's list; None where there is nothing to put back. Raises StoreError for a damaged one."""
        path = self._path(phone)
        return _read(path) if path.exists() else None

    def all(self) -> Sequence[UndoList]:
        """Every list, by phone. Raises StoreError for a damaged one."""
        found = [_read(path) for path in self._folder.glob("*.json")] if self._folder.is_dir() else []
        return sorted(found, key=lambda one: one.phone)

    def _path(self, phone: str) -> Path:
        return self._folder / f"{digest_of(['undo', phone])[:24]}.json"

    def _sync_folder(self) -> None:
        if self._folder.is_dir():
            _sync(self._folder)


def _read(path: Path) -> UndoList:
    try:
        if path.stat().st_size > MAX_LIST_BYTES:
            raise ValueError("too long for an undo list")
        return undo_from_text(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: the undo list can't be read: {error}") from error


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
