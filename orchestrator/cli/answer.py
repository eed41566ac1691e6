"""The end of a run, and `orch report`: the summary on stdout, files in the run's folder, what to do next on stderr."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode, worst
from orchestrator.farm.loop import Tally
from orchestrator.home import Home
from orchestrator.report.markdown import render_markdown
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import RunSummary
from orchestrator.report.terminal import render_terminal
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.frames import RunFrames
from orchestrator.store.ledger import Ledger


def frames_of(run_id: str, home: Home, ledger: Ledger) -> RunFrames:
    """A run's frames."""
    return RunFrames(ledger, EvidenceStore(home.root), run_id)


def finish(run_id: str, home: Home, ledger: Ledger, tally: Tally, *, strict: bool, all_tables: bool) -> int:
    """Print the answer, write `report.md`, and give the exit code with its name in the last line."""
    summary = summarize(frames_of(run_id, home, ledger))
    sys.stdout.write(render_terminal(summary, all_tables=all_tables, width=80, colour=wants_colour()))
    sys.stdout.flush()
    report = write_report(summary, home)
    codes = tally.codes()
    if strict and any(row.state == "failed" for row in ledger.trials(run_id)):
        codes.append(ExitCode.INCOMPLETE)
    code = worst(codes)
    sys.stderr.write(f"report  {short(report)}\n")
    sys.stderr.write(f"next    {_next(run_id, code)}\n")
    if codes:
        names = ", ".join(f"{each.value} {each.name.lower().replace('_', ' ')}" for each in sorted(set(codes)))
        sys.stderr.write(f"exit {code.value}: {names}\n")
    return int(code)


def write_report(summary: RunSummary, home: Home) -> Path:
    """`report.md` in the run's folder, whole or not at all."""
    folder = home.run_folder(summary.head.run)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "report.md"
    part = folder / f".report.md.{os.getpid()}"
    part.write_text(render_markdown(summary), encoding="utf-8")
    part.replace(target)
    return target


def short(path: Path) -> str:
    """A path as short as it can be said from here."""
    try:
        return f"./{path.relative_to(Path.cwd())}"
    except ValueError:
        return str(path)


def _next(run_id: str, code: ExitCode) -> str:
    if code in (ExitCode.INTERRUPTED, ExitCode.INCOMPLETE):
        return f"orch resume {run_id}"
    return f"orch show {run_id}  ·  orch report {run_id} --format csv"
