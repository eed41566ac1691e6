"""What the nights left of a series: read from the ledger alone, by index, never from evidence.

A series is a phone, a model's name, a recipe and a row's name; its cases may have another digest each night. What
counts is what reports count: timed trials that were measured, each by the one attempt that counts for it. Twins
measured on purpose and the sides of A/B comparisons are no part of a series.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from orchestrator.nights.nouns import CONFIRMS_TAG, NIGHT_TAG, NIGHTLY_TAG, CaseNight, Circumstances, SeriesKey
from orchestrator.outcome import Failed, Skipped
from orchestrator.plan.case import Case, Purpose
from orchestrator.store.circumstances import AT_ONCE, Beside, counts, of_runs
from orchestrator.store.codec import from_text, moment_from, outcome_from
from orchestrator.store.database import Database
from orchestrator.store.schema import ATTEMPT, RUN, RUN_CASE, TRIAL

if TYPE_CHECKING:
    from orchestrator.store.ledger import Ledger

LAST = 90
"""So many nights are history, unless somebody asks for others."""


@dataclass(frozen=True, slots=True)
class NightlyRun:
    """A run of a nightly: its night, and the run that it asks again (empty: none)."""

    nightly: str
    night: str
    run_id: str
    confirms: str


@dataclass(frozen=True, slots=True)
class _Run:
    """A run that may be a night."""

    run_id: str
    night: str
    created_at: str
    confirms: str


def case_history(
    ledger: Ledger, key: SeriesKey, *, nightly: str | None = None, last: int = LAST
) -> tuple[CaseNight, ...]:
    """A series' last so many nights, oldest first; of one nightly, or with None of every run, tagged or not.

    A night's confirming runs stand behind it as nights of their own, with `confirms`. Raises StoreError.
    """
    return ledger.history.of(key, nightly=nightly, last=last)


def histories(ledger: Ledger, *, nightly: str, last: int = LAST) -> dict[SeriesKey, tuple[CaseNight, ...]]:
    """Every series of a nightly's last so many nights, each as `case_history` gives it. Raises StoreError."""
    return ledger.history.all_of(nightly, last=last)


def keys_like(ledger: Ledger, *, phone: str = "", model_name: str = "", row_name: str = "") -> tuple[SeriesKey, ...]:
    """The series that anything was ever timed of, with these names where one is given; sorted. Raises StoreError."""
    return ledger.history.keys_like(phone=phone, model_name=model_name, row_name=row_name)


