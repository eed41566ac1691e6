"""Numbered migrations: each is a function that brings a ledger from the number before to its own, and never changes
again. The numbers that a ledger has seen lie in its table `schema_migration`.

The statements are the plain SQL that SQLite and PostgreSQL share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

import sqlalchemy as sa

from orchestrator import __version__
from orchestrator.errors import StoreError
from orchestrator.store.schema import SCHEMA_MIGRATION

_FIRST = (
    """CREATE TABLE run (
        run_id TEXT NOT NULL PRIMARY KEY, created_at TEXT NOT NULL, state TEXT NOT NULL, ended_at TEXT,
        plan_name TEXT NOT NULL, plan_digest TEXT NOT NULL, plan_json TEXT NOT NULL, seed BIGINT NOT NULL,
        rounds INTEGER NOT NULL, note TEXT NOT NULL, tags TEXT NOT NULL, binary_name TEXT NOT NULL,
        binary_digest TEXT NOT NULL, binary_ort_version TEXT NOT NULL, script_digest TEXT NOT NULL,
        orch_version TEXT NOT NULL, host TEXT NOT NULL, user_name TEXT NOT NULL)""",
    "CREATE INDEX run_created_at ON run (created_at)",
    """CREATE TABLE run_phone (
        run_id TEXT NOT NULL REFERENCES run (run_id), phone TEXT NOT NULL, ordinal INTEGER NOT NULL,
        label TEXT NOT NULL, serial TEXT NOT NULL, facts TEXT NOT NULL, PRIMARY KEY (run_id, phone))""",
    """CREATE TABLE run_variant (
        run_id TEXT NOT NULL REFERENCES run (run_id), variant_id TEXT NOT NULL, ordinal INTEGER NOT NULL,
        model_name TEXT NOT NULL, recipe TEXT NOT NULL, graph_digest TEXT NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY (run_id, variant_id))""",
    """CREATE TABLE run_case (
        run_id TEXT NOT NULL REFERENCES run (run_id), case_id TEXT NOT NULL, ordinal INTEGER NOT NULL,
        model_name TEXT NOT NULL, recipe_name TEXT NOT NULL, row_name TEXT NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY (run_id, case_id))""",
    "CREATE INDEX run_case_case ON run_case (case_id)",
    """CREATE TABLE run_dropped (
        run_id TEXT NOT NULL REFERENCES run (run_id), ordinal INTEGER NOT NULL, model_name TEXT NOT NULL,
        phone TEXT NOT NULL, row_name TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (run_id, ordinal))""",
    """CREATE TABLE trial (
        trial_id TEXT NOT NULL PRIMARY KEY, run_id TEXT NOT NULL REFERENCES run (run_id), ordinal INTEGER NOT NULL,
        case_id TEXT NOT NULL, phone TEXT NOT NULL, purpose TEXT NOT NULL, round INTEGER NOT NULL,
        position INTEGER NOT NULL, state TEXT NOT NULL, outcome TEXT, attempt_id TEXT,
        CONSTRAINT trial_once_in_order UNIQUE (run_id, ordinal))""",
    "CREATE INDEX trial_run_state ON trial (run_id, state)",
    """CREATE TABLE block (
        block_id TEXT NOT NULL PRIMARY KEY, run_id TEXT NOT NULL REFERENCES run (run_id), phone TEXT NOT NULL,
        epoch BIGINT NOT NULL, boot_id TEXT NOT NULL, opened_at TEXT NOT NULL, tasks TEXT NOT NULL, ending TEXT,
        closed_at TEXT)""",
    "CREATE INDEX block_run ON block (run_id)",
    """CREATE TABLE attempt (
        attempt_id TEXT NOT NULL PRIMARY KEY, run_id TEXT NOT NULL REFERENCES run (run_id), seq INTEGER NOT NULL,
        trial_id TEXT REFERENCES trial (trial_id), number INTEGER NOT NULL, case_id TEXT NOT NULL, phone TEXT NOT NULL,
        fingerprint TEXT NOT NULL, purpose TEXT NOT NULL, round INTEGER NOT NULL, position INTEGER NOT NULL,
        block_id TEXT NOT NULL, epoch BIGINT NOT NULL, recorded_at TEXT NOT NULL, argv TEXT NOT NULL,
        iterations_asked BIGINT NOT NULL, exit_code INTEGER, ending TEXT NOT NULL, started_uptime_s DOUBLE PRECISION,
        ended_uptime_s DOUBLE PRECISION, slot_wait_s DOUBLE PRECISION NOT NULL, before_vitals TEXT, after_vitals TEXT,
        state TEXT NOT NULL, p50_s DOUBLE PRECISION, outcome TEXT NOT NULL, evidence TEXT NOT NULL,
        in_force TEXT NOT NULL, tuned BOOLEAN NOT NULL, virtual BOOLEAN NOT NULL, script_digest TEXT NOT NULL,
        adopted BOOLEAN NOT NULL, schema_version INTEGER NOT NULL,
        CONSTRAINT attempt_once_a_trial UNIQUE (trial_id, number),
        CONSTRAINT attempt_once_in_order UNIQUE (run_id, seq))""",
    "CREATE INDEX attempt_case_phone ON attempt (case_id, phone, recorded_at)",
    """CREATE TABLE run_event (
        run_id TEXT NOT NULL REFERENCES run (run_id), seq INTEGER NOT NULL, at TEXT NOT NULL, kind TEXT NOT NULL,
        trial_id TEXT, detail TEXT NOT NULL, PRIMARY KEY (run_id, seq))""",
    """CREATE TABLE case_iterations (
        run_id TEXT NOT NULL REFERENCES run (run_id), case_id TEXT NOT NULL, phone TEXT NOT NULL,
        iterations BIGINT NOT NULL, PRIMARY KEY (run_id, case_id, phone))""",
    "CREATE TABLE phone_epoch (phone TEXT NOT NULL PRIMARY KEY, epoch BIGINT NOT NULL)",
    """CREATE TABLE capabilities (
        phone TEXT NOT NULL, binary_digest TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (phone, binary_digest))""",
)


_VALIDITY = (
    "ALTER TABLE attempt ADD COLUMN validity TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE attempt ADD COLUMN validity_reasons TEXT NOT NULL DEFAULT '[]'",
)
"""What an attempt's vitals say of it; nobody judged those before."""


