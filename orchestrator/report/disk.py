"""Pure nouns: what takes how much of a disk, and what was cleaned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskPart:
    """A part of a home: `size_bytes` on the disk in so many `files`; `what` says what it holds and what removes it."""

    name: str
    size_bytes: int
    files: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneDisk:
    """Our folder on a phone; `size_bytes` None where it could not be asked, and `problem` says why."""

    phone: str
    label: str
    size_bytes: int | None
    free_bytes: int | None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUse:
    """A home on its disk. `kept_runs` of `runs` have numbers that somebody went by."""

    home: str
    size_bytes: int
    free_bytes: int
    runs: int
    kept_runs: int
    parts: tuple[DiskPart, ...]
    phones: tuple[PhoneDisk, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedRun:
    """A run of which something goes: `numbers` cases on phones; `kept` so many stay."""

    run_id: str
    created_at: datetime
    numbers: int
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SparedRun:
    """A run that is old enough, and left alone."""

    run_id: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning:
    """What went, or would go (`dry_run`). Sizes in bytes on the disk: by part, of the home before and after it.

    `problems`: what could not be removed, in words."""

    dry_run: bool
    size_before_bytes: int
    size_after_bytes: int
    bound_bytes: int | None
    evidence_bytes: int
    evidence_files: int
    left_over_bytes: int
    """Of raw files that no row names: of processes that died before they wrote one."""
    shelf_bytes: int
    binaries_bytes: int
    reports_bytes: int
    runs: tuple[CleanedRun, ...]
    spared: tuple[SparedRun, ...]
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the home is within its bound; without one it is."""
        return self.bound_bytes is None or self.size_after_bytes <= self.bound_bytes

    @property
    def freed_bytes(self) -> int:
        """What all of it gave back."""
        return self.evidence_bytes + self.left_over_bytes + self.shelf_bytes + self.binaries_bytes + self.reports_bytes
