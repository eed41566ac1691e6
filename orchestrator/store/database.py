"""The door to the database: opening it, durable transactions, and its errors as one clear StoreError.

SQLite with WAL (readers never wait), synchronous FULL (what is committed survives a power cut) and BEGIN IMMEDIATE for
writers (a second process waits its turn instead of failing in the middle).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError

from orchestrator.errors import StoreError
from orchestrator.store.migrations import SCHEMA_VERSION, migrate
from orchestrator.store.schema import SCHEMA_MIGRATION

BUSY_TIMEOUT_MS = 30_000
MAX_READERS = 16

_WRITES = "orch_writes"

_MALFORMED = "the file is damaged: move it away or bring back a copy; evidence and reports stay as they are"
_MENDS = (
    ("not a database", "this file is no ledger: move it away; evidence and reports stay as they are"),
    ("malformed", _MALFORMED),
    ("disk is full", "make room, then: orch resume"),
    ("disk i/o error", "look after the disk, then: orch resume"),
    ("readonly", "make it writable, or give --home DIR"),
    ("unable to open", "is the folder there and writable? or give --home DIR"),
    ("locked", "another orch holds it; try again when that one has ended"),
)


def _said(error: SQLAlchemyError) -> str:
    """The database's own words, without the statement."""
    original = getattr(error, "orig", None)
    return str(original if original is not None else error).splitlines()[0]


def _on_connect(connection: Any, _record: object) -> None:
    """A new SQLite connection: we begin transactions ourselves, durably, with foreign keys held."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _on_begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


class Database:
    """Transactions over one database file. Threads and processes may share it; writers take turns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        url = sa.URL.create("sqlite+pysqlite", database=str(path))
        self._engine = sa.create_engine(url, pool_size=MAX_READERS, max_overflow=0)
        event.listen(self._engine, "connect", _on_connect)
        event.listen(self._engine, "begin", _on_begin)
        self._turn = threading.RLock()

    @classmethod
    def open(cls, path: Path) -> Database:
        """Open, make when missing, and migrate. Raises StoreError."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path.parent}: can't be made ({error.strerror}); give --home DIR") from error
        with suppress(OSError):  # SQLite itself would close it to the group that the home may belong to
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        database = cls(path)
        try:
            if database._version() != SCHEMA_VERSION:
                with database.writing() as connection:
                    migrate(connection)
        except StoreError:
            database.close()
            raise
        return database

    def _version(self) -> int:
        """The schema's number without waiting for a writer; 0 for an empty database."""
        with self.reading() as connection:
            if not sa.inspect(connection).has_table(SCHEMA_MIGRATION.name):
                return 0
            return int(connection.execute(sa.select(sa.func.max(SCHEMA_MIGRATION.c.number))).scalar() or 0)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One consistent view. Raises StoreError."""
        with self._clear_words(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """All of it durably, or nothing. Raises StoreError."""
        with self._turn, self._clear_words(), self._engine.connect() as bare:
            connection = bare.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    @contextmanager
    def _clear_words(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            said = _said(error)
            mend = next((mend for mark, mend in _MENDS if mark in said.lower()), "")
            raise StoreError(f"{self.path}: {said}" + (f" ({mend})" if mend else "")) from error
        except UnicodeDecodeError as error:
            raise StoreError(f"{self.path}: holds text that is no UTF-8 ({_MALFORMED})") from error
        except StoreError as error:
            if str(self.path) in str(error):
                raise
            mend = f" ({_MALFORMED})" if "can't be read" in str(error) else ""
            raise StoreError(f"{self.path}: {error}{mend}") from error

    def close(self) -> None:
        """Give all connections back. Nothing is lost by not doing so."""
        self._engine.dispose()
