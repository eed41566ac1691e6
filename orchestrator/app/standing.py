"""How runs stand: from the ledger, and from the claim that a living run holds on its folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime

from orchestrator.errors import Problem, UsageError
from orchestrator.farm.lock import PhoneLock
from orchestrator.home import Home
from orchestrator.report.runs_text import RunLine
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

    @property
    def needs_eyes(self) -> bool:
        """Whether `orch status` tells of it: it runs, or should."""
        return self.living is not None or self.cut_off

    def row(self) -> RunLine:
        """The run as tables show it."""
        word = "runs" if self.living is not None else "cut off" if self.cut_off else self.state.value
        return RunLine(
            run=self.run_id,
            created_at=self.created_at,
            state=word,
            planned=self.planned,
            measured=self.measured,
            failed=self.failed,
            skipped=self.skipped,
            note=self.note,
            mend=f"orch resume {self.run_id}" if self.cut_off else "",
        )

    def as_dict(self) -> dict[str, object]:
        """The same fields by name."""
        fields: dict[str, object] = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "created_at": self.created_at.isoformat(), "state": self.state.value, "cut_off": self.cut_off}


def run_lock(home: Home, run_id: str) -> PhoneLock:
    """The claim of the process that drives a run."""
    return PhoneLock(f"run:{run_id}", home.claims)


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
        return _standing(home, ledger.summary(ledger.find_run(text)))
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
