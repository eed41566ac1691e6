"""Who goes by a number keeps its raw files; who reads what was cleaned is told so, and never that it is damaged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import orchestrator
from orchestrator.app.clean_plan import AskedCleaning
from orchestrator.app.cleaning import clean
from orchestrator.app.contrasting import compare_runs
from orchestrator.app.exporting import AskedExport, export_run
from orchestrator.app.showing import show_text
from orchestrator.app.tracing import write_merged_trace
from orchestrator.errors import StoreError
from orchestrator.home import Home
from orchestrator.report.comparison.compare import AskedComparison
from orchestrator.report.comparison.gates import parse_gate
from orchestrator.report.summarize import summarize
from orchestrator.report.terminal import render_terminal
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.kept_numbers import Number, Use
from orchestrator.store.ledger import Ledger
from tests.unit.app.nights_of_a_home import CASES, PHONE, add_night, run_of
from tests.unit.store import sample_run as sample
from tests.unit.store.sample_home import make_home

CLEANED_AT = datetime(2026, 8, 1, 4, tzinfo=UTC)
WORDS = "raw files cleaned on 2026-08-01"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with one run of every sort of attempt, whose raw files were cleaned."""
    home = Home(make_home(tmp_path / "home"))
    ledger = Ledger.open(home.root)
    asked = AskedCleaning(older=timedelta(days=90))
    done = clean(home, ledger, asked, now=CLEANED_AT, settled_s=-60.0)  # what was made this moment is old enough
    ledger.close()
    assert done.evidence_files >= 8
    return home


def test_a_report_says_what_was_cleaned_and_when(home: Home) -> None:
    frames = orchestrator.load("@last", home=home.root, lenient=True)
    summary = summarize(frames)
    assert any(one.startswith(f"{WORDS}: of ") for one in summary.unread), summary.unread
    assert not [one for one in summary.unread if "damaged" in one or "missing" in one]
    assert len(summary.unread) <= 3, "one sentence for all attempts"
    text = render_terminal(summary)
    assert f"made without: {WORDS}" in text
    assert "damaged" not in text
    assert len(frames.attempts) == 10, "rows stay"
    shown = show_text(home, "@last/B3/1", as_json=False)
    assert WORDS in shown
    assert "damaged" not in shown


def test_who_wants_all_or_nothing_is_told_the_day(home: Home, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=WORDS):
        export_run(home, "@last", tmp_path / "out", AskedExport())
    with pytest.raises(StoreError, match=WORDS):
        write_merged_trace(home, "@last", tmp_path / "trace.json")
    _, left_out = export_run(home, "@last", tmp_path / "out", AskedExport(evidence=True, lenient=True))
    assert any(WORDS in one for one in left_out)


def test_a_file_that_is_really_lost_is_still_missing(tmp_path: Path) -> None:
    home = Home(make_home(tmp_path / "home"))
    store = EvidenceStore(home.root)
    frames = orchestrator.load("@last", home=home.root)
    digest = next(one["result.csv"] for one in frames.attempts["evidence"] if "result.csv" in one)
    store.path(digest).unlink()
    with pytest.raises(StoreError, match="is missing"):
        _ = frames.iterations


def kept(home: Home) -> dict[str, set[Number]]:
    ledger = Ledger.open(home.root)
    found: dict[str, set[Number]] = {}
    for one in ledger.kept.all():
        found.setdefault(one.why.value, set()).add(one.number)
    ledger.close()
    return found


def test_what_is_compared_gated_and_exported_is_kept(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    ledger = Ledger.open(home.root)
    raw = [add_night(home, ledger, night) for night in range(2)]
    ledger.close()
    numbers = {Number(run_of(night), PHONE, case_id) for night in range(2) for case_id in raw[night]}
    compare_runs(home, run_of(0), run_of(1), AskedComparison())
    assert kept(home) == {"compared": numbers}
    row = f"{run_of(1)}/{sample.contents().phones[0].label}/{CASES[0].row}"
    compare_runs(home, f"{run_of(0)}/B3/{CASES[0].row}", row, AskedComparison(gates=(parse_gate("p50:5%"),)))
    assert len(kept(home)["gated"]) == 2
    export_run(home, run_of(1), tmp_path / "out", AskedExport(lenient=True))
    assert kept(home)["exported"] == {Number(run_of(1))}
    compare_runs(home, run_of(0), run_of(1), AskedComparison())
    ledger = Ledger.open(home.root)
    assert len(ledger.kept.all()) == 7, "the same again is not written twice"
    assert ledger.kept.keep([Number("a run that is none")], Use.ALERTED, "x") == 0
    ledger.close()
