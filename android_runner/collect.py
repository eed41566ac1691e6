"""Takes what a block left on the phone: every result folder, checked, in bulk.

Names come from the phone's listing: only printable names of regular, readable files within the bounds are taken; what
is left out is said in `problems`. A file that is already here in full (a first try was cut off) is not taken again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from android_runner.block import Block, Ending, TrialFolder
from android_runner.device import Device, DirEntry, PhonePath, PullItem
from android_runner.errors import HostileAnswer
from android_runner.facts import ProcessFacts, Vitals
from android_runner.following import Line
from android_runner.phone.journal import Journal, TrialRecord
from android_runner.phone.snapshots import MAX_VITALS_BYTES, read_snapshots
from android_runner.vitals_text import MAX_PROCESS_BYTES, parse_process

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_BLOCK_BYTES = 4 * 1024 * 1024 * 1024
MAX_FILES = 200
"""Bound on the files of one trial."""

BATCH_FILES = 512
BATCH_BYTES = 64 * 1024 * 1024

OF_THE_BLOCK = "_block"
"""The local folder for what belongs to no single trial: journal, vitals, log. No task can have this name."""
_FILES_OF_THE_BLOCK = ("vitals", "log", "pid")

_PLACES = {None: ("out", "part"), Ending.LOST: ("part",)}
"""Where a trial's folder lies, when that is not `out`."""

_OURS = frozenset({"rc", "slot_wait", "waiting", "process"})
_RC = re.compile(r"(\d{1,3}) (exited|timed_out|stopped) (\d{1,9}) (\d{1,9}) (\d{1,9}) (\d+\.\d\d) (\d+\.\d\d) \.\n")
_SLOT_WAIT = re.compile(r"\s*(\d{1,10}(?:\.\d{1,6})?)\s+(\d{1,10}(?:\.\d{1,6})?)\s*")


@dataclass(slots=True)
class Collection:
    """What is found on the phone, before it is pulled: a task's files by name, and what to pull, of how many bytes."""

    problems: list[str] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=dict)
    items: list[tuple[PullItem, int]] = field(default_factory=list)
    total_bytes: int = 0


def collect(line: Line, block: Block, journal: Journal, directory: Path) -> tuple[list[TrialFolder], list[str]]:
    """Pull all that the trials of `journal` left into `directory/TASK_ID/`; returns folders and problems.

    What was listed or pulled before a link was lost is not asked for again. Raises `LinkLost` when the phone is given
    up, OSError for local disks.
    """
    found = Collection()
    for record in journal.records.values():
        _find(line, block, record, directory, found)
    own = directory / OF_THE_BLOCK
    names = _FILES_OF_THE_BLOCK
    paths = [block.directory / name for name in names]
    stats = line.insist(lambda device: device.stat(paths, deadline=line.deadline()))
    for name, path, stat in zip(names, paths, stats, strict=True):
        size_bytes = min(stat.size_bytes, MAX_VITALS_BYTES) if stat else 0
        found.items.append((PullItem(path, own / name, MAX_VITALS_BYTES), size_bytes))
    for item, _ in found.items:
        item.target.parent.mkdir(parents=True, exist_ok=True)
    for batch in _batches(found.items):
        line.insist(partial(_pull, batch=batch, line=line))
    return _folders(block, journal, directory, found)


def _batches(items: list[tuple[PullItem, int]]) -> Iterator[list[tuple[PullItem, int]]]:
    """Pieces that are pulled in one call each: of one stream, but not so large that a lost link costs much."""
    batch: list[tuple[PullItem, int]] = []
    size_bytes = 0
    for item in items:
        batch.append(item)
        size_bytes += item[1]
        if len(batch) >= BATCH_FILES or size_bytes >= BATCH_BYTES:
            yield batch
            batch, size_bytes = [], 0
    if batch:
        yield batch


def _pull(device: Device, batch: list[tuple[PullItem, int]], line: Line) -> None:
    missing = [(item, size_bytes) for item, size_bytes in batch if not _here(item.target, size_bytes)]
    deadline = line.pull_deadline(sum(size_bytes for _, size_bytes in missing))
    device.pull([item for item, _ in missing], deadline=deadline)


def _listing(device: Device, source: PhonePath, line: Line) -> list[DirEntry]:
    return device.listing(source, deadline=line.deadline())


def _here(local: Path, size_bytes: int) -> bool:
    """Whether a file was pulled whole before: it gets its name only then, and a trial's files don't change."""
    return local.is_file() and local.stat().st_size == size_bytes


def _find(line: Line, block: Block, record: TrialRecord, directory: Path, found: Collection) -> None:
    """Add one trial's files. One whose end the journal does not tell may lie in either folder."""
    target = directory / record.task_id
    for place in _PLACES.get(record.ending, ("out",)):
        source = block.directory / place / record.task_id
        try:
            entries = line.insist(partial(_listing, source=source, line=line))
        except HostileAnswer as refused:
            found.problems.append(f"{record.task_id}: its folder can't be listed: {refused}")
            continue
        if entries:
            found.names[record.task_id] = list(_take(entries, source, target, record.task_id, found))
            return


