"""What batteries were like when runs began: one reading a phone and run, for ever; slopes need years."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from android_runner.battery import BatteryReading
from orchestrator.store.codec import from_text, moment_text, to_text
from orchestrator.store.database import Database
from orchestrator.store.schema import BATTERY

MAX_READINGS = 5000
"""The newest so many of a phone are looked at: years of runs."""


class BatteryLog:
    """Readings by phone. Each method is one transaction and raises StoreError when the database can't be used."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run_id: str, readings: Mapping[str, BatteryReading]) -> None:
        """Write down one reading for each phone of a run; one that has its own from this run keeps it."""
        rows = [
            {"phone": phone, "run_id": run_id, "at": moment_text(one.at), "record": to_text(one)}
            for phone, one in readings.items()
        ]
        with self._database.writing() as connection:
            query = sa.select(BATTERY.c.phone).where(BATTERY.c.run_id == run_id)
            known = set(connection.execute(query).scalars())
            if fresh := [row for row in rows if row["phone"] not in known]:
                connection.execute(BATTERY.insert(), fresh)

    def of(self, phone: str, *, up_to_run: str = "") -> Sequence[BatteryReading]:
        """The newest readings of a phone, oldest first; with `up_to_run` none that is newer than that run's."""
        where = [BATTERY.c.phone == phone]
        if up_to_run:
            of_run = sa.select(BATTERY.c.at).where(BATTERY.c.phone == phone, BATTERY.c.run_id == up_to_run)
            where.append(BATTERY.c.at <= of_run.scalar_subquery())
        query = sa.select(BATTERY.c.record).where(*where).order_by(BATTERY.c.at.desc()).limit(MAX_READINGS)
        with self._database.reading() as connection:
            found = connection.execute(query).scalars().all()
        return [from_text(BatteryReading, text) for text in reversed(found)]
