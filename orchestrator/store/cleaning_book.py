"""Which raw files belong to which numbers, which of them others need, and whose were removed when.

Evidence lies under its digest, so one file may be several attempts'. A file may go when nobody is left that names it:
attempts of numbers that stay, variants' graphs, what was seen of a phone in quarantine.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from orchestrator.store.codec import moment_from, moment_text
from orchestrator.store.database import Database
from orchestrator.store.disk_tables import CLEANED
from orchestrator.store.kept_numbers import Number
from orchestrator.store.schema import ATTEMPT, PHONE, PHONE_EVENT, RUN, RUN_CASE, RUN_VARIANT

_DIGEST = re.compile(r"[0-9a-f]{64}")
_GRAPH = re.compile(r'"claim_graph": ?"([0-9a-f]{64})"')
"""In a variant's record the one digest of evidence; the others are of files on the shelf."""
_AT_ONCE = 2000
"""Rows that are held in memory while all are looked through."""


@dataclass(frozen=True, slots=True)
class RawFiles:
    """The raw files of one number, as digests."""

    number: Number
    digests: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAge:
    """A run's age, and when the whole of it was cleaned, if it was."""

    run_id: str
    created_at: datetime
    ended_at: datetime | None
    cleaned_at: datetime | None

    @property
    def is_clean(self) -> bool:
        """Whether nothing of it is left to clean: it was not resumed since."""
        return self.cleaned_at is not None and (self.ended_at is None or self.ended_at < self.cleaned_at)


