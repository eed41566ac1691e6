"""The end of a run, and `orch report`: the summary on stdout, files in the run's folder, what to do next on stderr."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode, StoreError, worst
from orchestrator.farm.tally import Tally
from orchestrator.home import Home
from orchestrator.report.comparison.nouns import GateWord
from orchestrator.report.markdown import render_markdown
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import RunSummary
from orchestrator.report.terminal import render_terminal
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.frames import RunFrames
from orchestrator.store.ledger import Ledger


def frames_of(run_id: str, home: Home, ledger: Ledger, *, lenient: bool = True) -> RunFrames:
    """A run's frames, without what can't be read of its evidence: a report says what it is made without."""
    return RunFrames(ledger, EvidenceStore(home.root), run_id, lenient=lenient)


def finish(run_id: str, home: Home, ledger: Ledger, tally: Tally, *, strict: bool, all_tables: bool) -> int:
    """Print the answer, write the reports, and give the exit code with its name in the last line."""
    frames = frames_of(run_id, home, ledger)
    summary = summarize(frames)
    sys.stdout.write(render_terminal(summary, all_tables=all_tables, width=80, colour=wants_colour()))
    sys.stdout.flush()
    report = write_report(summary, frames, home)
    codes = tally.codes()
    words = [gate.word for gate in summary.gates]
    codes += [ExitCode.GATE_FAILED] if GateWord.FAILED in words else []
    codes += [ExitCode.GATE_FAILED] if summary.replay is not None and summary.replay.differs else []
    codes += [ExitCode.INCOMPLETE] if strict and GateWord.NOT_TOLD in words else []
    if strict and any(row.state == "failed" for row in ledger.trials(run_id)):
        codes.append(ExitCode.INCOMPLETE)
    code = worst(codes)
    sys.stderr.write(f"report  {short(report)}\n")
    sys.stderr.write(f"next    {_next(run_id, code)}\n")
    if codes:
        names = ", ".join(f"{each.value} {each.name.lower().replace('_', ' ')}" for each in sorted(set(codes)))
        sys.stderr.write(f"exit {code.value}: {names}\n")
    return int(code)


def write_report(summary: RunSummary, frames: RunFrames, home: Home) -> Path:
    """`report.md` and `report.html` in the run's folder, each whole or not at all; the latter's path.

    Raises StoreError where they can't be written.
    """
    from orchestrator.report.html.page import render_html  # noqa: PLC0415 - templates, and only at the end of a run

    folder = home.run_folder(summary.head.run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, words in (("report.md", render_markdown(summary)), ("report.html", render_html(summary, frames))):
            part = folder / f".{name}.{os.getpid()}"
            part.write_text(words, encoding="utf-8")
            part.replace(folder / name)
    except OSError as error:
        raise StoreError(f"{folder}: the report can't be written: {error.strerror or error}") from error
    return folder / "report.html"


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
