"""`orch export`: a run as a folder that is understood without this program: tables, reports, dictionary, checksums."""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from orchestrator.report.source import records, text
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import RunSummary
from orchestrator.report.terminal import run_words
from orchestrator.store.attempt_evidence import EvidenceUnread
from orchestrator.store.dictionary import dictionary_rows, dictionary_text
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.export import write_csv, write_parquet
from orchestrator.store.frames import RunFrames
from orchestrator.store.kept_numbers import Number, Use
from orchestrator.store.ledger import Ledger

TableFormat = Literal["csv", "parquet"]
CHECKSUMS = "SHA256SUMS"
_WRITERS = {"csv": write_csv, "parquet": write_parquet}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedExport:
    """How a run leaves: the tables' format; with its raw files; without what can't be read of the evidence."""

    form: TableFormat = "csv"
    evidence: bool = False
    lenient: bool = False


def export_run(home: Home, run: str, folder: Path, asked: AskedExport) -> tuple[Sequence[Path], Sequence[str]]:
    """Write a run's export to `folder`, which appears whole or not at all; its files, and what was left out.

    Raises UsageError when `folder` holds something already or no run matches; StoreError when the ledger or, unless
    `asked.lenient`, evidence can't be read, or the folder can't be written.
    """
    _refuse_taken(folder)
    ledger = Ledger.open(home.root)
    try:
        run_id = ledger.find_run(run)
        frames = RunFrames(ledger, EvidenceStore(home.root), run_id, lenient=asked.lenient)
        part = folder.with_name(f".{folder.name}.{os.getpid()}")
        try:
            part.mkdir(parents=True)
            raw, lost = _raw_files(part, frames, lenient=asked.lenient) if asked.evidence else ([], [])
            written = [*raw, *_fill(part, frames, asked, lost)]
            _sums(part, written)
            part.rename(folder)
            ledger.kept.keep([Number(run_id)], Use.EXPORTED, f"orch export {run_id}")
        except EvidenceUnread as error:
            raise StoreError(f"{error}; --lenient leaves it out") from error
        except OSError as error:
            raise StoreError(f"{folder}: can't be written: {error.strerror or error}") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
    finally:
        ledger.close()
    files = [folder / path.relative_to(part) for path in (*written, part / CHECKSUMS)]
    return files, (*frames.unread, *lost)


def _refuse_taken(folder: Path) -> None:
    try:
        taken = folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir())))
    except OSError as error:
        raise StoreError(f"{folder}: can't be read: {error.strerror or error}") from error
    if taken:
        raise UsageError(Problem(str(folder), "holds something already", "give a folder that is not there yet"))


def _raw_files(folder: Path, frames: RunFrames, *, lenient: bool) -> tuple[list[Path], list[str]]:
    """The content of every file of every attempt under its digest; and, where that is left out, what can't be read."""
    target = folder / "evidence"
    target.mkdir()
    owner: dict[str, str] = {}
    for row in records(frames.attempts):
        kept = row.get("evidence")
        for name, digest in kept.items() if isinstance(kept, Mapping) else ():
            owner[str(digest)] = f"attempt {text(row, 'attempt')}: {name}"
    lost: list[str] = []
    for digest, whose in owner.items():
        try:
            with (target / digest).open("wb") as stream:
                stream.writelines(frames.evidence.pieces(digest))
        except StoreError as error:
            words = f"{whose} can't be read: {error}"
            if not lenient:
                raise EvidenceUnread(words) from error
            (target / digest).unlink()
            lost.append(words)
    return sorted(target.iterdir()), lost


def _fill(folder: Path, frames: RunFrames, asked: AskedExport, lost: Sequence[str]) -> list[Path]:
    """Everything but the raw files into `folder`. `lost`: what is not among those."""
    form = asked.form
    written = list(_WRITERS[form](frames, folder / "tables"))
    summary = summarize(frames)
    texts = {
        "report.html": render_html(summary, frames),
        "report.md": render_markdown(summary),
        "report.json": render_json(summary),
        "report.junit.xml": run_junit(frames),
        "README.txt": _readme(summary, asked, (*frames.unread, *lost)),
    }
    for name, words in texts.items():
        (folder / name).write_text(words, encoding="utf-8")
        written.append(folder / name)
    with (folder / "columns.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(dictionary_rows())
    return [*written, folder / "columns.csv"]


def _sums(folder: Path, written: Sequence[Path]) -> None:
    """The checksums of all that is there."""
    sums = "".join(f"{digest_of_file(path)}  {path.relative_to(folder)}\n" for path in sorted(written))
    (folder / CHECKSUMS).write_text(sums, encoding="utf-8")


def _readme(summary: RunSummary, asked: AskedExport, unread: Sequence[str]) -> str:
    head, form = summary.head, asked.form
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
            *(
                ["evidence/         raw files under their digests, as attempts.evidence names them"]
                if asked.evidence
                else []
            ),
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
