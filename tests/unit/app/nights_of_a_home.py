"""A home as many nights leave it: runs, attempts with raw files, reports, built variants; made without a phone."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from orchestrator.home import Home
from orchestrator.outcome import Measured
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import RunState
from tests.unit.store import sample_run as sample

FIRST = sample.START
PHONE = sample.PHONES[0]
CASES = sample.CASES[:2]
RAW_BYTES = 60_000
EMPTY = b""
"""What every attempt leaves alike: its stderr."""


def run_of(night: int) -> str:
    return f"night-{night:04d}"


def variant_of(night: int) -> str:
    return f"{night:064x}"


def moment_of(night: int) -> datetime:
    return FIRST + timedelta(days=night)


def add_night(home: Home, ledger: Ledger, night: int, *, shared: bytes = EMPTY) -> dict[str, str]:
    """One run of two cases on one phone, each with one attempt; its raw files by case. As old as its night."""
    rng, store, at = random.Random(night), EvidenceStore(home.root), moment_of(night)
    contents = sample.contents(run_of(night), rounds=1, created_at=at)
    cases = tuple(replace(one, variant_id=variant_of(night)) for one in CASES)
    trials = tuple(
        replace(trial, case_id=case.case_id)
        for trial, case in zip(contents.trials, cases, strict=False)
        if trial.phone == PHONE
    )
    ledger.add_run(
        replace(
            contents, phones=contents.phones[:1], cases=cases, trials=trials, dropped=(), variants=contents.variants
        )
    )
    raw = {case.case_id: store.keep_bytes(rng.randbytes(RAW_BYTES)) for case in cases}
    same = store.keep_bytes(shared)
    ledger.record_attempts(
        [
            sample.attempt(
                trial, f"{run_of(night)}-{n}", Measured(figures=sample.figures()), run_of(night),
                recorded_at=at, evidence={"result.csv": raw[trial.case_id], "stderr": same},
            )
            for n, trial in enumerate(trials)
        ]
    )  # fmt: skip
    ledger.set_run_state(run_of(night), RunState.FINISHED, at + timedelta(minutes=5))
    report = home.run_folder(run_of(night)) / "report.html"
    report.parent.mkdir()
    report.write_bytes(rng.randbytes(2000))
    built = home.shelf / "variants" / variant_of(night) / "files" / "model.ort"
    built.parent.mkdir(parents=True)
    built.write_bytes(rng.randbytes(9000))
    for path in (*(store.path(one) for one in (*raw.values(), same)), built.parent.parent):
        age(path, at)
    return raw


def age(path: Path, at: datetime) -> None:
    """Make a file as old as a moment."""
    os.utime(path, (at.timestamp(), at.timestamp()))
