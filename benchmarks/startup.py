"""`orch --help` against `--help` of a Typer program with one empty command, by the same interpreter."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.lab import ROOT
from benchmarks.row import Row, spread

REPEATS = 25
GOAL = 1.3
TINY = '''\
import typer

app = typer.Typer()


@app.command()
def nothing() -> None:
    """Does nothing."""


app()
'''


def run() -> Row:
    """The row of the speed table."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        tiny = Path(folder) / "tiny.py"
        tiny.write_text(TINY)
        commands = ((("-m", "orchestrator"), ours), ((str(tiny),), theirs))
        for repeat in range(REPEATS + 1):
            for words, took in commands if repeat % 2 else reversed(commands):
                seconds_s = _help_s(*words)
                if repeat:  # the first of each is to have the files in memory and compiled
                    took.append(seconds_s)
    ratio = statistics.median(ours) / statistics.median(theirs)
    return Row(
        name="startup",
        goal=f"orch --help in ≤ {GOAL} of an empty Typer program's",
        figure=f"{ratio:.3f}",
        met=ratio <= GOAL,
        detail=f"{REPEATS} interleaved repeats, median [range]: orch {spread(ours)}, empty program {spread(theirs)}",
    )


def _help_s(*words: str) -> float:
    begin_s = time.perf_counter()
    subprocess.run(
        [sys.executable, *words, "--help"], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True,
        capture_output=True,
    )  # fmt: skip
    return time.perf_counter() - begin_s
