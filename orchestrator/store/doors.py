"""The databases that a ledger may be kept in, each as a door: how it is opened, and what its words ask for.

SQLite with WAL (readers never wait), synchronous FULL (what is committed survives a power cut) and BEGIN IMMEDIATE for
writers (a second process waits its turn instead of failing in the middle). PostgreSQL with the same promises: readers
see one moment (REPEATABLE READ), writers take turns at one advisory lock, on whatever host they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, OperationalError

from orchestrator.errors import StoreError

BUSY_TIMEOUT_MS = 30_000
MAX_CONNECTIONS = 16
KEPT_CONNECTIONS = 4
"""A server has a hundred for everybody; a process keeps so many while it does not need them."""
CONNECT_S = 10
DAMAGED = "the file is damaged: move it away or bring back a copy; evidence and reports stay as they are"
BACK_WITHIN_S = 60.0
"""How long a database server that was there is waited for: about what its restart takes."""

_WRITES = "orch_writes"
_TURN = 0x6F726368
"""The advisory lock of writers: `orch` in ASCII."""

_SQLITE_MENDS = (
    ("not a database", "this file is no ledger: move it away; evidence and reports stay as they are"),
    ("malformed", DAMAGED),
    ("disk is full", "make room, then: orch resume"),
    ("disk i/o error", "look after the disk, then: orch resume"),
    ("readonly", "make it writable, or give --home DIR"),
    ("unable to open", "is the folder there and writable? or give --home DIR"),
    ("locked", "another orch holds it; try again when that one has ended"),
)
_COLLATED = "createdb --template=template0 --encoding=UTF8 --locale=C.UTF-8 NAME, and name that one in lab.toml"
_POSTGRES_MENDS = (
    ("no password supplied", "put it into ~/.pgpass (chmod 600), or PGPASSWORD"),
    ("password authentication failed", "is the user right? its password comes from ~/.pgpass or PGPASSWORD"),
    ("does not exist", _COLLATED),
    ("permission denied", "its owner: GRANT ALL ON SCHEMA public TO the user in lab.toml"),
    ("refused", "is the server up, and is its port right in lab.toml? then: orch resume"),
    ("terminating connection", "the server was stopped; when it is up again: orch resume"),
    ("closed the connection", "the server went away; when it is up again: orch resume"),
    ("disk full", "make room on the database's host, then: orch resume"),
    ("no space left", "make room on the database's host, then: orch resume"),
    ("lock timeout", "another orch has held the ledger for long; try again when that one has ended"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One database: its name in messages, its engine, what mends what it says, how a transaction that only reads and
    one that writes begin. `back_within_s`: how long one that was there is waited for."""

    name: str
    engine: sa.Engine
    mends: tuple[tuple[str, str], ...]
    reads: dict[str, Any]
    writes: dict[str, Any]
    take_turn: Callable[[sa.Connection], None]
    back_within_s: float = 0.0


def sqlite_door(path: Path) -> Door:
    """The file at `path`; nothing is opened yet."""
    engine = sa.create_engine(
        sa.URL.create("sqlite+pysqlite", database=str(path)), pool_size=MAX_CONNECTIONS, max_overflow=0
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return Door(
        name=str(path), engine=engine, mends=_SQLITE_MENDS, reads={}, writes={_WRITES: True}, take_turn=lambda _: None
    )


def _prepare_sqlite(connection: Any, _record: object) -> None:
    """A new connection: we begin transactions ourselves, durably, with foreign keys held."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def postgres_door(url: str) -> Door:
    """The database at `postgresql://USER@HOST:PORT/NAME`; nothing is opened yet. Raises StoreError: no driver."""
    try:
        import psycopg  # noqa: F401, PLC0415 - an extra
    except ImportError:
        mend = "pip install 'orch[postgres]'"
        raise StoreError(f"{url}: the driver for PostgreSQL is not installed ({mend})") from None
    engine = sa.create_engine(
        sa.make_url(url).set(drivername="postgresql+psycopg"),
        pool_size=KEPT_CONNECTIONS,
        max_overflow=MAX_CONNECTIONS - KEPT_CONNECTIONS,
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": CONNECT_S,
            "application_name": "orch",
            "options": f"-c lock_timeout={BUSY_TIMEOUT_MS} -c synchronous_commit=on -c client_encoding=UTF8",
        },
    )
    event.listen(engine, "connect", _check_postgres)
    return Door(
        name=url,
        engine=engine,
        mends=_POSTGRES_MENDS,
        reads={"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
        writes={"isolation_level": "READ COMMITTED", "postgresql_readonly": False},
        take_turn=_take_turn,
        back_within_s=BACK_WITHIN_S,
    )


def _check_postgres(connection: Any, _record: object) -> None:
    """Text must sort by its bytes, as in SQLite: moments, names and digests are compared. Raises StoreError."""
    found = connection.execute(
        "SELECT datcollate, pg_encoding_to_char(encoding), to_jsonb(pg_database) ->> 'datlocprovider' "
        "FROM pg_database WHERE datname = current_database()"
    ).fetchone()
    connection.rollback()
    collate, encoding, provider = found
    by_bytes = provider != "i" and collate in ("C", "C.UTF-8", "C.utf8", "POSIX")
    if not by_bytes or encoding != "UTF8":
        order = "the rules of a language" if provider == "i" else collate
        raise StoreError(f"the database sorts by {order} and holds {encoding}, not C.UTF-8 and UTF8 ({_COLLATED})")


def _take_turn(connection: sa.Connection) -> None:
    """Wait until no other writer is at it; the turn ends with the transaction."""
    connection.execute(sa.text("SELECT pg_advisory_xact_lock(:turn)"), {"turn": _TURN})


def said(error: Exception) -> str:
    """The database's own words, without the statement."""
    original = getattr(error, "orig", None)
    return str(original if original is not None else error).splitlines()[0]


def is_away(error: Exception) -> bool:
    """Whether an error says that the database's server can't be reached now, or has just gone."""
    return isinstance(error, OperationalError) or (isinstance(error, DBAPIError) and error.connection_invalidated)
