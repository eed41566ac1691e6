"""The ledger's tables about its disk: whose raw files stay, and whose are gone."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Table

from orchestrator.store.cells import Boolean, Text
from orchestrator.store.schema import METADATA

KEPT = Table(
    "kept",
    METADATA,
    Column("run_id", Text, ForeignKey("run.run_id"), primary_key=True),
    Column("phone", Text, primary_key=True),
    Column("case_id", Text, primary_key=True),
    Column("why", Text, primary_key=True),
    Column("at", Text, nullable=False),
    Column("detail", Text, nullable=False),
)
"""Numbers that somebody went by, whose raw files stay; an empty phone or case: every one of the run."""

CLEANED = Table(
    "cleaned",
    METADATA,
    Column("run_id", Text, ForeignKey("run.run_id"), primary_key=True),
    Column("phone", Text, primary_key=True),
    Column("case_id", Text, primary_key=True),
    Column("at", Text, nullable=False),
    Column("done", Boolean, nullable=False),
)
"""Numbers whose raw files were cleaned, all that were recorded before `at`; no phone and no case: the run's own."""
