"""How nightlies stand: what is due, what the last nights came to, what is going on now."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from orchestrator.app.nightly.installing import installed_by
from orchestrator.app.nightly.record import NightRecord, nightly_lock, nights_kept, read_record, runs_of
from orchestrator.app.nightly.suites import Nightly
from orchestrator.errors import ExitCode
from orchestrator.nights.calendar import Night, latest_night, next_night
from orchestrator.report.nightly_text import NightLine, NightlyStanding
from orchestrator.store.ledger import Ledger


class Due(StrEnum):
    """What a call finds to do."""

    BEGIN = "begin"
    GO_ON = "go on"
    """It was cut off: its own runs are resumed, never another night's."""
    MISSED = "missed"
    """Nobody called while it lasted."""
    NOTHING = "nothing"


def due(nightly: Nightly, now: datetime) -> tuple[Due, Night]:
    """What is to be done now, and for which night: the last that has begun, and no earlier one."""
    night = latest_night(now, nightly.suite.starts, nightly.suite.ends)
    record = read_record(nightly, night.name)
    if record is not None:
        return (Due.NOTHING if record.ended_at else Due.GO_ON), record.as_night()
    if not night.over(now):
        return Due.BEGIN, night
    return (Due.MISSED if nights_kept(nightly) else Due.NOTHING), night


def nightly_standing(nightly: Nightly, ledger: Ledger, now: datetime, last: int) -> NightlyStanding:
    """How one nightly stands, with its `last` nights, newest first."""
    suite = nightly.suite
    holder = nightly_lock(nightly.home, nightly.name).holder()
    living = holder.pid if holder is not None else None
    coming = next_night(now, suite.starts, suite.ends)
    by = installed_by(nightly.name, nightly.home)
    kept = nights_kept(nightly)[::-1][:last]
    return NightlyStanding(
        name=nightly.name,
        file=str(nightly.path),
        device=tuple(suite.device),
        start=suite.start,
        deadline=suite.deadline,
        installed="" if by is None else by.value,
        next_night=coming.name,
        next_start=coming.starts_at.isoformat(),
        living=living,
        nights=tuple(_line(one, nightly, ledger, living) for one in kept),
    )


def _line(record: NightRecord, nightly: Nightly, ledger: Ledger, living: int | None) -> NightLine:
    runs = runs_of(nightly.name, record.night, ledger).every
    return NightLine(
        night=record.night,
        state=_state(record, living),
        exit=record.exit,
        began_at=record.began_at,
        ended_at=record.ended_at,
        problem=record.problem,
        runs=tuple(one.run.run_id for one in runs),
        planned=sum(one.planned for one in runs),
        measured=sum(one.measured for one in runs),
        failed=sum(one.failed for one in runs),
        skipped=sum(one.skipped for one in runs),
    )


_WORDS = {
    ExitCode.DONE: "done",
    ExitCode.GATE_FAILED: "regressed",
    ExitCode.USAGE: "could not run",
    ExitCode.INCOMPLETE: "incomplete",
    ExitCode.NO_DEVICE: "no phone",
    ExitCode.BUG: "a bug",
    ExitCode.INTERRUPTED: "interrupted",
}


def _state(record: NightRecord, living: int | None) -> str:
    if not record.ended_at:
        return "runs" if living is not None else "cut off"
    return _WORDS.get(ExitCode(record.exit or 0), "ended")
