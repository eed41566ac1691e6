"""Numbers that somebody went by: compared, gated, exported, alerted. Their raw files are not cleaned.

A number is a case on a phone in a run. An empty phone or case stands for every one of the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import sqlalchemy as sa

from orchestrator.store.codec import moment_from, moment_text, storable, word_from
from orchestrator.store.database import Database
from orchestrator.store.disk_tables import KEPT
from orchestrator.store.schema import RUN


class Use(StrEnum):
    """What somebody did with a number."""

    COMPARED = "compared"
    GATED = "gated"
    EXPORTED = "exported"
    BUNDLED = "bundled"
    REPLAYED = "replayed"
    ALERTED = "alerted"


@dataclass(frozen=True, slots=True, order=True)
class Number:
    """A case on a phone in a run; "" for any."""

    run_id: str
    phone: str = ""
    case_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptNumber:
    """A number, and why its raw files stay: `detail` says in words what went by it first, at `at`."""

    number: Number
    why: Use
    at: datetime
    detail: str


class KeptNumbers:
    """The kept numbers of all runs. Each method is one transaction and raises StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, numbers: Iterable[Number], why: Use, detail: str, at: datetime | None = None) -> int:
        """Write down that these numbers were used so; how many were not known as such. Runs that the ledger has not
        are passed over."""
        wanted = sorted(set(numbers))
        with self._database.writing() as connection:
            runs = sorted({one.run_id for one in wanted})
            found = connection.execute(sa.select(RUN.c.run_id).where(RUN.c.run_id.in_(runs))).scalars()
            there = set(found)
            query = sa.select(KEPT.c.run_id, KEPT.c.phone, KEPT.c.case_id)
            query = query.where(KEPT.c.why == why.value, KEPT.c.run_id.in_(runs))
            known = {Number(*row) for row in connection.execute(query)}
            rows = [
                {
                    "run_id": one.run_id,
                    "phone": one.phone,
                    "case_id": one.case_id,
                    "why": why.value,
                    "at": moment_text(at or datetime.now(UTC)),
                    "detail": storable(detail),
                }
                for one in wanted
                if one not in known and one.run_id in there
            ]
            if rows:
                connection.execute(KEPT.insert(), rows)
        return len(rows)

    def all(self) -> list[KeptNumber]:
        """Every kept number, in the order of runs."""
        query = sa.select(KEPT).order_by(KEPT.c.run_id, KEPT.c.phone, KEPT.c.case_id, KEPT.c.why)
        with self._database.reading() as connection:
            return [
                KeptNumber(
                    number=Number(row.run_id, row.phone, row.case_id),
                    why=word_from(Use, row.why),
                    at=moment_from(row.at),
                    detail=row.detail,
                )
                for row in connection.execute(query)
            ]
