"""`orch status`: what a living run tells of itself, what the ledger tells of a dead one; fit for 80 columns."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.cells import cell_len

from orchestrator.app.boarding import boards, teller, told_no_more, told_path
from orchestrator.farm.protocol import Work
from orchestrator.farm.worktext import work_to_text
from orchestrator.home import Home
from orchestrator.plan.case import Purpose
from orchestrator.report.board import board_lines, render_board
from orchestrator.report.progress import LaneProgress, RunProgress
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import BlockRecord, RunState
from tests.unit.app.test_standing import HOLD
from tests.unit.store import sample_run as sample
from tests.unit.store.sample_home import make_home

NOW = datetime(2026, 4, 12, 5, 0, tzinfo=UTC)
TOLD = RunProgress(
    plan_name="quick", done=5, total=12, left_s=151.0, so_far="B3: cpu all 4t 2.3×",
    lanes=(
        LaneProgress(
            name="B3 Pixel 8", done=5, total=6, what="cpu all", round=2, battery_c=33.1, clock_ghz=1.8, left_s=70
        ),
        LaneProgress(name="v1", done=0, total=6, what="turn of 7k2f (nina)\x1b[2J", state="waits"),
    ),
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(make_home(tmp_path / "home"))


def test_a_dead_run_says_since_when_and_how_to_go_on(home: Home) -> None:
    ledger = Ledger.open(home.root)
    work = Work(case_id=sample.CASES[2].case_id, purpose=Purpose.TIME, iterations=7, round=2, position=1, trial=None)
    opened = datetime(2026, 4, 12, 4, 58, tzinfo=UTC)
    block = BlockRecord(
        block_id="b-1", run_id=sample.RUN, phone=sample.PHONES[1], epoch=1, boot_id="x", opened_at=opened,
        tasks={"000": work_to_text(work), "001": work_to_text(work), "002": "of another program"},
    )  # fmt: skip
    ledger.open_block(block)
    ledger.close()
    (run,) = boards(home, datetime.now(UTC) + timedelta(days=1))
    assert (run.cut_off, run.living, run.told) == (True, None, False)
    assert run.heard_at >= opened, "the run's own last row"
    text = render_board([run], run.heard_at + timedelta(hours=3))
    assert f"dead since {run.heard_at:%Y-%m-%d %H:%M} UTC (3 h 0 min ago)" in text
    assert f"\n  orch resume {sample.RUN}\n" in text
    given, other = run.lanes[1], run.lanes[0]
    assert (given.what, given.round, given.state) == (f"{sample.CASES[2].row} and 1 more", 2, "given")
    assert (other.battery_c, other.clock_ghz) == (32.0, 1.7)
    assert max(map(cell_len, text.splitlines())) <= 80


def test_a_living_run_is_as_it_says_itself(home: Home) -> None:
    teller(home, sample.RUN)(TOLD)
    words = [sys.executable, "-c", HOLD, str(home.root), sample.RUN]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "held\n"
        now = datetime.now(UTC)
        (run,) = boards(home, now)
        assert (run.living, run.told, run.lanes, run.left_s) == (other.pid, True, TOLD.lanes, 151.0)
        text = render_board([run], now)
        assert f"runs (process {other.pid})  " in text
        assert "2:31 left" in text
        assert "so far B3: cpu all 4t 2.3×" in text
        assert "turn of 7k2f (nina)\\x1b[2J" in text
        assert "heard" not in text
        assert "  heard 2 min 0 s ago" in render_board([run], run.heard_at + timedelta(seconds=120))
        told_path(home, sample.RUN).write_text("[1, 2")
        assert not boards(home, now)[0].told, "what can't be read is passed over"
        teller(home, sample.RUN)(TOLD)
        other.stdin.close()
        other.wait(20)
    (dead,) = boards(home, datetime.now(UTC))
    assert (dead.cut_off, dead.told) == (True, False)
    assert dead.heard_at >= now - timedelta(seconds=1), "its last word is the moment of its death"
    told_no_more(home, sample.RUN)
    assert not told_path(home, sample.RUN).exists()


def test_a_terminal_gets_no_more_lines_than_it_has(home: Home) -> None:
    (run,) = boards(home, NOW + timedelta(days=900))
    whole = board_lines([run], NOW, 80, 50)
    assert len(whole) > 4
    assert board_lines([run], NOW, 80, 5) == [*whole[:2], f"and {len(whole) - 2} more lines"]
    assert all(cell_len(one) < 60 for one in board_lines([run], NOW, 60, 50))


def test_nothing_runs(home: Home, tmp_path: Path) -> None:
    ledger = Ledger.open(home.root)
    ledger.set_run_state(sample.RUN, RunState.FINISHED)
    ledger.close()
    assert boards(home, NOW) == ()
    assert render_board((), NOW) == "nothing runs\n"


def test_a_full_disk_costs_the_word_and_not_the_run(home: Home) -> None:
    home.claims.mkdir(exist_ok=True)
    (home.claims / f"{sample.RUN}.board").mkdir()
    teller(home, sample.RUN)(TOLD)
    told_no_more(home, sample.RUN)
