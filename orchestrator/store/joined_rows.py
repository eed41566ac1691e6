"""What is asked of a phone that joins a run, as rows behind those of the run. Within a caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from orchestrator.plan.case import UNPLANNED, Trial
from orchestrator.store.records import RunContents
from orchestrator.store.run_rows import add_event, case_row, dropped_row, phone_row, run_row, trial_row, variant_row
from orchestrator.store.schema import RUN_CASE, RUN_DROPPED, RUN_PHONE, RUN_VARIANT, TRIAL

JOINED = "phone joined"
ROUND = "round planned"


def insert_joined(connection: sa.Connection, run_id: str, contents: RunContents, at: datetime) -> None:
    """Append phones, their trials and what these refer to; what the run has already stays as it is.

    Raises StoreError when there is no such run.
    """
    run_row(connection, run_id)
    phones = [phone_row(one) for one in contents.phones]
    _append(connection, RUN_PHONE, run_id, phones, "phone")
    _append(connection, RUN_VARIANT, run_id, [variant_row(one) for one in contents.variants], "variant_id")
    _append(connection, RUN_CASE, run_id, [case_row(one) for one in contents.cases], "case_id")
    _append(connection, RUN_DROPPED, run_id, [dropped_row(one) for one in contents.dropped])
    planned = [trial for trial in contents.trials if trial.purpose not in UNPLANNED]
    first = _next(connection, TRIAL, run_id)
    rows = [trial_row(run_id, first + at, trial) for at, trial in enumerate(planned)]
    if rows:
        connection.execute(TRIAL.insert(), rows)
    for one in contents.phones:
        add_event(connection, run_id, JOINED, at, trial=None, detail=f"{one.phone}: {len(planned)} trials planned")


def insert_round(connection: sa.Connection, run_id: str, trials: Sequence[Trial], at: datetime) -> None:
    """Append trials of cases and phones that the run has. Raises StoreError when there is no such run."""
    run_row(connection, run_id)
    first = _next(connection, TRIAL, run_id)
    connection.execute(TRIAL.insert(), [trial_row(run_id, first + at, trial) for at, trial in enumerate(trials)])
    detail = f"{trials[0].phone}: {len(trials)} trials of round {trials[0].round}"
    add_event(connection, run_id, ROUND, at, trial=None, detail=detail)


def _append(
    connection: sa.Connection, table: sa.Table, run_id: str, rows: Sequence[dict[str, Any]], key: str = ""
) -> None:
    """Rows behind those that the run has of this kind; without those whose key it has."""
    if key:
        known = set(connection.execute(sa.select(table.c[key]).where(table.c.run_id == run_id)).scalars())
        rows = [row for row in rows if row[key] not in known]
    first = _next(connection, table, run_id)
    if rows:
        connection.execute(
            table.insert(), [{"run_id": run_id, "ordinal": first + at, **row} for at, row in enumerate(rows)]
        )


def _next(connection: sa.Connection, table: sa.Table, run_id: str) -> int:
    last = connection.execute(sa.select(sa.func.max(table.c.ordinal)).where(table.c.run_id == run_id)).scalar()
    return 0 if last is None else int(last) + 1
