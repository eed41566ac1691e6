"""How a run stands is what the ledger says, and whether a process still holds the claim on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.app.standing import drive, standing_of, standings
from orchestrator.errors import UsageError
from orchestrator.home import Home
from orchestrator.report.runs_text import render_runs
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import RunState
from tests.unit.store import sample_run

HOLD = """
import sys
from pathlib import Path
from orchestrator.app.standing import drive
from orchestrator.home import Home
lock = drive(Home(Path(sys.argv[1])), sys.argv[2])
print("held", flush=True)
sys.stdin.read()
"""
OLDER = "0411-cpu-aaaa"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    ledger = Ledger.open(tmp_path)
    ledger.add_run(sample_run.contents(OLDER, created_at=sample_run.START.replace(day=11)))
    ledger.add_run(sample_run.contents())
    ledger.set_run_state(OLDER, RunState.FINISHED)
    ledger.close()
    return Home(tmp_path)


def test_a_run_that_nobody_drives_was_cut_off_and_says_how_to_go_on(home: Home) -> None:
    newest, older = standings(home)
    assert (newest.run_id, newest.living, newest.cut_off, newest.needs_eyes) == (sample_run.RUN, None, True, True)
    assert (older.run_id, older.cut_off, older.needs_eyes) == (OLDER, False, False)
    text = render_runs([newest.row(), older.row()])
    assert f"  orch resume {sample_run.RUN}\n" in text
    assert f"orch resume {OLDER}" not in text
    assert [line.split()[3:5] for line in text.splitlines() if line.startswith("04")] == [
        ["cut", "off"], ["finished", "0/12"]
    ]  # fmt: skip


def test_a_run_that_a_process_drives_runs(home: Home) -> None:
    words = [sys.executable, "-c", HOLD, str(home.root), sample_run.RUN]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "held\n"
        found = standing_of(home, "7k2f")
        assert (found.living, found.cut_off, found.row().state, found.row().mend) == (other.pid, False, "runs", "")
        with pytest.raises(UsageError, match=f"process {other.pid} of .* drives it"):
            drive(home, sample_run.RUN)
        other.stdin.close()
        other.wait(20)
    assert standing_of(home, "@last").cut_off


def test_a_name_that_is_no_run_is_refused(home: Home) -> None:
    with pytest.raises(UsageError, match="nothing"):
        standing_of(home, "nothing")
