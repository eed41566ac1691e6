"""Alerts kept and read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.nights.alerts import Alert, AlertKind
from orchestrator.store.ledger import Ledger

pytestmark = pytest.mark.usefixtures("each_database")

ALERT = Alert(
    nightly="lab", cause="binary: 1 → 2", kind=AlertKind.REGRESSION, words="B3 net 8 % slower", members=("a", "b"),
    ever=("a", "b"), opened_night="2026-04-09", last_night="2026-04-09",
)  # fmt: skip


def test_the_last_word_on_an_alert_holds_and_a_closed_one_is_seen_by_its_nights(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    book = ledger.alerts
    book.write([ALERT, replace(ALERT, nightly="other")])
    assert book.standing("lab") == (ALERT,)
    closed = replace(ALERT, members=(), closed_night="2026-04-11", why="fast again", nights=2)
    later = replace(ALERT, opened_night="2026-04-12", last_night="2026-04-12")
    book.write([closed, later])
    assert book.standing("lab") == (later,)
    assert book.all() == (closed, replace(ALERT, nightly="other"), later)
    assert book.on("lab", "2026-04-08") == ()
    assert book.on("lab", "2026-04-11") == (closed,)
    assert book.on("lab", "2026-04-12") == (later,)
    ledger.close()
