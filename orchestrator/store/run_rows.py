"""A run's contents as rows, and back; its state and its history. Every function works within a caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from android_runner.facts import PhoneFacts
from orchestrator.errors import StoreError
from orchestrator.plan.case import UNPLANNED, Case, Dropped, Purpose, Trial
from orchestrator.store.codec import from_text, moment_from, moment_text, storable, to_text, word_from
from orchestrator.store.records import (
    Counts,
    EventRecord,
    PhoneRecord,
    RunContents,
    RunRecord,
    RunState,
    RunSummary,
    TrialState,
    VariantRecord,
)
from orchestrator.store.schema import RUN, RUN_CASE, RUN_DROPPED, RUN_EVENT, RUN_PHONE, RUN_VARIANT, TRIAL
from orchestrator.variants.tolerance import Numerics

_PLAIN_FIELDS = (
    "plan_digest", "seed", "rounds", "binary_digest", "binary_ort_version", "script_digest", "orch_version",
)  # fmt: skip
_TEXT_FIELDS = ("plan_name", "plan_json", "note", "binary_name", "host")


PREPARED = "phone prepared"


def add_event(
    connection: sa.Connection, run_id: str, kind: str, at: datetime, *, trial: str | None, detail: str
) -> None:
    """Append a line to a run's history."""
    last = connection.execute(sa.select(sa.func.max(RUN_EVENT.c.seq)).where(RUN_EVENT.c.run_id == run_id)).scalar() or 0
    row = {
        "run_id": run_id,
        "seq": last + 1,
        "at": moment_text(at),
        "kind": kind,
        "trial_id": trial,
        "detail": storable(detail),
    }
    connection.execute(RUN_EVENT.insert().values(**row))


def events_of(connection: sa.Connection, run_id: str) -> list[EventRecord]:
    """A run's history in its order."""
    rows = connection.execute(sa.select(RUN_EVENT).where(RUN_EVENT.c.run_id == run_id).order_by(RUN_EVENT.c.seq))
    return [
        EventRecord(seq=row.seq, at=moment_from(row.at), kind=row.kind, trial_id=row.trial_id, detail=row.detail)
        for row in rows
    ]


def set_prepared(connection: sa.Connection, run_id: str, phone: str, record: Mapping[str, Any], at: datetime) -> None:
    """Write what came of preparing a phone, as a line of the run's history."""
    detail = json.dumps({"phone": phone, **record}, sort_keys=True)
    add_event(connection, run_id, PREPARED, at, trial=None, detail=detail)


def prepared_of(connection: sa.Connection, run_id: str) -> dict[str, dict[str, Any]]:
    """What `set_prepared` wrote last, by phone."""
    records = [from_text(dict[str, Any], one.detail) for one in events_of(connection, run_id) if one.kind == PREPARED]
    return {str(one["phone"]): one for one in records}


def insert_run(connection: sa.Connection, contents: RunContents) -> None:
    """All that a run asks for, every trial `planned`; a calibration is no trial and is left out.

    Raises StoreError when the run is there already.
    """
    run = contents.run
    if connection.execute(sa.select(RUN.c.run_id).where(RUN.c.run_id == run.run_id)).first() is not None:
        raise StoreError(f"run {run.run_id} is in the ledger already")
    connection.execute(RUN.insert().values(**_run_row(run)))
    key = {"run_id": run.run_id}
    _insert(connection, RUN_PHONE, [{**key, "ordinal": n, **phone_row(one)} for n, one in enumerate(contents.phones)])
    _insert(
        connection, RUN_VARIANT, [{**key, "ordinal": n, **variant_row(one)} for n, one in enumerate(contents.variants)]
    )
    _insert(connection, RUN_CASE, [{**key, "ordinal": n, **case_row(one)} for n, one in enumerate(contents.cases)])
    _insert(
        connection, RUN_DROPPED, [{**key, "ordinal": n, **dropped_row(one)} for n, one in enumerate(contents.dropped)]
    )
    planned = [trial for trial in contents.trials if trial.purpose not in UNPLANNED]
    _insert(connection, TRIAL, [trial_row(run.run_id, n, trial) for n, trial in enumerate(planned)])
    detail = f"{len(planned)} trials planned"
    add_event(connection, run.run_id, "run planned", run.created_at, trial=None, detail=detail)


