"""The ledger that the history row of the speed table is measured on: every night of it is as the program has them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from benchmarks.history import NIGHTLY, fill
from orchestrator.home import LEDGER_FILE
from orchestrator.nights.nouns import SeriesKey
from orchestrator.store.history import case_history
from orchestrator.store.ledger import Ledger


def test_every_copied_night_is_history_with_its_own_figures(tmp_path: Path) -> None:
    nights = fill(tmp_path, attempts=1000, rounds=1)
    assert nights == 4
    key = SeriesKey("SERIAL0003", "model 1", "all", "cpu 3")
    ledger = Ledger.open(tmp_path)
    found = case_history(ledger, key, nightly=NIGHTLY)
    ledger.close()
    assert [one.night for one in found] == ["00000", "00001", "00002", "00003"]
    assert len({one.rounds_s for one in found}) == nights
    assert all(one.circumstances.canary_p50_s and one.circumstances.warmest_c == 31.0 for one in found)
    bare = sqlite3.connect(tmp_path / LEDGER_FILE)
    asked = "SELECT p50_s FROM attempt JOIN trial USING (attempt_id) WHERE trial.phone = ? AND trial.case_id = ?"
    case_id = bare.execute("SELECT case_id FROM run_case WHERE model_name = ? AND row_name = ?", ("model 1", "cpu 3"))
    direct = bare.execute(f"{asked} ORDER BY trial.run_id", (key.phone, case_id.fetchone()[0])).fetchall()
    assert [(one.rounds_s[0],) for one in found] == direct
    assert bare.execute("SELECT count(*) FROM attempt").fetchone() == (1000,)
    bare.close()
