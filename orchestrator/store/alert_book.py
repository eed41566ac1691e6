"""What nightlies told people: one row a cause and the night it began; the last word on it holds."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from orchestrator.nights.alerts import Alert
from orchestrator.store.codec import from_text, storable, to_text
from orchestrator.store.database import Database
from orchestrator.store.schema import ALERT


class AlertBook:
    """Alerts by nightly. Each method is one transaction and raises StoreError when the database can't be used."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, alerts: Iterable[Alert]) -> None:
        """Write alerts as they are now, all or none."""
        with self._database.writing() as connection:
            for one in alerts:
                key = {"nightly": storable(one.nightly), "cause": storable(one.cause), "opened_night": one.opened_night}
                same = [ALERT.c[name] == value for name, value in key.items()]
                row = {"closed_night": one.closed_night, "record": to_text(one)}
                if not connection.execute(ALERT.update().where(*same).values(**row)).rowcount:
                    connection.execute(ALERT.insert().values(**key, **row))

    def standing(self, nightly: str) -> tuple[Alert, ...]:
        """The open ones, the oldest first."""
        return self._read(ALERT.c.nightly == nightly, ALERT.c.closed_night == "")

    def on(self, nightly: str, night: str) -> tuple[Alert, ...]:
        """Those that stood on a night, or ended then, the oldest first."""
        ended_later = sa.or_(ALERT.c.closed_night == "", ALERT.c.closed_night >= night)
        return self._read(ALERT.c.nightly == nightly, ALERT.c.opened_night <= night, ended_later)

    def all(self) -> tuple[Alert, ...]:
        """Every one that ever was, of every nightly, the oldest first."""
        return self._read()

    def _read(self, *where: sa.ColumnElement[bool]) -> tuple[Alert, ...]:
        query = sa.select(ALERT.c.record).where(*where).order_by(ALERT.c.opened_night, ALERT.c.nightly, ALERT.c.cause)
        with self._database.reading() as connection:
            return tuple(from_text(Alert, text) for text in connection.execute(query).scalars())
