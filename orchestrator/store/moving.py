"""A ledger moves to another database: every row of every table, in one transaction, counted on both sides."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from orchestrator.errors import StoreError
from orchestrator.store import disk_tables  # noqa: F401 - its tables belong to METADATA, too
from orchestrator.store.database import Database
from orchestrator.store.migrations import SCHEMA_VERSION
from orchestrator.store.schema import METADATA, RUN, SCHEMA_MIGRATION

ROWS_AT_ONCE = 1000


def copy_ledger(source: Path | str, target: Path | str) -> dict[str, int]:
    """Copy the ledger at one address to another that holds no runs yet; the rows copied, by table.

    The source is brought to the newest schema first, and stays as it is otherwise. Raises StoreError, and then nothing
    was copied: the target holds runs, one of them can't be read or written, or rows got lost on the way.
    """
    old, new = Database.open(source), Database.open(target)
    try:
        with old.reading() as reader, new.writing() as writer:
            if writer.execute(sa.select(sa.func.count()).select_from(RUN)).scalar():
                raise StoreError(f"{new.name}: holds runs already; a ledger moves into an empty database only")
            return {table.name: _copy(reader, writer, table) for table in _tables()}
    finally:
        old.close()
        new.close()


def _tables() -> list[sa.Table]:
    """All that hold what happened, those that others point at first."""
    return [table for table in METADATA.sorted_tables if table is not SCHEMA_MIGRATION]


def _copy(reader: sa.Connection, writer: sa.Connection, table: sa.Table) -> int:
    writer.execute(sa.delete(table))
    copied = 0
    rows = reader.execution_options(yield_per=ROWS_AT_ONCE).execute(sa.select(table))
    for part in rows.mappings().partitions():
        writer.execute(sa.insert(table), [dict(row) for row in part])
        copied += len(part)
    there = writer.execute(sa.select(sa.func.count()).select_from(table)).scalar()
    if there != copied:
        raise StoreError(f"{table.name}: {copied} rows were read, {there} are there (schema {SCHEMA_VERSION})")
    return copied
