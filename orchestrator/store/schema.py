"""The ledger's tables as they are now (SQLAlchemy Core). `migrations` makes them; a test holds the two together.

Portable: text, integers, doubles, booleans, keys and plain indexes. Moments are UTC in ISO 8601 with microseconds and
so sort as text. Nouns that nobody searches in (facts, settings, vitals) are JSON text, written and read by `codec`.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, MetaData, Table, UniqueConstraint

from orchestrator.store.cells import BigInteger, Boolean, Double, Integer, Text

METADATA = MetaData()

SCHEMA_MIGRATION = Table(
    "schema_migration",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("applied_at", Text, nullable=False),
    Column("orch_version", Text, nullable=False),
)

RUN = Table(
    "run",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("created_at", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("ended_at", Text),
    Column("plan_name", Text, nullable=False),
    Column("plan_digest", Text, nullable=False),
    Column("plan_json", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("rounds", Integer, nullable=False),
    Column("note", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("binary_name", Text, nullable=False),
    Column("binary_digest", Text, nullable=False),
    Column("binary_ort_version", Text, nullable=False),
    Column("script_digest", Text, nullable=False),
    Column("orch_version", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("user_name", Text, nullable=False),
    Index("run_created_at", "created_at"),
)

RUN_PHONE = Table(
    "run_phone",
    METADATA,
    Column("run_id", Text, ForeignKey("run.run_id"), primary_key=True),
    Column("phone", Text, primary_key=True),
    Column("ordinal", Integer, nullable=False),
    Column("label", Text, nullable=False),
    Column("serial", Text, nullable=False),
    Column("facts", Text, nullable=False),
)

RUN_VARIANT = Table(
    "run_variant",
    METADATA,
    Column("run_id", Text, ForeignKey("run.run_id"), primary_key=True),
    Column("variant_id", Text, primary_key=True),
    Column("ordinal", Integer, nullable=False),
    Column("model_name", Text, nullable=False),
    Column("recipe", Text, nullable=False),
    Column("graph_digest", Text, nullable=False),
    Column("record", Text, nullable=False),
)

RUN_CASE = Table(
    "run_case",
    METADATA,
    Column("run_id", Text, ForeignKey("run.run_id"), primary_key=True),
    Column("case_id", Text, primary_key=True),
    Column("ordinal", Integer, nullable=False),
    Column("model_name", Text, nullable=False),
    Column("recipe_name", Text, nullable=False),
    Column("row_name", Text, nullable=False),
    Column("record", Text, nullable=False),
    Index("run_case_case", "case_id"),
    Index("run_case_series", "model_name", "recipe_name", "row_name", "run_id"),
)

RUN_DROPPED = Table(
    "run_dropped",
    METADATA,
    Column("run_id", Text, ForeignKey("run.run_id"), primary_key=True),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("model_name", Text, nullable=False),
    Column("phone", Text, nullable=False),
    Column("row_name", Text, nullable=False),
    Column("reason", Text, nullable=False),
)

TRIAL = Table(
    "trial",
    METADATA,
    Column("trial_id", Text, primary_key=True),
    Column("run_id", Text, ForeignKey("run.run_id"), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("case_id", Text, nullable=False),
    Column("phone", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("round", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("outcome", Text),
    Column("attempt_id", Text),
    UniqueConstraint("run_id", "ordinal", name="trial_once_in_order"),
    Index("trial_run_state", "run_id", "state"),
    Index("trial_of_case", "run_id", "phone", "case_id"),
)
"""`state` and `outcome` are the fold of the run's events; `attempt_id` is the one attempt that counts."""

