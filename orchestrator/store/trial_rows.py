"""Trials' ends and attempts as rows. Every function works within a caller's transaction.

Two things hold whatever is called in whatever order: a trial has at most one end at a time, and at most one attempt
counts for it, the first that measured and was not rejected.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from android_runner.block import GateWait
from android_runner.facts import ProcessFacts, Vitals
from orchestrator.errors import StoreError
from orchestrator.outcome import Measured, Outcome
from orchestrator.plan.case import UNPLANNED
from orchestrator.store.codec import from_text, moment_from, moment_text, outcome_from, outcome_state, storable, to_text
from orchestrator.store.migrations import SCHEMA_VERSION
from orchestrator.store.records import AttemptRecord, TrialRow, TrialState
from orchestrator.store.run_rows import add_event, trial_from
from orchestrator.store.schema import ATTEMPT, TRIAL

_SAME_FIELDS = (
    "attempt_id", "run_id", "case_id", "phone", "purpose", "round", "position", "block_id", "epoch",
    "iterations_asked", "exit_code", "started_uptime_s", "ended_uptime_s", "slot_wait_s", "tuned", "virtual",
    "script_digest", "adopted", "validity",
)  # fmt: skip
_TEXT_FIELDS = ("fingerprint", "ending")
MOVED = "trial moved"


def _trial(connection: sa.Connection, trial_id: str) -> Any:
    row = connection.execute(sa.select(TRIAL).where(TRIAL.c.trial_id == trial_id)).first()
    if row is None:
        raise ValueError(f"no trial {trial_id} was planned")
    return row


def insert_attempt(connection: sa.Connection, attempt: AttemptRecord) -> bool:
    """Append an attempt, unless it is there already; whether it was new.

    One that measured and was not rejected ends its trial, also one that had been given up (the phone finished it
    alone). Raises ValueError when its trial was never planned, or is another run's.
    """
    known = sa.select(ATTEMPT.c.attempt_id).where(ATTEMPT.c.attempt_id == attempt.attempt_id)
    if connection.execute(known).first() is not None:
        return False
    calibrates = attempt.purpose in UNPLANNED
    trial = None if calibrates else _trial(connection, attempt.trial_id)
    if trial is not None and trial.run_id != attempt.run_id:
        raise ValueError(f"trial {attempt.trial_id} is of run {trial.run_id}, not of {attempt.run_id}")
    connection.execute(ATTEMPT.insert().values(**_attempt_row(connection, attempt, calibrates=calibrates)))
    counts = isinstance(attempt.outcome, Measured) and not attempt.rejected
    if trial is not None and counts and trial.state != TrialState.MEASURED:
        _set_phone(connection, trial, attempt.phone, attempt.recorded_at)
        _set_end(connection, trial, attempt.outcome, attempt.recorded_at, attempt_id=attempt.attempt_id)
    return True


def _attempt_row(connection: sa.Connection, attempt: AttemptRecord, *, calibrates: bool) -> dict[str, Any]:
    last = sa.select(sa.func.max(ATTEMPT.c.seq)).where(ATTEMPT.c.run_id == attempt.run_id)
    figures = attempt.outcome.figures if isinstance(attempt.outcome, Measured) else None
    return {
        "seq": (connection.execute(last).scalar() or 0) + 1,
        "trial_id": None if calibrates else attempt.trial_id,
        "number": _number(connection, attempt, calibrates=calibrates),
        "recorded_at": moment_text(attempt.recorded_at),
        "argv": to_text(attempt.argv),
        "before_vitals": None if attempt.before is None else to_text(attempt.before),
        "after_vitals": None if attempt.after is None else to_text(attempt.after),
        "state": outcome_state(attempt.outcome),
        "p50_s": None if figures is None else figures.p50_s,
        "outcome": to_text(attempt.outcome),
        "evidence": to_text(attempt.evidence),
        "in_force": to_text(attempt.in_force),
        "validity_reasons": to_text(attempt.validity_reasons),
        "process": None if attempt.process is None else to_text(attempt.process),
        "gate": None if attempt.gate is None else to_text(attempt.gate),
        "schema_version": SCHEMA_VERSION,
        **{name: getattr(attempt, name) for name in _SAME_FIELDS},
        **{name: storable(getattr(attempt, name)) for name in _TEXT_FIELDS},
    }


def _number(connection: sa.Connection, attempt: AttemptRecord, *, calibrates: bool) -> int:
    """The attempt's own number while it is free, else the next one."""
    same: list[sa.ColumnElement[bool]] = [ATTEMPT.c.trial_id == attempt.trial_id]
    if calibrates:
        same = [
            ATTEMPT.c.run_id == attempt.run_id,
            ATTEMPT.c.trial_id.is_(None),
            ATTEMPT.c.case_id == attempt.case_id,
            ATTEMPT.c.phone == attempt.phone,
        ]
    taken = {number for (number,) in connection.execute(sa.select(ATTEMPT.c.number).where(*same))}
    if attempt.number > 0 and attempt.number not in taken:
        return attempt.number
    return max(taken, default=0) + 1


