"""What of a home takes how much of the disk: what is allocated there, a file with several names once."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from orchestrator.errors import StoreError
from orchestrator.home import LEDGER_FILE, Home
from orchestrator.report.disk import DiskPart, DiskUse
from orchestrator.store.evidence import allocated_bytes
from orchestrator.store.ledger import Ledger

_WORDS = {
    "ledger": "every run's rows, for ever",
    "evidence": "raw files of attempts: orch disk clean",
    "shelf": "built variants: orch disk clean, made again when asked for",
    "inputs": "input sets",
    "binaries": "perf_tests that runs used: orch disk clean",
    "reports": "a folder a run: orch disk clean, orch report writes them again",
    "nights": "suites and digests of nightlies",
    "virtual phones": "orch virtual down --wipe",
    "claims": "who drives what, and what is to be put back on phones",
    "other": "nothing of ours",
}


def disk_use(home: Home, ledger: Ledger) -> DiskUse:
    """What takes how much now. Raises StoreError."""
    runs = [one.run_id for one in ledger.cleanings.runs()]
    kept = {one.number.run_id for one in ledger.kept.all()}
    parts = parts_of(home, runs)
    try:
        free_bytes = shutil.disk_usage(home.root).free
    except OSError as error:
        raise StoreError(f"{home.root}: can't be read: {error.strerror or error}") from error
    return DiskUse(
        home=str(home.root),
        size_bytes=sum(one.size_bytes for one in parts),
        free_bytes=free_bytes,
        runs=len(runs),
        kept_runs=len(kept),
        parts=parts,
    )


def parts_of(home: Home, run_ids: Collection[str]) -> tuple[DiskPart, ...]:
    """The home's parts, all of them, in the order of the table. What vanishes meanwhile is passed over."""
    folders = {
        "evidence": "evidence",
        home.shelf.name: "shelf",
        home.inputs.name: "inputs",
        home.binaries.name: "binaries",
        home.nights.name: "nights",
        home.virtual.name: "virtual phones",
        home.claims.name: "claims",
        home.undo.name: "claims",
    }
    sizes, counts = dict.fromkeys(_WORDS, 0), dict.fromkeys(_WORDS, 0)
    runs, seen = set(run_ids), set[tuple[int, int]]()
    for entry in sorted(_entries(home.root), key=lambda one: one.name):
        name = folders.get(entry.name)
        if name is None:
            ours = "reports" if entry.name in runs else "other"
            name = "ledger" if entry.name.startswith(LEDGER_FILE) else ours
        size_bytes, files = size_of(Path(entry.path), seen)
        sizes[name] += size_bytes
        counts[name] += files
    return tuple(
        DiskPart(name=name, size_bytes=sizes[name], files=counts[name], what=what) for name, what in _WORDS.items()
    )


def size_of(path: Path, seen: set[tuple[int, int]] | None = None) -> tuple[int, int]:
    """Bytes on the disk and number of files at and below `path`; links are not followed. What has several names counts
    once among those that share `seen`."""
    seen = seen if seen is not None else set()
    total, files = 0, 0
    for found in _below(os.fspath(path)):
        if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
            if (found.st_dev, found.st_ino) in seen:
                continue
            seen.add((found.st_dev, found.st_ino))
        total += allocated_bytes(found)
        files += not stat.S_ISDIR(found.st_mode)
    return total, files


def _below(path: str) -> Iterator[os.stat_result]:
    folders = []
    try:
        found = os.lstat(path)
    except OSError:
        return
    yield found
    if stat.S_ISDIR(found.st_mode):
        folders.append(path)
    while folders:
        for entry in _entries(folders.pop()):
            try:
                yield entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
            except OSError:
                continue


def _entries(path: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(os.fspath(path)) as found:
            return list(found)
    except OSError:
        return []