BLOCK = Table(
    "block",
    METADATA,
    Column("block_id", Text, primary_key=True),
    Column("run_id", Text, ForeignKey("run.run_id"), nullable=False),
    Column("phone", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("boot_id", Text, nullable=False),
    Column("opened_at", Text, nullable=False),
    Column("tasks", Text, nullable=False),
    Column("ending", Text),
    Column("closed_at", Text),
    Column("tidied_at", Text),
    Index("block_run", "run_id"),
)
"""`closed_at`: nothing more is to be expected of it; `tidied_at`: nothing of it lies on its phone any more."""

ATTEMPT = Table(
    "attempt",
    METADATA,
    Column("attempt_id", Text, primary_key=True),
    Column("run_id", Text, ForeignKey("run.run_id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("trial_id", Text, ForeignKey("trial.trial_id")),
    Column("number", Integer, nullable=False),
    Column("case_id", Text, nullable=False),
    Column("phone", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("round", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("block_id", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("recorded_at", Text, nullable=False),
    Column("argv", Text, nullable=False),
    Column("iterations_asked", BigInteger, nullable=False),
    Column("exit_code", Integer),
    Column("ending", Text, nullable=False),
    Column("started_uptime_s", Double),
    Column("ended_uptime_s", Double),
    Column("slot_wait_s", Double, nullable=False),
    Column("before_vitals", Text),
    Column("after_vitals", Text),
    Column("state", Text, nullable=False),
    Column("p50_s", Double),
    Column("outcome", Text, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("in_force", Text, nullable=False),
    Column("tuned", Boolean, nullable=False),
    Column("virtual", Boolean, nullable=False),
    Column("script_digest", Text, nullable=False),
    Column("adopted", Boolean, nullable=False),
    Column("schema_version", Integer, nullable=False),
    Column("validity", Text, nullable=False, server_default=""),
    Column("validity_reasons", Text, nullable=False, server_default="[]"),
    Column("process", Text),
    Column("gate", Text),
    UniqueConstraint("trial_id", "number", name="attempt_once_a_trial"),
    UniqueConstraint("run_id", "seq", name="attempt_once_in_order"),
    Index("attempt_case_phone", "case_id", "phone", "recorded_at"),
    Index("attempt_of_phone", "run_id", "phone", "purpose"),
)
"""Append-only. A calibration's and a canary's `trial_id` is null; `p50_s` is also in `outcome`, here for queries over
time. `validity` is empty where nobody judged."""

RUN_EVENT = Table(
    "run_event",
    METADATA,
    Column("run_id", Text, ForeignKey("run.run_id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("trial_id", Text),
    Column("detail", Text, nullable=False),
)
"""Append-only: every change of a run's or a trial's state."""

CASE_ITERATIONS = Table(
    "case_iterations",
    METADATA,
    Column("run_id", Text, ForeignKey("run.run_id"), primary_key=True),
    Column("case_id", Text, primary_key=True),
    Column("phone", Text, primary_key=True),
    Column("iterations", BigInteger, nullable=False),
)

PHONE_EPOCH = Table(
    "phone_epoch",
    METADATA,
    Column("phone", Text, primary_key=True),
    Column("epoch", BigInteger, nullable=False),
)

CAPABILITIES = Table(
    "capabilities",
    METADATA,
    Column("phone", Text, primary_key=True),
    Column("binary_digest", Text, primary_key=True),
    Column("record", Text, nullable=False),
)

PHONE = Table(
    "phone",
    METADATA,
    Column("phone", Text, primary_key=True),
    Column("label", Text, nullable=False),
    Column("expected", Boolean, nullable=False),
    Column("seen", Text),
    Column("seen_at", Text),
    Column("hold", Text),
    Column("quarantine", Text),
    Column("retired", Text),
)
"""A lab's phones as they stand; the last word holds. Null: not so."""

BATTERY = Table(
    "battery",
    METADATA,
    Column("phone", Text, primary_key=True),
    Column("run_id", Text, ForeignKey("run.run_id"), primary_key=True),
    Column("at", Text, nullable=False),
    Column("record", Text, nullable=False),
    Index("battery_at", "phone", "at"),
)
"""Append-only: a phone's battery as a run found it."""

PHONE_EVENT = Table(
    "phone_event",
    METADATA,
    Column("phone", Text, primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("detail", Text, nullable=False),
)
"""Append-only: what was ever said of a phone, and by whom."""

INCIDENT = Table(
    "incident",
    METADATA,
    Column("run_id", Text, ForeignKey("run.run_id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("phone", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("seen", Text, nullable=False),
    Column("rung", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("words", Text, nullable=False),
    Column("took_s", Double, nullable=False),
)
"""Append-only: what was tried for phones that did not answer, and what became of adb servers and hubs (no phone)."""

ALERT = Table(
    "alert",
    METADATA,
    Column("nightly", Text, primary_key=True),
    Column("cause", Text, primary_key=True),
    Column("opened_night", Text, primary_key=True),
    Column("closed_night", Text, nullable=False),
    Column("record", Text, nullable=False),
    Index("alert_open", "nightly", "closed_night"),
)
"""What nightlies told people, one row a cause and the night it began; `closed_night` is empty while it stands."""
