"""A run through the real CLI with each dialect of the stand-in: calibrated, timed, traced, reported."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.orch_cli import Orch


def binaries_asked(home: Path) -> list[str]:
    """The dialects of the binaries that phones were asked about, straight from the ledger."""
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        rows = ledger.execute("select json_extract(record, '$.dialect') from capabilities").fetchall()
    return [row[0] for row in rows]


@pytest.mark.parametrize("dialect", ["old", "new"])
def test_a_run_in_a_dialect_ends_measured(dialect: str, orch: Orch, mnist: Path) -> None:
    ended = orch(
        "run", mnist, "--device", "virtual:pixel-8", "--dialect", dialect, "--rounds", "1",
        "--seconds", "0.1", "--trace",
    )  # fmt: skip
    assert ended.code == 0, ended
    counts = orch.counts()
    assert counts["measured"] == counts["planned"] > 0
    assert binaries_asked(orch.home) == [dialect]


def test_a_dialect_that_is_none(orch: Orch, mnist: Path) -> None:
    ended = orch("plan", mnist, "--device", "virtual:pixel-8", "--dialect", "newer")
    assert ended.code == 2, ended
    assert "new" in ended.err
