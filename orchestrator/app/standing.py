"""How runs stand: from the ledger, and from the claim that a living run holds on its folder.

A ledger that several hosts share tells of runs whose claims are on another one: those go by when they last wrote.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from datetime import UTC, datetime

from orchestrator.errors import Problem, UsageError
from orchestrator.farm.lock import PhoneLock
from orchestrator.home import Home
from orchestrator.report.runs_text import RunLine
from orchestrator.store.ledger import Ledger, RunSummary
from orchestrator.store.records import RunState

FRESH_S = 1800.0
"""A run of another host that wrote nothing for so long is dead; single trials may take a good part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A run at this moment. `living` is the process that drives it, None when this host has none; `elsewhere` the other
    host that drives it, as far as one can tell from here, empty when none does."""

    run_id: str
    created_at: datetime
    state: RunState
    planned: int
    measured: int
    failed: int
    skipped: int
    living: int | None
    note: str
    elsewhere: str = ""

    @property
    def cut_off(self) -> bool:
        """Whether it was running when its process died."""
        return self.state is RunState.RUNNING and self.living is None and not self.elsewhere

    @property
    def needs_eyes(self) -> bool:
        """Whether `orch status` tells of it: it runs, or should."""
        return self.living is not None or bool(self.elsewhere) or self.cut_off

    def row(self) -> RunLine:
        """The run as tables show it."""
        word = "runs" if self.living is not None else "cut off" if self.cut_off else self.state.value
        word = f"on {self.elsewhere}" if self.elsewhere else word
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
    """Claim a run for this process until it ends. Raises UsageError when another process of this host drives it."""
    lock = run_lock(home, run_id)
    holder = lock.take(run_id)
    if holder is not None:
        raise UsageError(Problem(run_id, f"process {holder.pid} of {holder.user} drives it", f"orch cancel {run_id}"))
    return lock


def refuse_driven_elsewhere(home: Home, run_id: str) -> None:
    """Raise UsageError when another host drives a run."""
    one = standing_of(home, run_id)
    if one.elsewhere:
        mend = f"orch cancel {run_id} there, or wait: silent for {FRESH_S / 60:.0f} minutes it counts as cut off"
        raise UsageError(Problem(run_id, f"{one.elsewhere} drives it", mend))


def standings(home: Home) -> list[Standing]:
    """Every run of a home, newest first."""
    ledger = Ledger.open(home.root)
    try:
        return [_standing(home, summary, ledger) for summary in ledger.runs()]
    finally:
        ledger.close()


def standing_of(home: Home, text: str) -> Standing:
    """One run by name. Raises UsageError when none or several match."""
    ledger = Ledger.open(home.root)
    try:
        return _standing(home, ledger.summary(ledger.find_run(text)), ledger)
    finally:
        ledger.close()


def driven_elsewhere(summary: RunSummary, ledger: Ledger) -> str:
    """The other host that drives a run; empty when none is known to: it ended, is this host's, or silent for long."""
    if summary.state is not RunState.RUNNING or not ledger.of_several_hosts:
        return ""
    host, last = ledger.last_word(summary.run.run_id)
    fresh = (datetime.now(UTC) - last).total_seconds() < FRESH_S
    return host if fresh and host != socket.gethostname() else ""


def _standing(home: Home, summary: RunSummary, ledger: Ledger) -> Standing:
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
        elsewhere="" if holder is not None else driven_elsewhere(summary, ledger),
    )
