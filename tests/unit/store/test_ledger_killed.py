"""SIGKILL of a writer at random moments: what it said was written is there, and all of it fits together."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import sample_run as sample

from orchestrator.store.ledger import Ledger

HERE = Path(__file__).parent
KILLS = 5


def run_until(home: Path, run_id: str, lines: int) -> list[str]:
    """Start the writer, kill it after so many lines; all lines that it got out."""
    environment = {**os.environ, "PYTHONPATH": f"{HERE.parents[2]}{os.pathsep}{HERE}"}
    command = [sys.executable, str(HERE / "ledger_writer.py"), str(home), run_id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(lines)]
        writer.send_signal(signal.SIGKILL)
        said += writer.stdout.readlines()
    assert writer.returncode == -signal.SIGKILL
    return [line.strip() for line in said]


def test_a_killed_writer_leaves_a_ledger_that_fits_together(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)
    dice = random.Random(seed)
    for turn in range(KILLS):
        run_id = f"0412-kill-{turn}"
        said = run_until(tmp_path, run_id, dice.randrange(1, 60))
        ledger = Ledger.open(tmp_path)
        trials = {trial.trial_id(run_id): n for n, trial in enumerate(sample.contents(run_id, rounds=100).trials)}
        rows = {trials[row.trial_id]: row for row in ledger.trials(run_id)}
        attempts = ledger.attempts(run_id)
        ledger.close()
        assert len(rows) == len(trials)
        for line in said:
            word, _, number = line.partition(" ")
            if word == "attempts":
                assert rows[int(number)].attempt_id == f"{run_id}-{number}"
            elif word == "ended":
                assert rows[int(number)].state == "skipped"
        measured = {row.attempt_id for row in rows.values() if row.state == "measured"}
        kept = {one.attempt_id for one in attempts}
        assert measured <= kept
        assert len(kept) == len(attempts) == 2 * len(measured)
        last = max((int(line.split()[1]) for line in said if line.startswith("attempts")), default=-3)
        assert len(measured) in (last // 3 + 1, last // 3 + 2)
