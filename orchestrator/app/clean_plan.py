"""Pure: which runs' raw files go, by age or until a bound holds; the oldest first, and never what must stay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from orchestrator.store.cleaning_book import RunAge
from orchestrator.store.kept_numbers import Number

FRESH = timedelta(days=1)
"""A bound never takes what a younger run left: its report has hardly been read."""
MARGIN = 20
"""Where a bound is passed, a twentieth of it more goes: not every night has to clean, and cleaning writes rows."""
LEAST_MARGIN_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCleaning:
    """What may go. `older`: only of runs that began longer ago; `bound_bytes`: only until the home takes no more.

    `keep_compared` leaves runs wholly alone of which anything is kept; `force` takes kept numbers, too.
    """

    older: timedelta | None = None
    bound_bytes: int | None = None
    keep_compared: bool = False
    force: bool = False
    dry_run: bool = False

    def excess_bytes(self, size_bytes: int) -> int:
        """How much has to go of a home of this size; 0 without a bound or within it."""
        if self.bound_bytes is None or size_bytes <= self.bound_bytes:
            return 0
        return size_bytes - self.bound_bytes + max(self.bound_bytes // MARGIN, LEAST_MARGIN_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOnDisk:
    """A run as cleaning sees it; `spared` says why it is left alone, "" where nothing speaks for it."""

    run_id: str
    created_at: datetime
    spared: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """A run whose raw files go: those of `numbers`; `whole`: none of it is kept, so its reports go, too."""

    run_id: str
    created_at: datetime
    numbers: tuple[Number, ...]
    whole: bool


def in_order(
    runs: Sequence[RunAge],
    kept: Mapping[str, Collection[Number]],
    living: Collection[str],
    asked: AskedCleaning,
    now: datetime,
) -> tuple[RunOnDisk, ...]:
    """Every run that is old enough and has something left, oldest first, with why it is left alone.

    `kept`: numbers by run.
    """
    least = asked.older if asked.older is not None else FRESH
    found = []
    for run in runs:
        if now - run.created_at < least or run.is_clean:
            continue
        why = "it runs" if run.run_id in living else ""
        if not why and asked.keep_compared and kept.get(run.run_id):
            why = "something of it is kept"
        found.append(RunOnDisk(run_id=run.run_id, created_at=run.created_at, spared=why))
    return tuple(found)


def leaving_of(run: RunOnDisk, numbers: Collection[Number], kept: Collection[Number]) -> Leaving:
    """What goes of a run that has these numbers, of which those are kept. Its own files stay with any kept number."""
    places = {(one.phone, one.case_id) for one in kept}
    every = ("", "") in places
    going = [
        one
        for one in sorted(numbers)
        if not every
        and (one.phone or not places)
        and not places & {(one.phone, one.case_id), (one.phone, ""), ("", one.case_id)}
    ]
    return Leaving(run_id=run.run_id, created_at=run.created_at, numbers=tuple(going), whole=not places)


def enough(
    runs: Sequence[RunOnDisk], gain_bytes: Callable[[RunOnDisk], int | None], excess_bytes: int
) -> tuple[tuple[RunOnDisk, ...], bool]:
    """The oldest runs that together give back so much, as far as can be said beforehand, and whether they do.

    `gain_bytes` is asked of no more runs than it takes; None: this one stays.
    """
    chosen: list[RunOnDisk] = []
    for run in runs:
        if excess_bytes <= 0:
            break
        gain = gain_bytes(run)
        if gain is not None:
            chosen.append(run)
            excess_bytes -= gain
    return tuple(chosen), excess_bytes <= 0