def _take(
    entries: Iterable[DirEntry], source: PhonePath, target: Path, task_id: str, found: Collection
) -> Iterator[str]:
    files = sorted((entry for entry in entries if entry.stat.is_file()), key=lambda entry: entry.name)
    if len(files) > MAX_FILES:
        found.problems.append(f"{task_id}: {len(files)} files, {MAX_FILES} are taken")
    for entry in files[:MAX_FILES]:
        size_bytes = entry.stat.size_bytes
        if not entry.name.isprintable() or not entry.stat.mode & 0o444:
            found.problems.append(f"{task_id}: {entry.name!r} is left out: its name or its mode")
        elif size_bytes > MAX_FILE_BYTES or found.total_bytes + size_bytes > MAX_BLOCK_BYTES:
            found.problems.append(f"{task_id}: {entry.name!r} is left out: {size_bytes} bytes")
        else:
            found.total_bytes += size_bytes
            found.items.append((PullItem(source / entry.name, target / entry.name, MAX_FILE_BYTES), size_bytes))
            yield entry.name


def _folders(block: Block, journal: Journal, directory: Path, found: Collection) -> tuple[list[TrialFolder], list[str]]:
    records = [_settled(record, block, directory, found) for record in journal.records.values()]
    vitals_file = directory / OF_THE_BLOCK / "vitals"
    wanted = {number for record in records for number in (record.before, record.after) if number is not None}
    snapshots = read_snapshots(vitals_file.read_bytes(), wanted) if vitals_file.is_file() else {}
    folders = [_folder(record, directory, found.names.get(record.task_id, []), snapshots) for record in records]
    order = {task.task_id: place for place, task in enumerate(block.tasks)}
    return sorted(folders, key=lambda folder: order[folder.task_id]), found.problems


def _settled(record: TrialRecord, block: Block, directory: Path, found: Collection) -> TrialRecord:
    """The record with an ending: the journal's when the folder's `rc` agrees, `rc`'s when the journal has none."""
    index = next(place for place, task in enumerate(block.tasks, start=1) if task.task_id == record.task_id)
    path = directory / record.task_id / "rc"
    told = _told(path, record, index) if "rc" in found.names.get(record.task_id, []) else None
    lost = replace(record, ending=Ending.LOST, exit_code=None, after=None, ended_uptime_s=None)
    if record.ending is Ending.LOST or (record.ending is None and told is None):
        return lost
    if record.ending is not None and told != record:
        found.problems.append(f"{record.task_id}: its folder is missing or contradicts the journal")
        return lost
    return told or lost


def _told(path: Path, record: TrialRecord, index: int) -> TrialRecord | None:
    """The trial as its folder's `rc` tells it: `CODE ENDING INDEX BEFORE AFTER STARTED ENDED .`; None when it can't."""
    if not path.is_file() or path.stat().st_size > 200:
        return None
    found = _RC.fullmatch(path.read_bytes().decode("ascii", errors="replace"))
    if found is None or int(found[1]) > 255 or int(found[3]) != index or int(found[4]) != record.before:
        return None
    if float(found[6]) != record.started_uptime_s:
        return None
    return replace(
        record,
        ending=Ending(found[2]),
        exit_code=int(found[1]),
        after=int(found[5]),
        ended_uptime_s=float(found[7]),
    )


def _folder(record: TrialRecord, directory: Path, names: list[str], snapshots: dict[int, Vitals]) -> TrialFolder:
    folder = directory / record.task_id
    return TrialFolder(
        task_id=record.task_id,
        ending=record.ending or Ending.LOST,
        exit_code=record.exit_code,
        started_uptime_s=record.started_uptime_s,
        ended_uptime_s=record.ended_uptime_s,
        slot_wait_s=_slot_wait_s(folder / "slot_wait") if "slot_wait" in names else 0.0,
        files={name: folder / name for name in names if name not in _OURS and (folder / name).is_file()},
        before=snapshots.get(record.before),
        after=snapshots.get(record.after) if record.after is not None else None,
        process=_process(folder / "process") if "process" in names else None,
        gate=record.gate,
    )


def _process(path: Path) -> ProcessFacts | None:
    if not path.is_file() or path.stat().st_size > MAX_PROCESS_BYTES:
        return None
    return parse_process(path.read_bytes().decode("utf-8", errors="replace"))


def _slot_wait_s(path: Path) -> float:
    """Seconds between the two uptimes that the launcher wrote; 0.0 when it wrote none."""
    if not path.is_file() or path.stat().st_size > 200:
        return 0.0
    found = _SLOT_WAIT.fullmatch(path.read_bytes().decode("ascii", errors="replace"))
    return max(0.0, float(found[2]) - float(found[1])) if found else 0.0
