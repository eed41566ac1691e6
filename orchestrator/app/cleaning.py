"""`orch disk clean`, and the bound that a nightly keeps: raw files, built variants, binaries and reports of old runs.

The ledger's rows stay. What is to go is written down before the first file does, so that a report never takes for
damaged what was cleaned, and a cleaning that was cut off is finished by the next one.
"""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.app.clean_plan import AskedCleaning, Leaving, RunOnDisk, enough, in_order, leaving_of
from orchestrator.app.disk_use import parts_of, size_of
from orchestrator.app.standing import run_lock
from orchestrator.errors import Problem, UsageError
from orchestrator.farm.lock import PhoneLock
from orchestrator.home import Home
from orchestrator.report.disk import CleanedRun, Cleaning, SparedRun
from orchestrator.report.numbers import plural
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.kept_numbers import Number
from orchestrator.store.ledger import Ledger

LEFT_OVER_S = 86_400.0
"""A raw file that no row names is left over when nobody kept it for so long."""
SETTLED_S = 600.0
"""A file that was kept again so shortly ago may belong to an attempt that is not in the ledger yet."""


def keep_bound(home: Home, bound_bytes: int, *, now: datetime | None = None) -> Cleaning:
    """Clean the oldest runs' raw files until the home takes no more than `bound_bytes`; does nothing below it.

    What was compared, gated, exported or alerted stays, what runs, and what is younger than a day: `holds` says
    whether it was enough. Raises UsageError while somebody else cleans, StoreError for a ledger that can't be used.
    """
    ledger = Ledger.open(home.root)
    try:
        return clean(home, ledger, AskedCleaning(bound_bytes=bound_bytes), now=now)
    finally:
        ledger.close()


def clean(
    home: Home, ledger: Ledger, asked: AskedCleaning, *, now: datetime | None = None, settled_s: float = SETTLED_S
) -> Cleaning:
    """Remove what may go. Raises UsageError while somebody else cleans this home; StoreError."""
    with _alone(home):
        return _Sweep(home, ledger, asked, now or datetime.now(UTC), settled_s).clean()


@contextmanager
def _alone(home: Home) -> Iterator[None]:
    lock = PhoneLock("disk", home.claims)
    holder = lock.take("clean")
    if holder is not None:
        raise UsageError(
            Problem(str(home.root), f"process {holder.pid} of {holder.user} cleans it", "wait for its end")
        )
    try:
        yield
    finally:
        lock.release()


@dataclass(slots=True)
class _Batch:
    """What goes in one go: numbers and their files by size, folders of reports, shelf and binaries."""

    leaving: list[Leaving] = field(default_factory=list)
    files: dict[str, int] = field(default_factory=dict)
    reports: dict[Path, int] = field(default_factory=dict)
    shelf: dict[Path, int] = field(default_factory=dict)
    binaries: dict[Path, int] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        parts = (self.files, self.reports, self.shelf, self.binaries)
        return sum(sum(part.values()) for part in parts)