class History:
    """Series over nights. Each method is one consistent view of the ledger, and raises StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, key: SeriesKey, *, nightly: str | None = None, last: int = LAST) -> tuple[CaseNight, ...]:
        """See `case_history`."""
        named = _named(key)
        timed = sa.select(TRIAL.c.trial_id).where(
            TRIAL.c.run_id == RUN_CASE.c.run_id,
            TRIAL.c.case_id == RUN_CASE.c.case_id,
            TRIAL.c.phone == key.phone,
            TRIAL.c.purpose == Purpose.TIME.value,
        )
        of_series = sa.select(RUN_CASE.c.run_id).where(*named, timed.exists())
        with self._database.reading() as connection:
            runs = _last_nights(_runs(connection, nightly, of_series), last)
            return _read(connection, runs, key).get(key, ())

    def all_of(self, nightly: str, *, last: int = LAST) -> dict[SeriesKey, tuple[CaseNight, ...]]:
        """See `histories`."""
        with self._database.reading() as connection:
            runs = _last_nights(_runs(connection, nightly, None), last)
            return _read(connection, runs, None)

    def nightly_runs(self) -> tuple[NightlyRun, ...]:
        """The runs of every nightly, oldest first."""
        query = sa.select(RUN.c.run_id, RUN.c.created_at, RUN.c.tags).order_by(RUN.c.created_at, RUN.c.run_id)
        query = query.where(RUN.c.tags.contains(f'"{NIGHTLY_TAG}', autoescape=True))
        found = []
        with self._database.reading() as connection:
            for row in connection.execute(query):
                tags = from_text(tuple[str, ...], row.tags)
                if of := _tagged(tags, NIGHTLY_TAG):
                    night = _tagged(tags, NIGHT_TAG) or _day(row.created_at)
                    found.append(NightlyRun(of, night, row.run_id, _tagged(tags, CONFIRMS_TAG)))
        return tuple(found)

    def keys_like(self, *, phone: str = "", model_name: str = "", row_name: str = "") -> tuple[SeriesKey, ...]:
        """See the function of this name."""
        asked = ((TRIAL.c.phone, phone), (RUN_CASE.c.model_name, model_name), (RUN_CASE.c.row_name, row_name))
        columns = (TRIAL.c.phone, RUN_CASE.c.model_name, RUN_CASE.c.recipe_name, RUN_CASE.c.row_name)
        same = sa.and_(TRIAL.c.run_id == RUN_CASE.c.run_id, TRIAL.c.case_id == RUN_CASE.c.case_id)
        query = sa.select(*columns).distinct().select_from(RUN_CASE.join(TRIAL, same))
        query = query.where(TRIAL.c.purpose == Purpose.TIME.value, *(one == name for one, name in asked if name))
        with self._database.reading() as connection:
            return tuple(sorted(SeriesKey(*row) for row in connection.execute(query)))


def _named(key: SeriesKey) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        RUN_CASE.c.model_name == key.model_name,
        RUN_CASE.c.recipe_name == key.recipe_name,
        RUN_CASE.c.row_name == key.row_name,
    )


def _runs(connection: sa.Connection, nightly: str | None, among: sa.Select[Any] | None) -> Iterator[_Run]:
    """Runs that may be nights, newest first."""
    query = sa.select(RUN.c.run_id, RUN.c.created_at, RUN.c.tags).order_by(RUN.c.created_at.desc(), RUN.c.run_id.desc())
    if among is not None:
        query = query.where(RUN.c.run_id.in_(among))
    wanted = None if nightly is None else f"{NIGHTLY_TAG}{nightly}"
    if wanted is not None:
        query = query.where(RUN.c.tags.contains(json.dumps(wanted, ensure_ascii=False), autoescape=True))
    for row in connection.execute(query):
        tags = from_text(tuple[str, ...], row.tags)
        if wanted is None or wanted in tags:
            night = _tagged(tags, NIGHT_TAG) or _day(row.created_at)
            yield _Run(row.run_id, night, row.created_at, _tagged(tags, CONFIRMS_TAG))


def _day(created_at: str) -> str:
    """The local day of a moment."""
    return moment_from(created_at).astimezone().date().isoformat()


def _tagged(tags: Sequence[str], word: str) -> str:
    return next((tag.removeprefix(word) for tag in tags if tag.startswith(word)), "")


def _last_nights(runs: Iterable[_Run], last: int) -> list[_Run]:
    """The runs of the newest so many nights, in the order of the nights; `runs` newest first.

    A night that was caught up later is older than its run: a run is left behind only when the nights are full.
    """
    found: dict[str, list[_Run]] = {}
    for run in runs:
        if run.night not in found and len(found) >= last and run.night < min(found):
            break
        found.setdefault(run.night, []).append(run)
    newest = sorted(found)[-last:] if last > 0 else []
    return [run for night in newest for run in sorted(found[night], key=lambda one: (one.created_at, one.run_id))]


def _read(
    connection: sa.Connection, runs: Sequence[_Run], key: SeriesKey | None
) -> dict[SeriesKey, tuple[CaseNight, ...]]:
    """All series, or one, of these runs."""
    ids = [run.run_id for run in runs]
    rows = {row.run_id: row for row in of_runs(connection, RUN, ids, ())}
    cases = {(row.run_id, row.case_id): row for row in of_runs(connection, RUN_CASE, ids, _named(key) if key else ())}
    records = {at: from_text(Case, row.record) for at, row in cases.items()}
    records = {at: one for at, one in records.items() if not one.twin_of and one.side is None}
    trials: dict[tuple[str, str, str], list[Any]] = {}
    for row in _trials(connection, ids, {case for _, case in records}, key):
        if (row.run_id, row.case_id) in records:
            trials.setdefault((row.run_id, row.case_id, row.phone), []).append(row)
    beside = Beside(connection, ids, {one.variant_id for one in records.values()}, key)
    found: dict[SeriesKey, list[CaseNight]] = {}
    by_run: dict[str, list[tuple[str, str, str]]] = {}
    for at in trials:
        by_run.setdefault(at[0], []).append(at)
    for run in runs:
        for at in by_run.get(run.run_id, ()):
            case = records[at[:2]]
            of = SeriesKey(at[2], case.model_name, case.recipe_name, case.row)
            found.setdefault(of, []).append(_night(of, run, trials[at], beside.of(rows[run.run_id], case, trials[at])))
    return {of: tuple(nights) for of, nights in found.items()}


def _trials(connection: sa.Connection, runs: Sequence[str], cases: set[str], key: SeriesKey | None) -> Iterator[Any]:
    """The timed trials, each with the attempt that counts, in the order of the rounds."""
    columns = (
        TRIAL.c.run_id, TRIAL.c.case_id, TRIAL.c.phone, TRIAL.c.round, TRIAL.c.state, TRIAL.c.outcome,
        ATTEMPT.c.p50_s, ATTEMPT.c.fingerprint, ATTEMPT.c.tuned, ATTEMPT.c.script_digest, ATTEMPT.c.after_vitals,
    )  # fmt: skip
    with_attempt = TRIAL.outerjoin(ATTEMPT, ATTEMPT.c.attempt_id == TRIAL.c.attempt_id)
    asked = [TRIAL.c.purpose == Purpose.TIME.value]
    if key is not None:
        asked += [TRIAL.c.phone == key.phone, TRIAL.c.case_id.in_(sorted(cases))]
    for at in range(0, len(runs), AT_ONCE):
        some = TRIAL.c.run_id.in_(runs[at : at + AT_ONCE])
        query = sa.select(*columns).select_from(with_attempt).where(some, *asked)
        yield from connection.execute(query.order_by(TRIAL.c.run_id, TRIAL.c.round, TRIAL.c.ordinal))


def _night(key: SeriesKey, run: _Run, trials: Sequence[Any], circumstances: Circumstances) -> CaseNight:
    rounds = tuple(row.p50_s for row in trials if counts(row))
    return CaseNight(
        key=key,
        run_id=run.run_id,
        night=run.night,
        rounds_s=rounds,
        ended="" if rounds else _ended(trials),
        circumstances=circumstances,
        confirms=run.confirms,
    )


def _ended(trials: Sequence[Any]) -> str:
    """How a night without figures ended, by its commonest end."""
    words: Counter[str] = Counter()
    for row in trials:
        outcome = None if row.outcome is None else outcome_from(row.state, row.outcome)
        match outcome:
            case Failed(kind=kind):
                words[f"failed: {kind.replace('_', ' ')}"] += 1
            case Skipped(reason=reason):
                words[f"skipped: {reason.value}"] += 1
            case None:
                words["not ended"] += 1
            case _:
                words["measured, but no figure"] += 1
    return words.most_common(1)[0][0] if words else "not ended"