class CleaningBook:
    """Raw files of all runs. Each method is one transaction and raises StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def runs(self) -> list[RunAge]:
        """Every run, oldest first."""
        whole = sa.and_(
            CLEANED.c.run_id == RUN.c.run_id,
            CLEANED.c.phone == "",
            CLEANED.c.case_id == "",
            CLEANED.c.done.is_(True),
        )
        query = sa.select(RUN.c.run_id, RUN.c.created_at, RUN.c.ended_at, CLEANED.c.at)
        query = query.select_from(RUN.outerjoin(CLEANED, whole)).order_by(RUN.c.created_at, RUN.c.run_id)
        with self._database.reading() as connection:
            return [
                RunAge(
                    run_id=row.run_id,
                    created_at=moment_from(row.created_at),
                    ended_at=None if row.ended_at is None else moment_from(row.ended_at),
                    cleaned_at=None if row.at is None else moment_from(row.at),
                )
                for row in connection.execute(query)
            ]

    def raw_files(self, run_id: str) -> list[RawFiles]:
        """The raw files of a run by number, without what was cleaned; its own (graphs) have no phone and case."""
        found: dict[Number, set[str]] = {}
        with self._database.reading() as connection:
            for number, text in _attempts(connection, ATTEMPT.c.run_id == run_id):
                found.setdefault(number, set()).update(_DIGEST.findall(text))
            for number, text in _graphs(connection, RUN_VARIANT.c.run_id == run_id):
                found.setdefault(number, set()).update(_DIGEST.findall(text))
        return [RawFiles(number, frozenset(digests)) for number, digests in sorted(found.items())]

    def needed(self, digests: Collection[str], leaving: Collection[Number]) -> set[str]:
        """Those of `digests` that something names which is not in `leaving`."""
        wanted, gone, needed = set(digests), set(leaving), set[str]()
        with self._database.reading() as connection:
            for number, text in _everything(connection):
                if number not in gone:
                    needed.update(one for one in _DIGEST.findall(text) if one in wanted)
        return needed

    def used(self, run_ids: Iterable[str]) -> set[str]:
        """Digests that the cases of these runs name: variants, binaries, inputs."""
        wanted, used = set(run_ids), set[str]()
        with self._database.reading() as connection:
            rows = connection.execution_options(yield_per=_AT_ONCE).execute(
                sa.select(RUN_CASE.c.run_id, RUN_CASE.c.record)
            )
            for run_id, record in rows:
                if run_id in wanted:
                    used.update(_DIGEST.findall(record))
        return used

    def begin(self, numbers: Sequence[Number], at: datetime) -> None:
        """Write down that the raw files of these numbers go, before one does."""
        with self._database.writing() as connection:
            for one in numbers:
                connection.execute(CLEANED.delete().where(*_this(one)))
            rows = [{**_key(one), "at": moment_text(at), "done": False} for one in numbers]
            if rows:
                connection.execute(CLEANED.insert(), rows)

    def end(self, numbers: Sequence[Number]) -> None:
        """They are gone."""
        with self._database.writing() as connection:
            for one in numbers:
                connection.execute(CLEANED.update().where(*_this(one)).values(done=True))

    def of_run(self, run_id: str) -> Mapping[tuple[str, str], datetime]:
        """When the raw files of a run's numbers were cleaned, by phone and case; the run's own by ("", "")."""
        query = sa.select(CLEANED.c.phone, CLEANED.c.case_id, CLEANED.c.at).where(CLEANED.c.run_id == run_id)
        with self._database.reading() as connection:
            return {(phone, case_id): moment_from(at) for phone, case_id, at in connection.execute(query)}

    def undo(self, run_id: str) -> None:
        """The raw files of a run are back."""
        with self._database.writing() as connection:
            connection.execute(CLEANED.delete().where(CLEANED.c.run_id == run_id))


def _attempts(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> Iterator[tuple[Number, str]]:
    """Attempts' numbers and their evidence as it is written, without what was recorded before its cleaning."""
    same = sa.and_(
        CLEANED.c.run_id == ATTEMPT.c.run_id,
        CLEANED.c.phone == ATTEMPT.c.phone,
        CLEANED.c.case_id == ATTEMPT.c.case_id,
        CLEANED.c.done.is_(True),
    )
    stays = sa.or_(CLEANED.c.at.is_(None), CLEANED.c.at < ATTEMPT.c.recorded_at)
    query = sa.select(ATTEMPT.c.run_id, ATTEMPT.c.phone, ATTEMPT.c.case_id, ATTEMPT.c.evidence)
    query = query.select_from(ATTEMPT.outerjoin(CLEANED, same)).where(stays, *where)
    for row in connection.execution_options(yield_per=_AT_ONCE).execute(query):
        yield Number(row.run_id, row.phone, row.case_id), row.evidence


def _graphs(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> Iterator[tuple[Number, str]]:
    """Runs' variants, whose records name graphs in the evidence."""
    same = sa.and_(
        CLEANED.c.run_id == RUN_VARIANT.c.run_id,
        CLEANED.c.phone == "",
        CLEANED.c.case_id == "",
        CLEANED.c.done.is_(True),
    )
    query = sa.select(RUN_VARIANT.c.run_id, RUN_VARIANT.c.record)
    query = query.select_from(RUN_VARIANT.outerjoin(CLEANED, same)).where(CLEANED.c.at.is_(None), *where)
    for row in connection.execution_options(yield_per=_AT_ONCE).execute(query):
        yield Number(row.run_id), " ".join(_GRAPH.findall(row.record))


def _everything(connection: sa.Connection) -> Iterator[tuple[Number, str]]:
    yield from _attempts(connection)
    yield from _graphs(connection)
    nobody = Number("")
    for column in (PHONE.c.quarantine, PHONE_EVENT.c.detail):
        for (text,) in connection.execute(sa.select(column).where(column.is_not(None))):
            yield nobody, text


def _key(one: Number) -> dict[str, Any]:
    return {"run_id": one.run_id, "phone": one.phone, "case_id": one.case_id}


def _this(one: Number) -> tuple[sa.ColumnElement[bool], ...]:
    return CLEANED.c.run_id == one.run_id, CLEANED.c.phone == one.phone, CLEANED.c.case_id == one.case_id
