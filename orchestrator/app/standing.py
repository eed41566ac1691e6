"""How runs stand: from the ledger, and from the claim that a living run holds on its folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime

from orchestrator.errors import Problem, UsageError
from orchestrator.farm.lock import PhoneLock
from orchestrator.home import Home
from orchestrator.store.ledger import Ledger, RunSummary
from orchestrator.store.records import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A run at this moment. `living` is the process that drives it, None when there is none."""

    run_id: str
    created_at: datetime
    state: RunState
    planned: int
    measured: int
    failed: int
    skipped: int
    living: int | None
    note: str

    @property
    def cut_off(self) -> bool:
        """Whether it was running when its process died."""
        return self.state is RunState.RUNNING and self.living is None

    def line(self) -> str:
        """One line for people, at most 80 columns without the note."""
        word = "runs" if self.living is not None else "cut off" if self.cut_off else self.state.value
        done = self.measured + self.failed + self.skipped
        counts = f"{done}/{self.planned}  {self.measured} measured {self.failed} failed {self.skipped} skipped"
        return f"{self.run_id:28} {word:11} {counts}"

    def as_dict(self) -> dict[str, object]:
        """The same fields by name."""
        fields: dict[str, object] = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "created_at": self.created_at.isoformat(), "state": self.state.value, "cut_off": self.cut_off}


def run_lock(home: Home, run_id: str) -> PhoneLock:
    """The claim of the process that drives a run."""
    return PhoneLock(f"run:{run_id}", home.root / "locks")


def drive(home: Home, run_id: str) -> PhoneLock:
    """Claim a run for this process until it ends. Raises UsageError when another process drives it."""
    lock = run_lock(home, run_id)
    holder = lock.take(run_id)
    if holder is not None:
        raise UsageError(Problem(run_id, f"process {holder.pid} of {holder.user} drives it", f"orch cancel {run_id}"))
    return lock


def standings(home: Home) -> list[Standing]:
    """Every run of a home, newest first."""
    ledger = Ledger.open(home.root)
    try:
        return [_standing(home, summary) for summary in ledger.runs()]
    finally:
        ledger.close()


def standing_of(home: Home, text: str) -> Standing:
    """One run by name. Raises UsageError when none or several match."""
    ledger = Ledger.open(home.root)
    try:
        run_id = ledger.find_run(text)
        return next(_standing(home, one) for one in ledger.runs() if one.run.run_id == run_id)
    finally:
        ledger.close()


def _standing(home: Home, summary: RunSummary) -> Standing:
    holder = run_lock(home, summary.run.run_id).holder()
    return Standing(
        run_id=summary.run.run_id,
        created_at=summary.run.created_at,
        state=summary.state,
        planned=summary.planned,
        measured=summary.measured,
        failed=summary.failed,
        skipped=summary.skipped,
        living=holder.pid if holder is not None and holder.pid != os.getpid() else None,
        note=summary.run.note,
    )
