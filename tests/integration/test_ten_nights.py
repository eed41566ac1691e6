"""Ten nights on virtual phones: a step of 8 % that comes late, one that comes too early, a phone that dies."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.nightly.judging import judged_in
from orchestrator.nights.nouns import Verdict
from orchestrator.store.ledger import Ledger
from tests.nightly_lab import PHONES, SLOTS, NightlyLab
from tests.orch_cli import Ended, Orch

USUAL, SLOWER = 1000, 1080
TWO = "cpu onnx 2t"


@pytest.fixture
def nightly(orch: Orch, mnist: Path) -> NightlyLab:
    return NightlyLab(orch, mnist)


def run_night(lab: NightlyLab, night: int) -> Ended:
    return lab.orch("nightly", "run", "lab", "--date", f"2026-03-{night:02d}", *SLOTS)


def runs(home: Path) -> list[tuple[str, list[str]]]:
    """Each run with its tags, in their order, straight from the ledger."""
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        rows = ledger.execute("select run_id, tags from run order by created_at").fetchall()
    return [(name, json.loads(tags)) for name, tags in rows]


def words_on(home: Path, night: int) -> dict[str, Any]:
    """The judgements after a night, by row; both phones say the same."""
    ledger = Ledger.open(home)
    try:
        judged = judged_in(ledger, "lab", f"2026-03-{night:02d}")
    finally:
        ledger.close()
    found = {one.key.row_name: one for one in judged}
    assert {(one.key.phone, one.key.row_name) for one in judged} == {(phone, row) for phone in PHONES for row in found}
    assert all(one.verdict is found[one.key.row_name].verdict for one in judged)
    return found


@pytest.mark.timeout(240)
def test_a_step_on_the_ninth_night_and_one_on_the_third(orch: Orch, nightly: NightlyLab) -> None:
    """The default's figures step up on the ninth night, those with two threads on the third."""
    nightly.plan(2)
    for night in range(1, 11):
        nightly.level(SLOWER if night >= 9 else USUAL, SLOWER if night >= 3 else USUAL)
        ended = run_night(nightly, night)
        assert ended.code == (1 if night >= 9 else 0), f"night {night}: {ended}"
        if night == 3:
            assert words_on(orch.home, 3)[TWO].verdict is Verdict.INSUFFICIENT
    every = runs(orch.home)
    assert len(every) == 11, "what was slow on the ninth night is asked again, once; on the tenth it is known"
    own, again = every[8:10]
    assert own[1] == ["nightly=lab", "night=2026-03-09"]
    assert again[1] == ["nightly=lab", "night=2026-03-09", f"confirms={own[0]}"]
    with sqlite3.connect(orch.home / "ledger.sqlite") as ledger:
        asked = ledger.execute("select distinct row_name from run_case where run_id = ?", (again[0],)).fetchall()
    assert asked == [("default",)], "nothing else is asked again"
    ninth, tenth = (words_on(orch.home, night)["default"] for night in (9, 10))
    assert (ninth.verdict, ninth.reason) == (Verdict.REGRESSED, "asked again, it was slow again")
    assert ninth.change == pytest.approx(1.08, abs=0.006)
    assert (tenth.verdict, tenth.reason) == (Verdict.REGRESSED, "since 2026-03-09")
    assert words_on(orch.home, 10)[TWO].verdict is Verdict.SAME
