"""The one way to the database: opening it, durable transactions, and its errors as one clear StoreError."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from orchestrator.errors import StoreError
from orchestrator.store.doors import DAMAGED, Door, is_away, postgres_door, said, sqlite_door
from orchestrator.store.migrations import SCHEMA_VERSION, migrate
from orchestrator.store.schema import SCHEMA_MIGRATION

LOOK_AGAIN_S = 0.5


class Database:
    """Transactions over one database: a file, or a PostgreSQL URL. Threads, processes, and with PostgreSQL hosts may
    share it; writers take turns."""

    def __init__(self, address: Path | str) -> None:
        self._door: Door = postgres_door(address) if isinstance(address, str) else sqlite_door(address)
        self.name = self._door.name
        self.of_several_hosts = isinstance(address, str)
        self._was_there = False
        self._turn = threading.RLock()

    @classmethod
    def open(cls, address: Path | str) -> Database:
        """Open, make when missing (a file), and migrate. Raises StoreError."""
        if isinstance(address, Path):
            _make_file(address)
        database = cls(address)
        try:
            if database.version() != SCHEMA_VERSION:
                with database.writing() as connection:
                    migrate(connection)
        except StoreError:
            database.close()
            raise
        return database

    def version(self) -> int:
        """The schema's number without waiting for a writer; 0 for an empty database. Raises StoreError."""
        with self.reading() as connection:
            if not sa.inspect(connection).has_table(SCHEMA_MIGRATION.name):
                return 0
            return int(connection.execute(sa.select(sa.func.max(SCHEMA_MIGRATION.c.number))).scalar() or 0)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One consistent view. Raises StoreError."""
        with self._clear_words(), self._connected() as bare:
            yield bare.execution_options(**self._door.reads)

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """All of it durably, or nothing. Raises StoreError."""
        with self._turn, self._clear_words(), self._connected() as bare:
            connection = bare.execution_options(**self._door.writes)
            with connection.begin():
                self._door.take_turn(connection)
                yield connection

    def _connected(self) -> sa.Connection:
        """A connection that answers. A server that was there before may restart meanwhile."""
        until_s = time.monotonic() + self._door.back_within_s
        while True:
            try:
                connection = self._door.engine.connect()
            except DBAPIError as error:
                if not self._was_there or not is_away(error) or time.monotonic() > until_s:
                    raise
                time.sleep(LOOK_AGAIN_S)
            else:
                self._was_there = True
                return connection

    @contextmanager
    def _clear_words(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            words = said(error)
            mend = next((mend for mark, mend in self._door.mends if mark in words.lower()), "")
            raise StoreError(f"{self.name}: {words}" + (f" ({mend})" if mend else "")) from error
        except UnicodeDecodeError as error:
            raise StoreError(f"{self.name}: holds text that is no UTF-8 ({DAMAGED})") from error
        except StoreError as error:
            if self.name in str(error):
                raise
            mend = f" ({DAMAGED})" if "can't be read" in str(error) else ""
            raise StoreError(f"{self.name}: {error}{mend}") from error

    def close(self) -> None:
        """Give all connections back. Nothing is lost by not doing so."""
        self._door.engine.dispose()


def _make_file(path: Path) -> None:
    """The folder and an empty file, open to the group that the home may belong to: SQLite itself would close it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path.parent}: can't be made ({error.strerror}); give --home DIR") from error
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
