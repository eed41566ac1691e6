"""`orch export`: a run as a folder that is understood without this program: tables, reports, dictionary, checksums."""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from orchestrator import __version__
from orchestrator.digest import digest_of_file
from orchestrator.errors import Problem, StoreError, UsageError
from orchestrator.home import Home
from orchestrator.report.as_json import render_json
from orchestrator.report.html.page import render_html
from orchestrator.report.lines import shown
from orchestrator.report.markdown import render_markdown
from orchestrator.report.run_junit import run_junit
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import RunSummary
from orchestrator.report.terminal import run_words
from orchestrator.store.attempt_evidence import EvidenceUnread
from orchestrator.store.dictionary import dictionary_rows, dictionary_text
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.export import write_csv, write_parquet
from orchestrator.store.frames import RunFrames
from orchestrator.store.ledger import Ledger

TableFormat = Literal["csv", "parquet"]
CHECKSUMS = "SHA256SUMS"
_WRITERS = {"csv": write_csv, "parquet": write_parquet}


def export_run(
    home: Home, run: str, folder: Path, form: TableFormat, *, lenient: bool
) -> tuple[Sequence[Path], Sequence[str]]:
    """Write a run's export to `folder`, which appears whole or not at all; its files, and what was left out.

    Raises UsageError when `folder` holds something already or no run matches; StoreError when the ledger or, unless
    `lenient`, evidence can't be read, or the folder can't be written.
    """
    _refuse_taken(folder)
    ledger = Ledger.open(home.root)
    try:
        run_id = ledger.find_run(run)
        frames = RunFrames(ledger, EvidenceStore(home.root), run_id, lenient=lenient)
        part = folder.with_name(f".{folder.name}.{os.getpid()}")
        try:
            part.mkdir(parents=True)
            written = _fill(part, frames, form)
            part.rename(folder)
        except EvidenceUnread as error:
            raise StoreError(f"{error}; --lenient leaves it out") from error
        except OSError as error:
            raise StoreError(f"{folder}: can't be written: {error.strerror or error}") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
    finally:
        ledger.close()
    return [folder / path.relative_to(part) for path in written], frames.unread


def _refuse_taken(folder: Path) -> None:
    try:
        taken = folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir())))
    except OSError as error:
        raise StoreError(f"{folder}: can't be read: {error.strerror or error}") from error
    if taken:
        raise UsageError(Problem(str(folder), "holds something already", "give a folder that is not there yet"))


def _fill(folder: Path, frames: RunFrames, form: TableFormat) -> list[Path]:
    """Everything into `folder`; the checksums last, of all that is there."""
    written = list(_WRITERS[form](frames, folder / "tables"))
    summary = summarize(frames)
    texts = {
        "report.html": render_html(summary, frames),
        "report.md": render_markdown(summary),
        "report.json": render_json(summary),
        "report.junit.xml": run_junit(frames),
        "README.txt": _readme(summary, form, frames.unread),
    }
    for name, words in texts.items():
        (folder / name).write_text(words, encoding="utf-8")
        written.append(folder / name)
    with (folder / "columns.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(dictionary_rows())
    written.append(folder / "columns.csv")
    sums = "".join(f"{digest_of_file(path)}  {path.relative_to(folder)}\n" for path in sorted(written))
    (folder / CHECKSUMS).write_text(sums, encoding="utf-8")
    return [*written, folder / CHECKSUMS]


def _readme(summary: RunSummary, form: TableFormat, unread: Sequence[str]) -> str:
    head = summary.head
    if form == "csv":
        example = 'attempts = pandas.read_csv("tables/attempts.csv")'
    else:
        example = 'attempts = pandas.read_parquet("tables/attempts.parquet")'
    left_out = ["", "LEFT OUT, as it could not be read:", *(f"  {shown(words)}" for words in unread)] if unread else []
    return "\n".join(
        [
            shown(summary.headline),
            shown(run_words(summary)),
            f"ledger and evidence of host {shown(head.host)}, user {shown(head.user)}; written by orch {__version__}",
            *left_out,
            "",
            "report.html       the report: open it in a browser, no network is needed",
            "report.md         the same as Markdown",
            "report.json       the same as JSON; latencies in seconds",
            "report.junit.xml  each planned trial as a test case, for CI",
            f"tables/*.{form:8} everything the report is made of, a file a frame; see below",
            "columns.csv       the dictionary below as a table",
            f"{CHECKSUMS}        sha256sum -c {CHECKSUMS}",
            "",
            f"In Python:  {example}",
            'Figures that count:  timed = attempts[attempts.counted & (attempts.purpose == "time")]',
            "The unit is the round (one process): compare medians of p50_s by case and phone, never pooled iterations.",
            "Text that a spreadsheet would take for a formula has a leading apostrophe in CSV files.",
            "Serial numbers of phones, host and user names are in here.",
            "",
            "COLUMNS",
            "",
            dictionary_text(),
        ]
    )
