"""The ledger's file: made, migrated, shared, refused."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sample_run as sample
import sqlalchemy as sa

from orchestrator.errors import StoreError
from orchestrator.home import LEDGER_FILE
from orchestrator.store import run_rows
from orchestrator.store.database import Database
from orchestrator.store.ledger import Ledger
from orchestrator.store.migrations import MIGRATIONS, SCHEMA_VERSION, migrate
from orchestrator.store.schema import ATTEMPT, METADATA

ROOT = Path(__file__).parents[3]


def kind(said: sa.types.TypeEngine[Any]) -> str:
    """A column's type; SQLite's words for a double differ, what they do does not."""
    return "double" if isinstance(said, sa.Float) else str(said)


def shape(engine: sa.Engine) -> dict[str, object]:
    """What a database says of its tables: columns, keys, indexes."""
    inspector = sa.inspect(engine)
    found: dict[str, object] = {}
    for table in inspector.get_table_names():
        found[table] = {
            "columns": [(c["name"], kind(c["type"]), c["nullable"]) for c in inspector.get_columns(table)],
            "key": inspector.get_pk_constraint(table)["constrained_columns"],
            "foreign": sorted(
                (tuple(f["constrained_columns"]), f["referred_table"]) for f in inspector.get_foreign_keys(table)
            ),
            "unique": sorted(
                (u["name"] or "", tuple(u["column_names"])) for u in inspector.get_unique_constraints(table)
            ),
            "indexes": sorted((i["name"] or "", tuple(i["column_names"])) for i in inspector.get_indexes(table)),
        }
    return found


def test_migrations_make_the_tables_that_the_program_uses(tmp_path: Path) -> None:
    Ledger.open(tmp_path).close()
    migrated = sa.create_engine(f"sqlite:///{tmp_path / LEDGER_FILE}")
    described = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    METADATA.create_all(described)
    try:
        assert shape(migrated) == shape(described)
    finally:
        migrated.dispose()
        described.dispose()


def test_tables_compile_for_postgresql() -> None:
    from sqlalchemy.dialects import postgresql
    from sqlalchemy.schema import CreateTable

    for table in METADATA.tables.values():
        text = str(CreateTable(table).compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]
        assert f"CREATE TABLE {table.name}" in text
        assert "SERIAL" not in text


def test_connections_are_durable_and_hold_keys(tmp_path: Path) -> None:
    database = Database.open(tmp_path / LEDGER_FILE)
    with database.reading() as connection:
        said = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    database.close()
    assert said == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        ledger = Ledger.open(tmp_path)
        ledger.close()
    with sqlite3.connect(tmp_path / LEDGER_FILE) as bare:
        assert bare.execute("SELECT number FROM schema_migration").fetchall() == [
            (number,) for number in range(1, SCHEMA_VERSION + 1)
        ]
    bare.close()


def test_a_later_migration_keeps_what_is_there(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    ledger.add_run(sample.contents())
    ledger.close()
    database = Database(tmp_path / LEDGER_FILE)

    def second(connection: sa.Connection) -> None:
        connection.execute(sa.text("ALTER TABLE run ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'"))

    with database.writing() as connection:
        assert migrate(connection, {**MIGRATIONS, SCHEMA_VERSION + 1: second}) == SCHEMA_VERSION
    with database.reading() as connection:
        assert connection.execute(sa.text("SELECT run_id, mood FROM run")).all() == [(sample.RUN, "calm")]
    database.close()


def test_a_ledger_from_before_validity_keeps_its_attempts_unjudged(tmp_path: Path) -> None:
    database = Database(tmp_path / LEDGER_FILE)
    with database.writing() as connection:
        migrate(connection, {1: MIGRATIONS[1]})
        run_rows.insert_run(connection, sample.contents())
        trial = sample.contents().trials[0]
        added = ("validity", "validity_reasons", "process", "gate")
        names = [name for name in (one.name for one in ATTEMPT.columns) if name not in added]
        row = {name: 1 for name in names} | {
            "attempt_id": "old", "run_id": sample.RUN, "trial_id": trial.trial_id(sample.RUN), "argv": "[]",
            "before_vitals": None, "after_vitals": None, "state": "measured", "outcome": '{"figures":null}',
            "evidence": "{}", "in_force": "{}", "recorded_at": "2026-04-12T02:14:05.000000+00:00",
        }  # fmt: skip
        marks = ", ".join(f":{name}" for name in names)
        connection.execute(sa.text(f"INSERT INTO attempt ({', '.join(names)}) VALUES ({marks})"), row)
    database.close()
    ledger = Ledger.open(tmp_path)
    (attempt,) = ledger.attempts(sample.RUN)
    assert (attempt.validity, attempt.validity_reasons, attempt.rejected) == ("", (), False)
    ledger.close()


def test_a_migration_that_fails_leaves_the_ledger_as_it_was(tmp_path: Path) -> None:
    Ledger.open(tmp_path).close()
    database = Database(tmp_path / LEDGER_FILE)

    def broken(connection: sa.Connection) -> None:
        connection.execute(sa.text("CREATE TABLE half (x TEXT)"))
        connection.execute(sa.text("CREATE TABLE half (x TEXT)"))

    with pytest.raises(StoreError, match="already exists"), database.writing() as connection:
        migrate(connection, {**MIGRATIONS, SCHEMA_VERSION + 1: broken})
    with database.reading() as connection:
        assert not sa.inspect(connection).has_table("half")
    database.close()
    Ledger.open(tmp_path).close()


def test_a_newer_ledger_is_refused_by_name(tmp_path: Path) -> None:
    Ledger.open(tmp_path).close()
    bare = sqlite3.connect(tmp_path / LEDGER_FILE)
    bare.execute("INSERT INTO schema_migration VALUES (?, 'later', '9.0')", (SCHEMA_VERSION + 3,))
    bare.commit()
    bare.close()
    with pytest.raises(StoreError) as told:
        Ledger.open(tmp_path)
    assert f"schema {SCHEMA_VERSION + 3}" in str(told.value)
    assert LEDGER_FILE in str(told.value)
    assert "newer" in str(told.value)


@pytest.mark.parametrize(
    "content",
    [b"this is no database, just text\n" * 200, b"SQLite format 3\0" + b"\xff" * 8000],
    ids=["text", "header"],
)
def test_a_file_that_is_no_ledger_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LEDGER_FILE).write_bytes(content)
    with pytest.raises(StoreError) as told:
        Ledger.open(tmp_path)
    assert LEDGER_FILE in str(told.value)
    assert "move it away" in str(told.value)
    assert "\n" not in str(told.value)
    assert (tmp_path / LEDGER_FILE).read_bytes() == content


def test_a_damaged_page_is_a_store_error_when_it_is_met(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    ledger.add_run(sample.contents(rounds=50))
    ledger.close()
    path = tmp_path / LEDGER_FILE
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(bytes(data))
    with pytest.raises(StoreError, match=LEDGER_FILE):
        Ledger.open(tmp_path).contents(sample.RUN)


def test_a_home_that_cannot_be_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="--home"):
        Ledger.open(tmp_path / "file" / "home")


_OPEN = "import sys, pathlib\nfrom orchestrator.store.ledger import Ledger\n"
_OPEN += "ledger = Ledger.open(pathlib.Path(sys.argv[1]))\n"
_OPEN += "print([ledger.next_epoch('phone') for _ in range(25)])\nledger.close()\n"


def test_processes_that_open_a_new_home_at_once_share_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _OPEN, str(tmp_path / "home")]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(3)]
    said = [worker.communicate(timeout=120)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    epochs = [int(one) for text in said for one in text.strip(" []\n").split(",")]
    assert sorted(epochs) == list(range(1, 76))
