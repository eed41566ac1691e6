"""What happened to phones and their adb servers while a run went on, and what was tried: append-only, in the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from orchestrator.store.codec import moment_from, moment_text, storable
from orchestrator.store.database import Database
from orchestrator.store.records import RunContents
from orchestrator.store.schema import INCIDENT


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentRecord:
    """One rung that was tried for a phone, or one event of an adb server or hub (`phone` empty).

    `seen` is what was to be seen before, `rung` what was done, `result` what came of it (`android_runner.recovery`
    names them), `words` say more, `took_s` how long it took.
    """

    run_id: str
    phone: str
    at: datetime
    seen: str
    rung: str
    result: str
    words: str = ""
    took_s: float = 0.0


class Incidents:
    """The incidents of all runs; each method is one transaction, and raises StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, one: IncidentRecord) -> None:
        """Write one down."""
        with self._database.writing() as connection:
            of_run = INCIDENT.c.run_id == one.run_id
            last = connection.execute(sa.select(sa.func.max(INCIDENT.c.seq)).where(of_run)).scalar() or 0
            row = {"run_id": one.run_id, "seq": last + 1, "phone": storable(one.phone), "at": moment_text(one.at)}
            told = {name: storable(getattr(one, name)) for name in ("seen", "rung", "result", "words")}
            connection.execute(INCIDENT.insert().values(**row, **told, took_s=one.took_s))

    def of(self, run_id: str) -> list[IncidentRecord]:
        """Those of a run, in their order."""
        query = sa.select(INCIDENT).where(INCIDENT.c.run_id == run_id).order_by(INCIDENT.c.seq)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return [
            IncidentRecord(
                run_id=row.run_id, phone=row.phone, at=moment_from(row.at), seen=row.seen, rung=row.rung,
                result=row.result, words=row.words, took_s=row.took_s,
            )
            for row in rows
        ]  # fmt: skip


def incident_cells(incidents: list[IncidentRecord], contents: RunContents) -> list[dict[str, object]]:
    """Incidents as rows of a frame; pure."""
    labels = {one.phone: one.label for one in contents.phones}
    return [
        {
            "run": one.run_id, "phone": one.phone or None, "label": labels.get(one.phone), "at": one.at,
            "seen": one.seen, "rung": one.rung, "result": one.result, "words": one.words, "took_s": one.took_s,
        }
        for one in incidents
    ]  # fmt: skip
