"""Takes what a block left on the phone: every result folder, checked, in bulk.

Names come from the phone's listing: only printable names of regular, readable files within the bounds are taken; what
is left out is said in `problems`. A file that is already here in full (a first try was cut off) is not taken again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from android_runner.block import Block, Ending, TrialFolder
from android_runner.deadline import Deadline
from android_runner.device import Device, DirEntry, PhonePath, PullItem
from android_runner.errors import HostileAnswer
from android_runner.facts import Vitals
from android_runner.phone.journal import Journal, TrialRecord
from android_runner.phone.snapshots import MAX_VITALS_BYTES, read_snapshots

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_BLOCK_BYTES = 4 * 1024 * 1024 * 1024
MAX_FILES = 200
"""Bound on the files of one trial."""

OF_THE_BLOCK = "_block"
"""The local folder for what belongs to no single trial: journal, vitals, log. No task can have this name."""

_PLACES = {None: ("out", "part"), Ending.LOST: ("part",)}
"""Where a trial's folder lies, when that is not `out`."""

_OURS = frozenset({"rc", "slot_wait", "waiting"})
_RC = re.compile(r"(\d{1,3}) (exited|timed_out|stopped) (\d{1,9}) (\d{1,9}) (\d{1,9}) (\d+\.\d\d) (\d+\.\d\d) \.\n")
_SLOT_WAIT = re.compile(r"\s*(\d{1,10}(?:\.\d{1,6})?)\s+(\d{1,10}(?:\.\d{1,6})?)\s*")


@dataclass(slots=True)
class Collection:
    """What is found on the phone, before it is pulled: per task its folder there and its files' names."""

    problems: list[str] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=dict)
    items: list[PullItem] = field(default_factory=list)
    total_bytes: int = 0


def collect(
    device: Device, block: Block, journal: Journal, directory: Path, deadline: Deadline
) -> tuple[list[TrialFolder], list[str]]:
    """Pull all that the trials of `journal` left into `directory/TASK_ID/`; returns folders and problems.

    Raises `LinkError` when the phone can't be reached (trying again goes on where it stopped), OSError for local disks.
    """
    found = Collection()
    own = directory / OF_THE_BLOCK
    for name in ("vitals", "log", "pid"):
        found.items.append(PullItem(block.directory / name, own / name, MAX_VITALS_BYTES))
    for record in journal.records.values():
        _find(device, block, record, directory, found, deadline)
    for item in found.items:
        item.target.parent.mkdir(parents=True, exist_ok=True)
    device.pull(found.items, deadline=deadline)
    return _folders(block, journal, directory, found)


def _find(
    device: Device, block: Block, record: TrialRecord, directory: Path, found: Collection, deadline: Deadline
) -> None:
    """Add one trial's files. One whose end the journal does not tell may lie in either folder."""
    target = directory / record.task_id
    for place in _PLACES.get(record.ending, ("out",)):
        source = block.directory / place / record.task_id
        try:
            entries = device.listing(source, deadline=deadline)
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
            local = target / entry.name
            if not (local.is_file() and local.stat().st_size == size_bytes):
                found.items.append(PullItem(source / entry.name, local, MAX_FILE_BYTES))
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
    )


def _slot_wait_s(path: Path) -> float:
    """Seconds between the two uptimes that the launcher wrote; 0.0 when it wrote none."""
    if not path.is_file() or path.stat().st_size > 200:
        return 0.0
    found = _SLOT_WAIT.fullmatch(path.read_bytes().decode("ascii", errors="replace"))
    return max(0.0, float(found[2]) - float(found[1])) if found else 0.0
