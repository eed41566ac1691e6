"""The registry of a lab's phones, in the ledger: labels, who is expected, held, in quarantine, retired.

What is true now stands in one row a phone; what was ever done stands in its history, which nothing takes away.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import Problem, UsageError
from orchestrator.store.codec import from_text, moment_from, moment_text, storable, to_text
from orchestrator.store.database import Database
from orchestrator.store.registered import Hold, PhoneEvent, Quarantine, RegisteredPhone, Retired, Sighting
from orchestrator.store.schema import PHONE, PHONE_EVENT


def _now() -> datetime:
    return datetime.now(UTC)


class PhoneBook:
    """Phones by identity (`ro.serialno`). A phone is in it from the first thing that is said of it; each method is one
    transaction and raises StoreError when the database can't be read or written. `by` is a user's or a run's name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- reading ------------------------------------------------------------------------------------------------

    def all(self) -> dict[str, RegisteredPhone]:
        """Every phone by identity, in the order of their names; the retired too."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(PHONE)).all()
        return {one.phone: one for one in sorted(map(_phone, rows), key=lambda one: one.name)}

    def get(self, phone: str) -> RegisteredPhone:
        """One phone; one of which nothing was said is a `RegisteredPhone` of defaults."""
        with self._database.reading() as connection:
            row = connection.execute(sa.select(PHONE).where(PHONE.c.phone == phone)).first()
        return RegisteredPhone(phone=phone) if row is None else _phone(row)

    def history(self, phone: str) -> list[PhoneEvent]:
        """What was ever done about a phone, oldest first."""
        query = sa.select(PHONE_EVENT).where(PHONE_EVENT.c.phone == phone).order_by(PHONE_EVENT.c.seq)
        with self._database.reading() as connection:
            return [
                PhoneEvent(
                    seq=row.seq, at=moment_from(row.at), phone=row.phone, kind=row.kind, by=row.by, detail=row.detail
                )
                for row in connection.execute(query)
            ]

    # --- writing ------------------------------------------------------------------------------------------------

    def add(self, phone: str, by: str, at: datetime | None = None) -> None:
        """Know a phone; one that was retired is back."""
        self._change(phone, "add", by, "", {"retired": None}, at)

    def saw(self, phone: str, sighting: Sighting, at: datetime | None = None) -> bool:
        """Write down where a known phone was seen; whether it is known. Not a line of its history."""
        values = {"seen": to_text(sighting), "seen_at": moment_text(at or _now())}
        with self._database.writing() as connection:
            return connection.execute(PHONE.update().where(PHONE.c.phone == phone).values(**values)).rowcount == 1

    def label(self, phone: str, label: str, by: str, at: datetime | None = None) -> None:
        """Give a phone its label; empty takes it away. Raises UsageError when another phone has it, or is called so."""
        with self._database.writing() as connection:
            same = sa.or_(PHONE.c.label == label, PHONE.c.phone == label)
            other = sa.select(PHONE.c.phone).where(same, PHONE.c.phone != phone, PHONE.c.retired.is_(None))
            if label and (owner := connection.execute(other).scalar()) is not None:
                mend = f"orch devices label {owner} --none, or give another"
                raise UsageError(Problem(f"label {label!r}", f"is {owner}'s", mend))
            _write(connection, phone, {"label": label})
            _note(connection, phone, "label", by, label, at or _now())

    def expect(self, phone: str, expected: bool, by: str, at: datetime | None = None) -> None:
        """Whether the phone is to be there, and its absence told."""
        self._change(phone, "expect" if expected else "not expected", by, "", {"expected": expected}, at)

    def hold(self, phone: str, hold: Hold) -> None:
        """Somebody has the phone in hand; the last word holds."""
        until = f"until {moment_text(hold.until)}" if hold.until else ""
        detail = ": ".join(part for part in (until, hold.why) if part)
        self._change(phone, "hold", hold.by, detail, {"hold": to_text(_zoned(hold))}, hold.since)

    def free(self, phone: str, by: str, at: datetime | None = None) -> bool:
        """Nobody has the phone in hand any more; whether somebody had."""
        return self._end(phone, "free", "hold", by, at)

    def quarantine(self, phone: str, quarantine: Quarantine) -> None:
        """Keep every run off the phone; the last word holds."""
        until = f"until {moment_text(quarantine.expires)}" if quarantine.expires else ""
        detail = "; ".join(part for part in (quarantine.reason, until, quarantine.evidence) if part)
        values = {"quarantine": to_text(_zoned(quarantine))}
        self._change(phone, "quarantine", quarantine.by, detail, values, quarantine.since)

    def release(self, phone: str, by: str, why: str = "", at: datetime | None = None) -> bool:
        """Runs may use the phone again; whether it was in quarantine (an expired one counts)."""
        return self._end(phone, "release", "quarantine", by, at, why)

    def retire(self, phone: str, retired: Retired) -> None:
        """The phone has left: it is expected, held and in quarantine no more, and its label is free."""
        values = {"retired": to_text(_zoned(retired)), "expected": False, "hold": None, "quarantine": None, "label": ""}
        self._change(phone, "retire", retired.by, retired.why, values, retired.since)

    # --- within -------------------------------------------------------------------------------------------------

    def _change(
        self, phone: str, kind: str, by: str, detail: str, values: Mapping[str, Any], at: datetime | None
    ) -> None:
        with self._database.writing() as connection:
            _write(connection, phone, values)
            _note(connection, phone, kind, by, detail, at or _now())

    def _end(self, phone: str, kind: str, column: str, by: str, at: datetime | None, why: str = "") -> bool:
        there = (PHONE.c.phone == phone, PHONE.c[column].is_not(None))
        with self._database.writing() as connection:
            ended = connection.execute(PHONE.update().where(*there).values({column: None})).rowcount == 1
            if ended:
                _note(connection, phone, kind, by, why, at or _now())
        return ended


def _zoned(record: Any) -> Any:
    """The record, whose moments must have a zone. Raises ValueError."""
    for moment in (record.since, getattr(record, "until", None), getattr(record, "expires", None)):
        if moment is not None:
            moment_text(moment)
    return record


def _write(connection: sa.Connection, phone: str, values: Mapping[str, Any]) -> None:
    if not connection.execute(PHONE.update().where(PHONE.c.phone == phone).values(**values)).rowcount:
        connection.execute(PHONE.insert().values(phone=phone, **{"label": "", "expected": False, **values}))


def _note(connection: sa.Connection, phone: str, kind: str, by: str, detail: str, at: datetime) -> None:
    last = connection.execute(sa.select(sa.func.max(PHONE_EVENT.c.seq)).where(PHONE_EVENT.c.phone == phone)).scalar()
    row = {"phone": phone, "seq": (last or 0) + 1, "at": moment_text(at), "kind": kind}
    connection.execute(PHONE_EVENT.insert().values(**row, by=storable(by), detail=storable(detail)))


def _phone(row: Any) -> RegisteredPhone:
    return RegisteredPhone(
        phone=row.phone,
        label=row.label,
        expected=row.expected,
        seen=None if row.seen is None else from_text(Sighting, row.seen),
        seen_at=None if row.seen_at is None else moment_from(row.seen_at),
        hold=None if row.hold is None else from_text(Hold, row.hold),
        quarantine=None if row.quarantine is None else from_text(Quarantine, row.quarantine),
        retired=None if row.retired is None else from_text(Retired, row.retired),
    )
