"""A ledger of which somebody, a disk or another program changed a cell or a page: read, or refused by name."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.errors import FarmError, StoreError
from orchestrator.home import LEDGER_FILE
from orchestrator.outcome import Measured, Skipped, SkipReason
from orchestrator.store.columns import COLUMNS
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.frames import RunFrames
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import BlockRecord
from orchestrator.store.registered import Hold, Quarantine
from tests.guarded import guarded
from tests.orch_cli import Orch
from tests.unit.store import sample_run as sample

ODD = (
    *(None, 0, -1, 2**63 - 1, -(2**63), 1.5, float("inf"), b"\xff\xfe\x00"),
    *("", "null", "{}", "[]", "7", "-1", "1e999", "nan", "\x00", "\x1b[2J", "x" * 70_000, "[" * 3000, "9" * 5000),
    *("2026-13-45T99:99:99", "2026-01-01T00:00:00", "measured", '{"figures":{}}', '{"kind":1}', '"unknown"'),
)
"""Values that some column does not expect; those of its own kind it takes, and they mean something else."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a run of every sort of row."""
    home = tmp_path_factory.mktemp("kept")
    ledger, evidence = Ledger.open(home), EvidenceStore(home)
    contents = sample.contents()
    ledger.add_run(contents)
    proof = evidence.keep_bytes(b"mnist,0.004,30000000,12,0\n")
    ledger.record_attempts(
        [
            sample.attempt(contents.trials[0], "a0", sample.FAILED, before=None, after=None),
            sample.attempt(contents.trials[0], "a1", evidence={"result.csv": proof}),
            sample.attempt(contents.trials[1], "a2"),
            replace(sample.attempt(contents.trials[0], "c0", Measured(figures=None)), purpose="calibrate", trial_id=""),
        ]
    )
    ledger.end_trial(contents.trials[2].trial_id(sample.RUN), sample.FAILED)
    ledger.end_trial(contents.trials[3].trial_id(sample.RUN), Skipped(reason=SkipReason.PHONE_LOST))
    ledger.set_iterations(sample.RUN, sample.CASES[0].case_id, sample.PHONES[0], 100)
    ledger.set_prepared(sample.RUN, sample.PHONES[0], {"tuned": True, "problem": "", "steps": []})
    ledger.save_capabilities(sample.PHONES[0], "bb" * 32, "{}")
    ledger.next_epoch(sample.PHONES[0])
    ledger.open_block(
        BlockRecord(
            block_id="b1", run_id=sample.RUN, phone=sample.PHONES[0], epoch=1, boot_id="b", opened_at=sample.START,
            tasks={"t": "{}"},
        )
    )  # fmt: skip
    ledger.phones.add(sample.PHONES[0], "nina")
    ledger.phones.hold(sample.PHONES[0], Hold(by="nina", since=sample.START, why="debugging", until=None))
    ledger.phones.quarantine(
        sample.PHONES[1],
        Quarantine(
            reason="hangs", evidence="", since=sample.START, expires=sample.START + timedelta(days=1), by="orch"
        ),
    )
    ledger.close()
    with closing(sqlite3.connect(home / LEDGER_FILE)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
    return home


def everything(home: Path, names: Iterable[str] = COLUMNS) -> None:
    """Read what a ledger can be asked, and these frames of it."""
    ledger = Ledger.open(home)
    try:
        ledger.runs()
        ledger.phones.all()
        ledger.phones.history(sample.PHONES[0])
        ledger.events(sample.RUN)
        ledger.open_blocks(sample.RUN)
        ledger.iterations(sample.RUN)
        ledger.prepared(sample.RUN)
        ledger.capabilities(sample.PHONES[0], "bb" * 32)
        ledger.counts(sample.RUN)
        ledger.trials(sample.RUN)
        frames = RunFrames(ledger, EvidenceStore(home), sample.RUN)
        for name in names:
            getattr(frames, name)
        ledger.next_epoch(sample.PHONES[0])
    finally:
        ledger.close()


def columns(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [
            (table, row[1])
            for table in sorted(tables)
            if database.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
            for row in database.execute(f'PRAGMA table_info("{table}")')
        ]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def fresh(kept: Path, home: Path) -> Path:
    shutil.rmtree(home)
    shutil.copytree(kept, home)
    return home / LEDGER_FILE


def read_guarded(home: Path, names: Iterable[str]) -> None:
    with guarded(home):
        try:
            everything(home, names)
        except FarmError:
            return


FEW = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


SOME = st.lists(st.sampled_from(sorted(COLUMNS)), min_size=2, max_size=3, unique=True)
"""Making frames is what costs: a few of them for each ledger."""


@given(st.data(), SOME)
@FEW
def test_a_changed_cell(kept: Path, home: Path, data: st.DataObject, names: list[str]) -> None:
    path = fresh(kept, home)
    table, column = data.draw(st.sampled_from(columns(path)))
    odd = data.draw(st.sampled_from(ODD))
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("PRAGMA ignore_check_constraints = ON")
        try:
            database.execute(
                f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE rowid = (SELECT min(rowid) FROM "{table}")',
                (odd,),
            )
            database.commit()
        except sqlite3.IntegrityError:
            return  # the table itself refuses it
    read_guarded(home, names)


@given(st.integers(0, 2**32), st.integers(1, 40), SOME)
@FEW
def test_a_changed_page(kept: Path, home: Path, seed: int, count: int, names: list[str]) -> None:
    path = fresh(kept, home)
    noise = random.Random(seed)
    raw = bytearray(path.read_bytes())
    for _ in range(count):
        at = noise.randrange(len(raw))
        raw[at : at + 4] = noise.randbytes(len(raw[at : at + 4]))
    path.write_bytes(raw)
    read_guarded(home, names)


def test_an_unharmed_ledger_is_read(kept: Path, home: Path) -> None:
    fresh(kept, home)
    with guarded(home):
        everything(home)


def test_a_cell_of_another_kind_is_named(kept: Path, home: Path) -> None:
    with closing(sqlite3.connect(fresh(kept, home))) as database:
        database.execute("UPDATE phone_epoch SET epoch = 'many'")
        database.commit()
    with closing(Ledger.open(home)) as ledger, pytest.raises(StoreError, match="biginteger column holds str 'many'"):
        ledger.next_epoch(sample.PHONES[0])


@pytest.mark.parametrize(("table", "column"), [("trial", "outcome"), ("run", "state"), ("attempt", "recorded_at")])
def test_the_command_line_says_it_in_a_line(kept: Path, home: Path, table: str, column: str) -> None:
    with closing(sqlite3.connect(fresh(kept, home))) as database:
        database.execute(f'UPDATE "{table}" SET "{column}" = ?', ('{"kind": 1',))
        database.commit()
    cli = Orch(home)
    for command in (("show", sample.RUN), ("report", sample.RUN), ("runs",)):
        ended = cli(*command)
        assert ended.code in (0, 2), ended
        assert "Traceback" not in ended.out + ended.err