def _set_end(
    connection: sa.Connection, trial: Any, outcome: Outcome, at: datetime, *, attempt_id: str | None = None
) -> None:
    state, text = outcome_state(outcome), to_text(outcome)
    connection.execute(
        TRIAL.update()
        .where(TRIAL.c.trial_id == trial.trial_id)
        .values(state=state, outcome=text, attempt_id=attempt_id)
    )
    detail = f"attempt {attempt_id}" if attempt_id is not None else text
    add_event(connection, trial.run_id, f"trial {state}", at, trial=trial.trial_id, detail=detail)


def set_end(connection: sa.Connection, trial_id: str, outcome: Outcome, at: datetime) -> None:
    """Give an open trial its end; the same end once more changes nothing.

    Raises ValueError when it has another end already, or is said to be measured without an attempt that measured.
    """
    trial = _trial(connection, trial_id)
    if isinstance(outcome, Measured):
        if trial.state != TrialState.MEASURED:
            raise ValueError(f"trial {trial_id} is {trial.state}: only an attempt makes it measured")
        return
    if trial.state == TrialState.PLANNED:
        _set_end(connection, trial, outcome, at)
    elif outcome_from(trial.state, trial.outcome) != outcome:
        raise ValueError(f"trial {trial_id} has ended {trial.state} already, not as {outcome}")


def set_phone(connection: sa.Connection, trial_id: str, phone: str, at: datetime) -> None:
    """Ask a trial of another phone; its name stays that of the question that was planned.

    Raises ValueError when no such trial was planned.
    """
    _set_phone(connection, _trial(connection, trial_id), phone, at)


def _set_phone(connection: sa.Connection, trial: Any, phone: str, at: datetime) -> None:
    if trial.phone != phone:
        connection.execute(TRIAL.update().where(TRIAL.c.trial_id == trial.trial_id).values(phone=phone))
        detail = f"from {trial.phone} to {phone}"
        add_event(connection, trial.run_id, MOVED, at, trial=trial.trial_id, detail=detail)


def open_again(connection: sa.Connection, trial_ids: Iterable[str], at: datetime) -> int:
    """Plan failed and skipped trials again; how many those were. Open and measured ones are left alone."""
    count = 0
    for trial_id in dict.fromkeys(trial_ids):
        trial = _trial(connection, trial_id)
        if trial.state not in (TrialState.FAILED, TrialState.SKIPPED):
            continue
        values = {"state": TrialState.PLANNED.value, "outcome": None, "attempt_id": None}
        connection.execute(TRIAL.update().where(TRIAL.c.trial_id == trial_id).values(**values))
        add_event(connection, trial.run_id, "trial reopened", at, trial=trial_id, detail=f"was {trial.state}")
        count += 1
    return count


def trials_of(connection: sa.Connection, run_id: str) -> list[TrialRow]:
    """A run's trials in the order of the plan."""
    rows = connection.execute(sa.select(TRIAL).where(TRIAL.c.run_id == run_id).order_by(TRIAL.c.ordinal))
    return [
        TrialRow(
            trial=trial_from(row),
            trial_id=row.trial_id,
            state=_state(row.state),
            outcome=None if row.outcome is None else outcome_from(row.state, row.outcome),
            attempt_id=row.attempt_id,
        )
        for row in rows
    ]


def _state(text: str) -> TrialState:
    try:
        return TrialState(text)
    except ValueError as error:
        raise StoreError(f"a stored trial is in no known state: {text!r}") from error


def attempts_of(connection: sa.Connection, run_id: str) -> list[AttemptRecord]:
    """A run's attempts, calibrations too, in the order in which they were recorded."""
    rows = connection.execute(sa.select(ATTEMPT).where(ATTEMPT.c.run_id == run_id).order_by(ATTEMPT.c.seq))
    return [_attempt_from(row) for row in rows]


def _attempt_from(row: Any) -> AttemptRecord:
    return AttemptRecord(
        trial_id=row.trial_id or "",
        number=row.number,
        recorded_at=moment_from(row.recorded_at),
        argv=from_text(tuple[str, ...], row.argv),
        before=None if row.before_vitals is None else from_text(Vitals, row.before_vitals),
        after=None if row.after_vitals is None else from_text(Vitals, row.after_vitals),
        outcome=outcome_from(row.state, row.outcome),
        evidence=from_text(dict[str, str], row.evidence),
        in_force=from_text(dict[str, str], row.in_force),
        validity_reasons=from_text(tuple[str, ...], row.validity_reasons),
        process=None if row.process is None else from_text(ProcessFacts, row.process),
        gate=None if row.gate is None else from_text(GateWait, row.gate),
        schema_version=row.schema_version,
        **{name: getattr(row, name) for name in (*_SAME_FIELDS, *_TEXT_FIELDS)},
    )