def _insert(connection: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        connection.execute(table.insert(), rows)


def _run_row(run: RunRecord) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "created_at": moment_text(run.created_at),
        "state": RunState.RUNNING.value,
        "ended_at": None,
        "tags": to_text(run.tags),
        "user_name": storable(run.user),
        **{name: getattr(run, name) for name in _PLAIN_FIELDS},
        **{name: storable(getattr(run, name)) for name in _TEXT_FIELDS},
    }


def phone_row(one: PhoneRecord) -> dict[str, Any]:
    """A phone as a row."""
    return {
        "phone": one.phone,
        "label": storable(one.label),
        "serial": storable(one.serial),
        "facts": to_text(one.facts),
    }


def variant_row(one: VariantRecord) -> dict[str, Any]:
    """A variant as a row."""
    return {
        "variant_id": one.variant_id,
        "model_name": one.model_name,
        "recipe": one.recipe,
        "graph_digest": one.graph_digest,
        "record": to_text(one),
    }


def set_numerics(connection: sa.Connection, run_id: str, numerics: Mapping[str, Numerics]) -> None:
    """Put into variants' rows, by id, what became known after the run was planned; a variant of no such id is left
    out."""
    for variant_id, found in numerics.items():
        this = (RUN_VARIANT.c.run_id == run_id, RUN_VARIANT.c.variant_id == variant_id)
        record = connection.execute(sa.select(RUN_VARIANT.c.record).where(*this)).scalar()
        if record is not None:
            one = replace(from_text(VariantRecord, record), numerics=found)
            connection.execute(RUN_VARIANT.update().where(*this).values(record=to_text(one)))


def case_row(one: Case) -> dict[str, Any]:
    """A case as a row."""
    return {
        "case_id": one.case_id,
        "model_name": one.model_name,
        "recipe_name": one.recipe_name,
        "row_name": one.row,
        "record": to_text(one),
    }


def dropped_row(one: Dropped) -> dict[str, Any]:
    """What was dropped as a row."""
    return {"model_name": one.model_name, "phone": one.phone, "row_name": one.row, "reason": storable(one.reason)}


def trial_row(run_id: str, ordinal: int, trial: Trial) -> dict[str, Any]:
    """A trial as a row."""
    return {
        "trial_id": trial.trial_id(run_id),
        "run_id": run_id,
        "ordinal": ordinal,
        "case_id": trial.case_id,
        "phone": trial.phone,
        "purpose": trial.purpose.value,
        "round": trial.round,
        "position": trial.position,
        "state": TrialState.PLANNED.value,
        "outcome": None,
        "attempt_id": None,
    }


def trial_from(row: Any) -> Trial:
    """The trial that a row of `trial` tells of."""
    return Trial(
        case_id=row.case_id,
        phone=row.phone,
        purpose=word_from(Purpose, row.purpose),
        round=row.round,
        position=row.position,
    )


def run_from(row: Any) -> RunRecord:
    """The run that a row of `run` tells of."""
    return RunRecord(
        run_id=row.run_id,
        created_at=moment_from(row.created_at),
        tags=from_text(tuple[str, ...], row.tags),
        user=row.user_name,
        **{name: getattr(row, name) for name in (*_PLAIN_FIELDS, *_TEXT_FIELDS)},
    )


def run_row(connection: sa.Connection, run_id: str) -> Any:
    """A run's own row. Raises StoreError when there is none."""
    row = connection.execute(sa.select(RUN).where(RUN.c.run_id == run_id)).first()
    if row is None:
        raise StoreError(f"no run {run_id} in the ledger")
    return row


