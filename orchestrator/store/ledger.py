"""The ledger: what was asked for, what is under way, what came of it. The only way in.

Everything a run asks for is written before a phone is touched; a block is written before the phone is told of it; an
attempt is written once, whoever finds it. So a process may be killed at any moment, and another goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from android_runner.block import BlockEnding
from orchestrator.outcome import Outcome
from orchestrator.plan.case import Trial
from orchestrator.store import block_rows, joined_rows, run_rows, trial_rows
from orchestrator.store.address import ledger_address
from orchestrator.store.alert_book import AlertBook
from orchestrator.store.battery_log import BatteryLog
from orchestrator.store.bundle_rows import BundleRows
from orchestrator.store.cleaning_book import CleaningBook
from orchestrator.store.codec import moment_from, moment_text, word_from
from orchestrator.store.database import Database
from orchestrator.store.history import History
from orchestrator.store.incidents import Incidents
from orchestrator.store.kept_numbers import KeptNumbers
from orchestrator.store.naming import run_name, which_run
from orchestrator.store.phone_book import PhoneBook
from orchestrator.store.records import (
    AttemptRecord,
    BlockRecord,
    Counts,
    EventRecord,
    RunContents,
    RunState,
    RunSummary,
    TrialRow,
    TrialState,
)
from orchestrator.store.schema import BLOCK, CAPABILITIES, CASE_ITERATIONS, PHONE_EPOCH, RUN
from orchestrator.variants.tolerance import Numerics

__all__ = ["Counts", "Ledger", "RunSummary", "TrialRow", "TrialState"]


def _now() -> datetime:
    return datetime.now(UTC)


class Ledger:
    """A home's ledger. Threads may share one, and processes the file; each method is one transaction.

    `phones` is the lab's registry, `incidents` what happened, `batteries` theirs, `alerts` what nightlies told,
    `history` what nights left of a series, `kept` which numbers somebody went by, `cleanings` whose raw files went.
    Every method raises StoreError when the database can't be read or written, and that only for reasons outside the
    program; calls that make no sense (an unknown trial, a second end) raise ValueError.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.phones = PhoneBook(database)
        self.incidents = Incidents(database)
        self.history = History(database)
        self.batteries = BatteryLog(database)
        self.alerts = AlertBook(database)
        self.kept = KeptNumbers(database)
        self.cleanings = CleaningBook(database)
        self.bundles = BundleRows(database)

    @classmethod
    def open(cls, home: Path) -> Ledger:
        """Open a home's ledger, `ledger.sqlite` or the database that its `lab.toml` names; make or migrate it.

        Raises StoreError: damaged, newer, not writable, out of reach; UsageError: a wrong `lab.toml`.
        """
        return cls(Database.open(ledger_address(home)))

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    # --- runs ---------------------------------------------------------------------------------------------------

    def new_run_name(self, plan_name: str, now: datetime, seed: int) -> str:
        """A name for a run that no run of this home has: `0412-quick-7k2f`, the day being the local one."""
        with self._database.reading() as connection:
            taken = {name for (name,) in connection.execute(sa.select(RUN.c.run_id))}
        return run_name(plan_name, now, seed, taken)

    def add_run(self, contents: RunContents) -> None:
        """Write down all that a run asks for; it is `running`, its trials `planned`."""
        with self._database.writing() as connection:
            run_rows.insert_run(connection, contents)

    def join_run(self, run_id: str, contents: RunContents, at: datetime) -> None:
        """Write down all that is asked of a phone that came while the run lasts."""
        with self._database.writing() as connection:
            joined_rows.insert_joined(connection, run_id, contents, at)

    def add_round(self, run_id: str, trials: Sequence[Trial], at: datetime) -> None:
        """Write down what a search asks for next, before any of it is told to a phone."""
        with self._database.writing() as connection:
            joined_rows.insert_round(connection, run_id, trials, at)

    def find_run(self, text: str, now: datetime | None = None) -> str:
        """The run that `text` means: `@last`, `@yesterday`, a name, a unique beginning or the last part of one.

        Raises UsageError with the nearest matches when none or several match.
        """
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(RUN.c.run_id, RUN.c.created_at)).all()
        return which_run(text, [(name, moment_from(at)) for name, at in rows], now or _now())

    def contents(self, run_id: str) -> RunContents:
        """What `add_run` wrote."""
        with self._database.reading() as connection:
            return run_rows.contents_of(connection, run_id)

    def set_numerics(self, run_id: str, numerics: Mapping[str, Numerics]) -> None:
        """Write how far variants, by id, are from their sources: it is computed beside the run."""
        with self._database.writing() as connection:
            run_rows.set_numerics(connection, run_id, numerics)

    def runs(self) -> list[RunSummary]:
        """Every run, newest first."""
        with self._database.reading() as connection:
            return run_rows.summaries(connection)

    def summary(self, run_id: str) -> RunSummary:
        """One run."""
        with self._database.reading() as connection:
            run_rows.run_row(connection, run_id)
            return run_rows.summaries(connection, run_id)[0]

    def run_state(self, run_id: str) -> RunState:
        """Where a run stands."""
        with self._database.reading() as connection:
            return word_from(RunState, run_rows.run_row(connection, run_id).state)

    def set_run_state(self, run_id: str, state: RunState, at: datetime | None = None, host: str = "") -> None:
        """Write where a run stands; all but `running` also write when it ended. `host`: who drives it from now on."""
        with self._database.writing() as connection:
            run_rows.set_state(connection, run_id, state, at or _now(), host)

    @property
    def of_several_hosts(self) -> bool:
        """Whether other hosts may write into it, whose claims can't be seen from here."""
        return self._database.of_several_hosts

    def last_word(self, run_id: str) -> tuple[str, datetime]:
        """The host that drives a run, or did last, and when the run last wrote a line of its history."""
        with self._database.reading() as connection:
            return run_rows.last_word(connection, run_id)

    def set_prepared(self, run_id: str, phone: str, record: Mapping[str, Any], at: datetime | None = None) -> None:
        """Write what came of preparing a phone for a run: `tuned`, `problem`, `steps`; the last word holds."""
        with self._database.writing() as connection:
            run_rows.set_prepared(connection, run_id, phone, record, at or _now())

    def prepared(self, run_id: str) -> dict[str, dict[str, Any]]:
        """What `set_prepared` wrote, by phone; a phone of a run that prepares none is not there."""
        with self._database.reading() as connection:
            return run_rows.prepared_of(connection, run_id)

    def events(self, run_id: str) -> list[EventRecord]:
        """A run's history: every change of its state and of its trials'."""
        with self._database.reading() as connection:
            return run_rows.events_of(connection, run_id)

    def next_epoch(self, phone: str, at_least: int = 1) -> int:
        """A number that this ledger never gave for this phone, above all before it and not below `at_least`."""
        of_phone = PHONE_EPOCH.c.phone == phone
        with self._database.writing() as connection:
            last = connection.execute(sa.select(PHONE_EPOCH.c.epoch).where(of_phone)).scalar()
            epoch = max((last or 0) + 1, at_least)
            if last is None:
                connection.execute(PHONE_EPOCH.insert().values(phone=phone, epoch=epoch))
            else:
                connection.execute(PHONE_EPOCH.update().where(of_phone).values(epoch=epoch))
        return epoch

    def save_capabilities(self, phone: str, binary_digest: str, record: str) -> None:
        """Keep what a binary can do on a phone (JSON of the caller's); the last word holds."""
        same = (CAPABILITIES.c.phone == phone, CAPABILITIES.c.binary_digest == binary_digest)
        row = {"phone": phone, "binary_digest": binary_digest, "record": record}
        with self._database.writing() as connection:
            connection.execute(CAPABILITIES.delete().where(*same))
            connection.execute(CAPABILITIES.insert().values(**row))

    def capabilities(self, phone: str, binary_digest: str) -> str | None:
        """What `save_capabilities` kept; None when nobody asked yet."""
        same = (CAPABILITIES.c.phone == phone, CAPABILITIES.c.binary_digest == binary_digest)
        with self._database.reading() as connection:
            found = connection.execute(sa.select(CAPABILITIES.c.record).where(*same)).scalar()
        return None if found is None else str(found)

    def open_block(self, block: BlockRecord) -> None:
        """Write a block down, before its phone is told. Raises StoreError when its name is taken."""
        with self._database.writing() as connection:
            block_rows.insert_block(connection, block)

    def close_block(self, block_id: str, ending: BlockEnding | str, closed_at: datetime) -> None:
        """Nothing more is to be expected of a block; its first ending stays."""
        is_open = (BLOCK.c.block_id == block_id, BLOCK.c.closed_at.is_(None))
        with self._database.writing() as connection:
            if connection.execute(sa.select(BLOCK.c.block_id).where(BLOCK.c.block_id == block_id)).first() is None:
                raise ValueError(f"no block {block_id} was opened")
            values = {"ending": str(ending), "closed_at": moment_text(closed_at)}
            connection.execute(BLOCK.update().where(*is_open).values(**values))

    def untidy_blocks(self, *, run_id: str = "", phone: str = "") -> list[str]:
        """Closed blocks that may still lie on their phones, oldest first: those of a run, of a phone, or of both."""
        query = sa.select(BLOCK.c.block_id).where(BLOCK.c.closed_at.is_not(None), BLOCK.c.tidied_at.is_(None))
        query = query.where(BLOCK.c.run_id == run_id) if run_id else query
        query = query.where(BLOCK.c.phone == phone) if phone else query
        with self._database.reading() as connection:
            return [name for (name,) in connection.execute(query.order_by(BLOCK.c.opened_at, BLOCK.c.block_id))]

    def block_tidied(self, block_id: str, at: datetime) -> None:
        """Nothing of a closed block lies on its phone any more."""
        with self._database.writing() as connection:
            this = (BLOCK.c.block_id == block_id, BLOCK.c.closed_at.is_not(None))
            connection.execute(BLOCK.update().where(*this).values(tidied_at=moment_text(at)))

    def open_blocks(self, run_id: str) -> list[BlockRecord]:
        """Blocks whose end nobody has seen, oldest first."""
        with self._database.reading() as connection:
            return block_rows.open_of(connection, run_id)

    # --- trials and attempts ------------------------------------------------------------------------------------

    def set_iterations(self, run_id: str, case_id: str, phone: str, iterations: int) -> None:
        """Fix a case's number of iterations on a phone for a whole run. Raises ValueError when it has another."""
        table = CASE_ITERATIONS.c
        key = (table.run_id == run_id, table.case_id == case_id, table.phone == phone)
        with self._database.writing() as connection:
            fixed = connection.execute(sa.select(table.iterations).where(*key)).scalar()
            if fixed is None:
                row = {"run_id": run_id, "case_id": case_id, "phone": phone, "iterations": iterations}
                connection.execute(CASE_ITERATIONS.insert().values(**row))
            elif fixed != iterations:
                raise ValueError(f"case {case_id[:12]} on {phone} has {fixed} iterations in {run_id}, not {iterations}")

    def iterations(self, run_id: str) -> dict[tuple[str, str], int]:
        """The fixed numbers of iterations by (case id, phone)."""
        table = CASE_ITERATIONS.c
        query = sa.select(table.case_id, table.phone, table.iterations).where(table.run_id == run_id)
        with self._database.reading() as connection:
            return {(case_id, phone): count for case_id, phone, count in connection.execute(query)}

    def record_attempt(self, attempt: AttemptRecord) -> bool:
        """Append one attempt; whether it was new. See `record_attempts`."""
        return self.record_attempts([attempt]) == 1

    def record_attempts(self, attempts: Sequence[AttemptRecord]) -> int:
        """Append attempts, all or none; how many were new (an attempt id is taken once, whoever brings it).

        The first that measured and was not rejected ends its trial in the same transaction, also when the trial had
        been given up; others are stored and don't count.
        """
        if not attempts:
            return 0
        with self._database.writing() as connection:
            return sum(trial_rows.insert_attempt(connection, attempt) for attempt in attempts)

    def end_trial(self, trial_id: str, outcome: Outcome, at: datetime | None = None) -> None:
        """Give an open trial its end. `Measured` only confirms what an attempt has done.

        Raises ValueError when it has another end already.
        """
        with self._database.writing() as connection:
            trial_rows.set_end(connection, trial_id, outcome, at or _now())

    def move_trial(self, trial_id: str, phone: str, at: datetime | None = None) -> None:
        """Ask an open trial of another phone from now on. Raises ValueError when there is none of this name."""
        with self._database.writing() as connection:
            trial_rows.set_phone(connection, trial_id, phone, at or _now())

    def reopen(self, trial_ids: Iterable[str], at: datetime | None = None) -> int:
        """Plan failed and skipped trials again; how many those were. Measured ones are left alone."""
        with self._database.writing() as connection:
            return trial_rows.open_again(connection, trial_ids, at or _now())

    def trials(self, run_id: str) -> list[TrialRow]:
        """A run's trials in the order of the plan."""
        with self._database.reading() as connection:
            return trial_rows.trials_of(connection, run_id)

    def attempts(self, run_id: str) -> list[AttemptRecord]:
        """A run's attempts, calibrations too, in the order in which they were recorded."""
        with self._database.reading() as connection:
            return trial_rows.attempts_of(connection, run_id)

    def counts(self, run_id: str) -> Counts:
        """A run's trials by state."""
        with self._database.reading() as connection:
            return run_rows.summaries(connection, run_rows.run_row(connection, run_id).run_id)[0].counts
