"""A run's rows as they leave a ledger and come into another one: every table that tells of one run.

Rows of an older schema are put into a ledger of that schema, which the migrations then bring to today's: so there is
one way from old to new.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import StoreError
from orchestrator.store.codec import storable
from orchestrator.store.database import Database
from orchestrator.store.disk_tables import CLEANED
from orchestrator.store.migrations import MIGRATIONS, migrate
from orchestrator.store.schema import (
    ATTEMPT,
    BATTERY,
    BLOCK,
    CASE_ITERATIONS,
    INCIDENT,
    RUN,
    RUN_CASE,
    RUN_DROPPED,
    RUN_EVENT,
    RUN_PHONE,
    RUN_VARIANT,
    TRIAL,
)

TABLES: Mapping[str, sa.Table] = {
    table.name: table
    for table in (
        RUN, RUN_PHONE, RUN_VARIANT, RUN_CASE, RUN_DROPPED, TRIAL, BLOCK, ATTEMPT, RUN_EVENT, CASE_ITERATIONS, BATTERY,
        INCIDENT, CLEANED,
    )
}  # fmt: skip
"""In the order in which they refer to each other."""
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""A run's name is a folder's name."""
Row = Mapping[str, Any]
Rows = Mapping[str, Sequence[Row]]
_WHOLE = 2**63
_AT_ONCE = 500


class BundleRows:
    """Rows of whole runs. Each method is one transaction and raises StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_run(self, run_id: str) -> dict[str, list[dict[str, Any]]]:
        """Every row of a run by table, in the order of their keys."""
        with self._database.reading() as connection:
            return {
                name: [dict(row) for row in connection.execute(_query(table, run_id)).mappings()]
                for name, table in TABLES.items()
            }

    def taken(self, rows: Rows) -> str:
        """A trial, block or attempt of these that another run has already; "" where there is none."""
        with self._database.reading() as connection:
            for column in (TRIAL.c.trial_id, BLOCK.c.block_id, ATTEMPT.c.attempt_id):
                names = [row[column.name] for row in rows.get(column.table.name, ())]
                for at in range(0, len(names), _AT_ONCE):
                    query = sa.select(column).where(column.in_(names[at : at + _AT_ONCE])).limit(1)
                    if (name := connection.execute(query).scalar()) is not None:
                        return f"{column.table.name} {name}"
        return ""

    def add(self, rows: Rows) -> None:
        """Write a run that is not there. Raises StoreError, also when rows of another run have its ids."""
        with self._database.writing() as connection:
            for name, table in TABLES.items():
                if found := [dict(row) for row in rows.get(name, ())]:
                    connection.execute(table.insert(), found)


def _query(table: sa.Table, run_id: str) -> sa.Select[Any]:
    return sa.select(table).where(table.c.run_id == run_id).order_by(*table.primary_key.columns)


def first_difference(here: Rows, there: Rows) -> str:
    """Where two runs' rows differ, in words; "" where they don't. What was cleaned is not looked at."""
    for name in TABLES:
        if name == CLEANED.name:
            continue
        ours, theirs = list(map(dict, here.get(name, ()))), list(map(dict, there.get(name, ())))
        if len(ours) != len(theirs):
            return f"{name}: {len(ours)} rows here, {len(theirs)} in the file"
        for at, (one, other) in enumerate(zip(ours, theirs, strict=True), start=1):
            if one != other:
                columns = [column for column in one if one[column] != other.get(column)]
                return f"{name}, row {at}: {', '.join(columns[:3])}"
    return ""


def rebuild(path: Path, schema: int, run_id: str, rows: Mapping[str, Iterable[Row]]) -> None:
    """Make a ledger of an older schema (or today's) out of a run's rows. Raises StoreError where a row is no row."""
    database = Database(path)
    try:
        with database.writing() as connection:
            migrate(connection, {number: step for number, step in MIGRATIONS.items() if number <= schema})
            found = sa.MetaData()
            found.reflect(connection)
            for name, table in TABLES.items():
                wanted = found.tables.get(table.name)
                if wanted is not None:
                    _fill(connection, wanted, run_id, rows.get(name, ()))
                elif any(True for _ in rows.get(name, ())):
                    raise StoreError(f"{name}: schema {schema} has no such table")
    finally:
        database.close()


def _fill(connection: sa.Connection, table: sa.Table, run_id: str, rows: Iterable[Row]) -> None:
    for at, row in enumerate(rows, start=1):
        where = f"{table.name}, row {at}"
        if set(row) != set(table.columns.keys()):
            odd = sorted(set(row) ^ set(table.columns.keys()))
            raise StoreError(f"{where}: its columns are not the table's: {', '.join(odd)[:200]}")
        if row["run_id"] != run_id:
            raise StoreError(f"{where}: is of run {str(row['run_id'])[:100]!r}")
        for name, value in row.items():
            if value is not None and not _fits(value, table.columns[name].type):
                raise StoreError(f"{where}: {name} is {type(value).__name__} {str(value)[:40]!r}")
        connection.execute(table.insert().values(**row))


def _fits(value: object, kind: sa.types.TypeEngine[Any]) -> bool:
    if isinstance(kind, sa.Boolean):
        return isinstance(value, bool)
    if isinstance(kind, sa.Integer):
        return isinstance(value, int) and not isinstance(value, bool) and -_WHOLE <= value < _WHOLE
    if isinstance(kind, sa.Float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str) and storable(value) == value
