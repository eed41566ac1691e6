"""What must hold of a home after a soak; each check gives sentences on what does not."""

from __future__ import annotations

import gzip
import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pandas as pd

from android_runner.block import ORCH_DIR
from orchestrator.home import LEDGER_FILE
from orchestrator.outcome import Measured
from orchestrator.plan.case import UNPLANNED
from orchestrator.store.columns import COLUMNS
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.frames import RunFrames
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import RunState
from orchestrator.store.vitals_columns import AROUND
from tests.soak.lab import Lab

OWN_TO_A_RUN = frozenset(
    {"run", "trial", "attempt", "counted_attempt", "block", "epoch", "recorded_at", "evidence", "number", "adopted"}
)
"""Columns that name this very run, say when and as the how-manieth try something was stored, or by whom."""
FIGURES = frozenset(AROUND) | {
    "page_cache",
    "residency_loss",
    "validity",
    "validity_reasons",
    "gate_outcome",
    "gate_cause",
}
"""What was read off the phone around an attempt and may have no unit (some faults change a
fingerprint for a while, which the row then tells), and what is judged of that alone."""
OVERLAP_S = 0.05
MAY_FAIL = frozenset({"lab", "us", "runtime"})
"""Who may be to blame in a story of bad phones and links; models and plans are the same as without faults."""


def check_ledger(home: Path) -> Iterator[str]:
    """Sums, attempts that count, times on a phone, and the evidence of every run."""
    ledger = Ledger.open(home)
    try:
        for summary in ledger.runs():
            run_id = summary.run.run_id
            if summary.state is not RunState.FINISHED:
                yield f"{run_id}: is {summary.state.value}"
            if summary.planned != summary.measured + summary.failed + summary.skipped:
                yield f"{run_id}: {summary.counts}: the sum is wrong"
            for block in ledger.open_blocks(run_id):
                yield f"{run_id}: block {block.block_id} is still open"
            yield from _counted(ledger, run_id)
            yield from _spans(ledger, run_id)
            yield from _blamed(ledger, run_id)
    finally:
        ledger.close()


def _counted(ledger: Ledger, run_id: str) -> Iterator[str]:
    attempts = {one.attempt_id: one for one in ledger.attempts(run_id)}
    rows = ledger.trials(run_id)
    for row in rows:
        counted = attempts.get(row.attempt_id or "")
        if (row.state == "measured") != (counted is not None):
            yield f"{row.trial_id}: is {row.state}, and counts attempt {row.attempt_id}"
        elif counted is not None and (counted.trial_id != row.trial_id or not isinstance(counted.outcome, Measured)):
            yield f"{row.trial_id}: counts an attempt that is not its own or did not measure"
    names = [row.attempt_id for row in rows if row.attempt_id is not None]
    if len(set(names)) != len(names):
        yield f"{run_id}: an attempt counts twice"


def _spans(ledger: Ledger, run_id: str) -> Iterator[str]:
    """Virtual phones share a clock: on one phone no process may begin before the one before has ended."""
    spans: dict[str, list[tuple[float, float, str]]] = {}
    for one in ledger.attempts(run_id):
        if one.started_uptime_s is not None and one.ended_uptime_s is not None:
            spans.setdefault(one.phone, []).append((one.started_uptime_s, one.ended_uptime_s, one.attempt_id))
    for phone, all_of_it in spans.items():
        for before, after in pairwise(sorted(all_of_it)):
            if after[0] < before[1] - OVERLAP_S:
                yield f"{phone}: attempts {before[2]} and {after[2]} ran at once: {before[:2]}, {after[:2]}"


def _blamed(ledger: Ledger, run_id: str) -> Iterator[str]:
    for one in ledger.attempts(run_id):
        blame = getattr(one.outcome, "blame", None)
        if blame is not None and blame.value not in MAY_FAIL:
            yield f"{one.attempt_id} on {one.phone}: {blame.value} is blamed: {one.outcome}"
    for row in ledger.trials(run_id):
        blame = getattr(row.outcome, "blame", None)
        if blame is not None and blame.value not in MAY_FAIL:
            yield f"{row.trial_id}: {blame.value} is blamed: {row.outcome}"


def measured_twice(home: Path) -> int:
    """Attempts that measured a trial that another attempt counts for: lost time, and nothing worse."""
    ledger = Ledger.open(home)
    try:
        total = 0
        for summary in ledger.runs():
            good = Counter(
                one.trial_id
                for one in ledger.attempts(summary.run.run_id)
                if one.purpose not in UNPLANNED and isinstance(one.outcome, Measured) and not one.rejected
            )
            total += sum(count - 1 for count in good.values())
        return total
    finally:
        ledger.close()