class _Sweep:
    def __init__(self, home: Home, ledger: Ledger, asked: AskedCleaning, now: datetime, settled_s: float) -> None:
        self._home, self._ledger, self._asked, self._now = home, ledger, asked, now
        self._settled_s = settled_s
        self._book = ledger.cleanings
        self._store = EvidenceStore(home.root)
        self._all = self._book.runs()
        self._kept: dict[str, set[Number]] = defaultdict(set)
        for one in [] if asked.force else ledger.kept.all():
            self._kept[one.number.run_id].add(one.number)
        self._living = {one.run_id for one in self._all if run_lock(home, one.run_id).holder() is not None}
        self._read: dict[str, tuple[Leaving, dict[str, int]]] = {}
        self._digests: dict[str, dict[Number, frozenset[str]]] = {}
        self._spared: dict[str, str] = {}
        self._problems: list[str] = []

    def clean(self) -> Cleaning:
        before = self._size()
        runs: Sequence[RunOnDisk] = ()
        if self._asked.bound_bytes is None or self._asked.excess_bytes(before):
            runs = in_order(self._all, self._kept, self._living, self._asked, self._now)
        chosen = self._chosen(runs, before)
        batch = self._batch(chosen)
        if not self._asked.dry_run:
            self._carry_out(batch)
        left_over = self._left_over() if self._asked.bound_bytes is None else 0
        after = before - batch.size_bytes - left_over if self._asked.dry_run else self._size()
        return Cleaning(
            dry_run=self._asked.dry_run,
            size_before_bytes=before,
            size_after_bytes=after,
            bound_bytes=self._asked.bound_bytes,
            evidence_bytes=sum(batch.files.values()),
            evidence_files=len(batch.files),
            left_over_bytes=left_over,
            shelf_bytes=sum(batch.shelf.values()),
            binaries_bytes=sum(batch.binaries.values()),
            reports_bytes=sum(batch.reports.values()),
            runs=tuple(self._told(one) for one in batch.leaving if one.numbers),
            spared=tuple(SparedRun(run_id=run_id, why=why) for run_id, why in self._spared.items() if why),
            problems=tuple(self._problems),
        )

    def _is_ours(self, run: RunOnDisk) -> bool:
        """Whether a run's raw files lie here. Homes may share a ledger; what another has is not to be called cleaned.

        Some files of other homes' runs are here, too: the empty ones are all alike.
        """
        digests = set().union(*self._raw(run).values())
        here = sum(self._store.size_bytes(one) > 0 for one in digests)
        return 2 * here >= len(digests) or bool(self._book.of_run(run.run_id))

    def _raw(self, run: RunOnDisk) -> dict[Number, frozenset[str]]:
        """A run's raw files by number, as digests; read once."""
        if run.run_id not in self._digests:
            self._digests[run.run_id] = {one.number: one.digests for one in self._book.raw_files(run.run_id)}
        return self._digests[run.run_id]

    def _told(self, one: Leaving) -> CleanedRun:
        numbers = sum(bool(number.phone) for number in one.numbers)
        kept = len(self._kept.get(one.run_id, ()))
        return CleanedRun(run_id=one.run_id, created_at=one.created_at, numbers=numbers, kept=kept)

    def _size(self) -> int:
        return sum(part.size_bytes for part in parts_of(self._home, [one.run_id for one in self._all]))

    def _chosen(self, runs: Sequence[RunOnDisk], size_bytes: int) -> Sequence[RunOnDisk]:
        """The runs that go. With a bound as many as it takes, which is known for sure only with all of them at hand:
        what they share with others stays."""
        if self._asked.bound_bytes is None:
            return [run for run in runs if not self._why_spared(run)]
        excess = self._asked.excess_bytes(size_bytes)
        asked_bytes = excess
        while True:
            chosen, might_do = enough(runs, self._gain_bytes, asked_bytes)
            lacking = excess - self._batch(chosen).size_bytes
            if lacking <= 0 or not might_do:
                return chosen
            asked_bytes += max(lacking, asked_bytes // 4, 1)

    def _why_spared(self, run: RunOnDisk) -> str:
        """Why a run is left alone; "" where it is not."""
        if run.run_id not in self._spared:
            elsewhere = "" if run.spared or self._is_ours(run) else "its raw files are not in this home"
            self._spared[run.run_id] = run.spared or elsewhere
        return self._spared[run.run_id]

    def _gain_bytes(self, run: RunOnDisk) -> int | None:
        """What a run gives back at most; None where it is left alone."""
        if self._why_spared(run):
            return None
        leaving, files = self._leaving(run)
        reports = size_of(self._home.run_folder(run.run_id))[0] if leaving.whole else 0
        return sum(files.values()) + reports

    def _leaving(self, run: RunOnDisk) -> tuple[Leaving, dict[str, int]]:
        """What goes of a run, and its raw files that are there by size; read once."""
        if run.run_id not in self._read:
            found = self._raw(run)
            leaving = leaving_of(run, found.keys(), self._kept.get(run.run_id, ()))
            digests = {digest for number in leaving.numbers for digest in found[number]}
            files = {one: size for one in digests if (size := self._store.size_bytes(one))}
            self._read[run.run_id] = leaving, files
        return self._read[run.run_id]

    def _batch(self, chosen: Sequence[RunOnDisk]) -> _Batch:
        """What can go with these runs: files that nobody else needs."""
        batch = _Batch()
        if not chosen:
            return batch
        files: dict[str, int] = {}
        for run in chosen:
            leaving, of_run = self._leaving(run)
            batch.leaving.append(leaving)
            files |= of_run
            folder = self._home.run_folder(run.run_id)
            if leaving.whole and (size := size_of(folder)[0]):
                batch.reports[folder] = size
        needed = self._book.needed(files, [number for one in batch.leaving for number in one.numbers])
        batch.files = {one: size for one, size in files.items() if one not in needed}
        going = {one.run_id for one in batch.leaving if one.whole}
        used = self._book.used(one.run_id for one in self._all if one.run_id not in going and not one.is_clean)
        newest = max(run.created_at for run in chosen).timestamp()
        batch.shelf = _unused(self._home.shelf / "variants", used, newest)
        batch.binaries = _unused(self._home.binaries, used, newest)
        return batch

    def _carry_out(self, batch: _Batch) -> None:
        numbers = [number for one in batch.leaving for number in one.numbers]
        self._book.begin(numbers, self._now)
        settled_s = time.time() - self._settled_s
        stays: set[str] = set()
        for digest in list(batch.files):
            try:
                if not self._store.remove(digest, untouched_since_s=settled_s):
                    stays.add(digest)
            except OSError as error:
                self._problems.append(f"evidence {digest}: {error.strerror or error}")
                stays.add(digest)
        batch.files = {one: size for one, size in batch.files.items() if one not in stays}
        if stays and not self._problems:
            self._problems.append(f"{plural(len(stays), 'raw file')}, which something kept this moment: next time")
        for folder in (*batch.reports, *batch.shelf, *batch.binaries):
            self._remove(folder)
        open_still = {one for one in numbers if self._digests[one.run_id][one] & stays}
        open_still |= {Number(one.run_id) for one in open_still}  # so that the next one looks at these runs again
        self._book.end([one for one in numbers if one not in open_still])

    def _left_over(self) -> int:
        """Remove raw files, a day old, that no row names; what that gives back."""
        before_s = time.time() - LEFT_OVER_S
        old = [digest for digest, kept_s in self._store.everything() if kept_s < before_s]
        freed = 0
        for digest in sorted(set(old) - self._book.needed(old, ())):
            try:
                freed += self._removed_bytes(digest, before_s)
            except OSError as error:
                self._problems.append(f"evidence {digest}: {error.strerror or error}")
        return freed

    def _removed_bytes(self, digest: str, before_s: float) -> int:
        if self._asked.dry_run:
            return self._store.size_bytes(digest)
        return self._store.remove(digest, untouched_since_s=before_s)

    def _remove(self, folder: Path) -> None:
        """A folder, out of sight first, so that nobody finds half of it."""
        aside = folder.with_name(f".{folder.name}.going")
        try:
            with suppress(FileNotFoundError):
                folder.rename(aside)
                shutil.rmtree(aside)
        except OSError as error:
            self._problems.append(f"{folder}: {error.strerror or error}")


def _unused(folder: Path, used: set[str], before_s: float) -> dict[Path, int]:
    """The entries, each named by a digest, that nobody uses and that were not used since this moment, by size."""
    found: dict[Path, int] = {}
    with suppress(OSError):
        for entry in folder.iterdir():
            is_digest = len(entry.name) == 64 and not set(entry.name) - set("0123456789abcdef")
            if is_digest and entry.name not in used and entry.lstat().st_mtime < before_s:
                found[entry] = size_of(entry)[0]
    return found