_PLACEMENT = ("ALTER TABLE attempt ADD COLUMN process TEXT", "ALTER TABLE attempt ADD COLUMN gate TEXT")
"""How an attempt's process was placed, and how long its phone waited before it."""


_PHONES = (
    """CREATE TABLE phone (
        phone TEXT NOT NULL PRIMARY KEY, label TEXT NOT NULL, expected BOOLEAN NOT NULL, seen TEXT, seen_at TEXT,
        hold TEXT, quarantine TEXT, retired TEXT)""",
    """CREATE TABLE phone_event (
        phone TEXT NOT NULL, seq INTEGER NOT NULL, at TEXT NOT NULL, kind TEXT NOT NULL, "by" TEXT NOT NULL,
        detail TEXT NOT NULL, PRIMARY KEY (phone, seq))""",
)
"""The registry of a lab's phones."""


_INCIDENTS = (
    """CREATE TABLE incident (
        run_id TEXT NOT NULL REFERENCES run (run_id), seq INTEGER NOT NULL, phone TEXT NOT NULL, at TEXT NOT NULL,
        seen TEXT NOT NULL, rung TEXT NOT NULL, result TEXT NOT NULL, words TEXT NOT NULL,
        took_s DOUBLE PRECISION NOT NULL, PRIMARY KEY (run_id, seq))""",
)
"""What was tried for phones that did not answer."""


_TIDIED = (
    "ALTER TABLE block ADD COLUMN tidied_at TEXT",
    "UPDATE block SET tidied_at = closed_at",
)
"""Whether a closed block's folder is gone from its phone; of those before nobody knows, and nobody asked."""


_ALERT = (
    """CREATE TABLE alert (
        nightly TEXT NOT NULL, cause TEXT NOT NULL, opened_night TEXT NOT NULL, closed_night TEXT NOT NULL,
        record TEXT NOT NULL, PRIMARY KEY (nightly, cause, opened_night))""",
    "CREATE INDEX alert_open ON alert (nightly, closed_night)",
)
"""What nightlies told people."""


_BATTERY = (
    """CREATE TABLE battery (
        phone TEXT NOT NULL, run_id TEXT NOT NULL, at TEXT NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY (phone, run_id), FOREIGN KEY(run_id) REFERENCES run (run_id))""",
    "CREATE INDEX battery_at ON battery (phone, at)",
)


_KEPT = (
    """CREATE TABLE kept (
        run_id TEXT NOT NULL REFERENCES run (run_id), phone TEXT NOT NULL, case_id TEXT NOT NULL, why TEXT NOT NULL,
        at TEXT NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (run_id, phone, case_id, why))""",
    """CREATE TABLE cleaned (
        run_id TEXT NOT NULL REFERENCES run (run_id), phone TEXT NOT NULL, case_id TEXT NOT NULL, at TEXT NOT NULL,
        done BOOLEAN NOT NULL, PRIMARY KEY (run_id, phone, case_id))""",
)
"""Whose raw files stay, and whose are gone."""


_SERIES = (
    "CREATE INDEX run_case_series ON run_case (model_name, recipe_name, row_name, run_id)",
    "CREATE INDEX trial_of_case ON trial (run_id, phone, case_id)",
    "CREATE INDEX attempt_of_phone ON attempt (run_id, phone, purpose)",
)
"""One case's nights are found without looking at others."""


Migration = Callable[[sa.Connection], None]


def _statements(statements: Iterable[str]) -> Migration:
    """The migration that is these statements, one after another."""

    def run(connection: sa.Connection) -> None:
        for statement in statements:
            connection.execute(sa.text(statement))

    return run


MIGRATIONS: Mapping[int, Migration] = {
    1: _statements(_FIRST),
    2: _statements(_VALIDITY),
    3: _statements(_PLACEMENT),
    4: _statements(_PHONES),
    5: _statements(_INCIDENTS),
    6: _statements(_TIDIED),
    7: _statements(_BATTERY),
    8: _statements(_ALERT),
    9: _statements(_SERIES),
    10: _statements(_KEPT),
}

SCHEMA_VERSION = max(MIGRATIONS)
"""What this program writes; every attempt's row says under which it was written."""


def migrate(connection: sa.Connection, migrations: Mapping[int, Migration] = MIGRATIONS) -> int:
    """Bring a ledger to the newest number, within the caller's transaction; gives the number it had before.

    Raises StoreError when the ledger is newer than this program.
    """
    SCHEMA_MIGRATION.create(connection, checkfirst=True)
    had = connection.execute(sa.select(sa.func.max(SCHEMA_MIGRATION.c.number))).scalar() or 0
    newest = max(migrations)
    if had > newest:
        raise StoreError(
            f"the ledger has schema {had}; orch {__version__} knows up to {newest}: use the orch that wrote it, "
            "or a newer one"
        )
    for number in range(had + 1, newest + 1):
        migrations[number](connection)
        connection.execute(
            SCHEMA_MIGRATION.insert().values(
                number=number, applied_at=datetime.now(UTC).isoformat(), orch_version=__version__
            )
        )
    return int(had)