def check_evidence(home: Path) -> Iterator[str]:
    """Every file under its own digest, nothing torn, and every digest that a row names is there."""
    store = EvidenceStore(home)
    for path in sorted(store.directory.rglob("*")):
        if path.is_dir():
            continue
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if hashlib.sha256(data).hexdigest() != path.name.removesuffix(".gz"):
            yield f"evidence {path.relative_to(home)}: another digest than its name"
    ledger = Ledger.open(home)
    try:
        for summary in ledger.runs():
            for one in ledger.attempts(summary.run.run_id):
                for name, sha256 in one.evidence.items():
                    if hashlib.sha256(store.read(sha256)).hexdigest() != sha256:
                        yield f"{one.attempt_id}: {name}: another digest than its row says"
                if isinstance(one.outcome, Measured) and "stdout" not in one.evidence:
                    yield f"{one.attempt_id}: measured, and its stdout was not kept"
    finally:
        ledger.close()


def check_home(home: Path) -> Iterator[str]:
    """Nothing half-written lies in the home."""
    for path in sorted(home.glob(".collect-*")):
        yield f"{path.name}: left in the home, with {sum(1 for one in path.rglob('*') if one.is_file())} files"
    for escaped in home.parent.rglob("escaped*"):
        yield f"{escaped}: a hostile name became a file"


def check_phones(lab: Lab) -> Iterator[str]:
    """Nothing of ours runs on a phone, and nothing lies there but what is kept for the next run."""
    for serialno in lab.serialnos:
        for word in ("run_block.sh", "onnxruntime_perf_test"):
            for pid in lab.processes_on(serialno, word):
                yield f"{serialno}: process {pid} of {word} is left"
        ours = Path(f"{lab.places.phone(serialno)}/root{ORCH_DIR}")
        for path in sorted((ours / "blocks").glob("*")):
            yield f"{serialno}: folder {path.name} is left"
        for path in ours.rglob("*"):
            if ".part" in path.name or ".tmp" in path.name:
                yield f"{serialno}: {path.relative_to(ours)}: a half of a push is left"
        for path in ours.parent.iterdir():
            if path.name != ours.name:
                yield f"{serialno}: {path.name}: beside our folder"


def check_like(home: Path, run_id: str, reference_home: Path, reference: str, *, whole: bool) -> Iterator[str]:
    """(trial, outcome) and each field that is no figure are those of a fault-free run, but for rows that say why.

    `whole`: all its trials were planned here, none was left out with its phone.
    """
    ours, theirs = _frames(home, run_id), _frames(reference_home, reference)
    key = ["phone", "case", "purpose", "round"]
    for frame in ("trials", "attempts"):
        mine, other = (_comparable(each[frame], frame) for each in (ours, theirs))
        mine, other = mine.set_index(key).sort_index(), other.set_index(key).sort_index()
        missing, more = set(other.index) - set(mine.index), set(mine.index) - set(other.index)
        if frame == "trials" and (more or (missing and whole)):
            yield f"{run_id}: other trials than without faults"
        state = "state" if frame == "trials" else "outcome"
        for name in mine.index.intersection(other.index):
            one, there = mine.loc[name], other.loc[name]
            if one[state] != "measured":
                if frame == "trials" and pd.isna(one["reason"]) and (pd.isna(one["message"]) or not one["message"]):
                    yield f"{run_id}: {frame} {name}: is {one[state]} and does not say why"
                continue
            for column in mine.columns:
                if str(one[column]) != str(there[column]):
                    yield f"{run_id}: {frame} {name}: {column} is {one[column]!r}, without faults {there[column]!r}"


def _comparable(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    figures = {column for column, meaning in COLUMNS[name].items() if meaning.unit}
    kept = frame.drop(columns=[one for one in frame.columns if one in figures | OWN_TO_A_RUN | FIGURES])
    if name == "attempts":
        kept = kept[frame["counted"].astype(bool)]
    return kept


def _frames(home: Path, run_id: str) -> dict[str, pd.DataFrame]:
    ledger = Ledger.open(home)
    try:
        frames = RunFrames(ledger, EvidenceStore(home), run_id)
        return {"trials": frames.trials, "attempts": frames.attempts}
    finally:
        ledger.close()


def in_quarantine(home: Path) -> list[str]:
    """The phones that runs leave out until a person says that they are mended."""
    with sqlite3.connect(f"file:{home / LEDGER_FILE}?mode=ro", uri=True) as connection:
        return [name for (name,) in connection.execute("SELECT phone FROM phone WHERE quarantine IS NOT NULL")]


def rows_of(home: Path) -> dict[str, list[tuple[object, ...]]]:
    """The whole ledger, to see whether anything changed."""
    with sqlite3.connect(f"file:{home / LEDGER_FILE}?mode=ro", uri=True) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: sorted(connection.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr) for name in tables}