def contents_of(connection: sa.Connection, run_id: str) -> RunContents:
    """What `insert_run` wrote, in the same order. Raises StoreError: no such run, or one in pieces."""

    def rows(table: sa.Table) -> Sequence[Any]:
        return connection.execute(sa.select(table).where(table.c.run_id == run_id).order_by(table.c.ordinal)).all()

    contents = RunContents(
        run=run_from(run_row(connection, run_id)),
        phones=tuple(
            PhoneRecord(phone=row.phone, label=row.label, serial=row.serial, facts=from_text(PhoneFacts, row.facts))
            for row in rows(RUN_PHONE)
        ),
        variants=tuple(from_text(VariantRecord, row.record) for row in rows(RUN_VARIANT)),
        cases=tuple(from_text(Case, row.record) for row in rows(RUN_CASE)),
        trials=tuple(trial_from(row) for row in rows(TRIAL)),
        dropped=tuple(
            Dropped(model_name=row.model_name, phone=row.phone, row=row.row_name, reason=row.reason)
            for row in rows(RUN_DROPPED)
        ),
    )
    hold_together(contents, ((trial.case_id, trial.phone) for trial in contents.trials))
    return contents


def hold_together(contents: RunContents, named: Iterable[tuple[str, str]]) -> None:
    """Raise StoreError when a case or a phone is named, by trials or attempts, that the run has not."""
    cases, phones = {case.case_id for case in contents.cases}, {phone.phone for phone in contents.phones}
    for case_id, phone in named:
        if case_id not in cases or phone not in phones:
            what, name = ("case", case_id) if case_id not in cases else ("phone", phone)
            raise StoreError(f"run {contents.run.run_id} has no {what} {name[:80]!r}, which a row of it names")


def set_state(connection: sa.Connection, run_id: str, state: RunState, at: datetime, host: str) -> None:
    """Write where a run stands; it has ended unless it is running. Raises StoreError when there is no such run."""
    ended = None if state is RunState.RUNNING else moment_text(at)
    done = connection.execute(RUN.update().where(RUN.c.run_id == run_id).values(state=state.value, ended_at=ended))
    if done.rowcount != 1:
        raise StoreError(f"no run {run_id} in the ledger")
    add_event(connection, run_id, f"run {state.value}", at, trial=None, detail=host)


def last_word(connection: sa.Connection, run_id: str) -> tuple[str, datetime]:
    """See `Ledger.last_word`."""
    lines = sa.select(RUN_EVENT).where(RUN_EVENT.c.run_id == run_id).order_by(RUN_EVENT.c.seq.desc()).limit(1)
    newest = connection.execute(lines).one()
    begun = connection.execute(lines.where(RUN_EVENT.c.kind == f"run {RunState.RUNNING.value}")).first()
    return begun.detail if begun and begun.detail else run_row(connection, run_id).host, moment_from(newest.at)


def counts_by_run(connection: sa.Connection, run_id: str | None = None) -> dict[str, Counts]:
    """Trials by state, for one run or for all; a run without trials is not in it."""
    query = sa.select(TRIAL.c.run_id, TRIAL.c.state, sa.func.count()).group_by(TRIAL.c.run_id, TRIAL.c.state)
    if run_id is not None:
        query = query.where(TRIAL.c.run_id == run_id)
    found: dict[str, dict[str, int]] = {}
    for name, state, count in connection.execute(query):
        found.setdefault(name, {})[state] = count
    return {
        name: Counts(
            planned=sum(states.values()),
            measured=states.get(TrialState.MEASURED, 0),
            failed=states.get(TrialState.FAILED, 0),
            skipped=states.get(TrialState.SKIPPED, 0),
        )
        for name, states in found.items()
    }


def summaries(connection: sa.Connection, run_id: str | None = None) -> list[RunSummary]:
    """Every run, newest first; or only one."""
    counts = counts_by_run(connection, run_id)
    none = Counts(planned=0, measured=0, failed=0, skipped=0)
    query = sa.select(RUN) if run_id is None else sa.select(RUN).where(RUN.c.run_id == run_id)
    rows = connection.execute(query.order_by(RUN.c.created_at.desc(), RUN.c.run_id.desc()))
    return [
        RunSummary(
            run=run_from(row),
            state=word_from(RunState, row.state),
            counts=counts.get(row.run_id, none),
            started_at=moment_from(row.created_at),
            ended_at=None if row.ended_at is None else moment_from(row.ended_at),
        )
        for row in rows
    ]
