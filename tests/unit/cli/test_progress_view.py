"""The live view's lines: the columns of a terminal of 80, and no more of them than there are rows."""

from __future__ import annotations

import io
import sys

import pytest
from rich.cells import cell_len

from orchestrator.cli.progress import Progress, view_lines
from orchestrator.report.progress import LaneProgress, RunProgress, lane_lines
from tests.unit.store import sample_run

LANES = (
    LaneProgress(
        name="B3 Pixel 8", done=24, total=35, what="nnapi basic fp16", round=4, battery_c=33.1, clock_ghz=1.8,
        left_s=70.0,
    ),
    LaneProgress(name="A1 Redmi 9 «模型» of a long name", done=5, total=35, what="", state="lost"),
)  # fmt: skip


def test_the_lanes_stand_in_columns() -> None:
    assert lane_lines(LANES, width=80) == [
        "B3 Pixel 8         24/35 nnapi basic fp16         r4 33.1 °C 1.8 GHz ok     1:10",
        "A1 Redmi 9 «模型»…  5/35                                   –       – lost",
    ]


@pytest.mark.parametrize(("rows", "shown", "more"), [(27, 20, ""), (10, 4, "and 16 more phones"), (3, 0, "and 20 ")])
def test_no_more_phones_than_there_are_rows(rows: int, shown: int, more: str) -> None:
    view = RunProgress(plan_name="quick", done=1, total=9, left_s=None, lanes=LANES * 10)
    lines = view_lines(view, 60, rows)
    assert len(lines) < rows
    assert len(lines) == 1 + shown + bool(more)
    assert lines[-1].startswith(more)
    assert all(cell_len(line) < 60 for line in lines)


def test_without_a_terminal_lines_are_plain_and_few(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    progress = Progress()
    progress.begin(sample_run.contents())
    progress.begun([])
    for _ in range(50):
        progress.idle()
    progress.staged("B3", 0)
    progress.staged("B3", 2_500_000)
    progress.phone_gone(sample_run.PHONES[0], "cable\x1b[2J\npulled")
    progress.end()
    assert said.getvalue().splitlines() == [
        "quick  12/12  0:00 left",
        "staged 2.5 MB on B3",
        "R58N30ABCDE is lost: cable\\x1b[2J\\npulled",
        "staged 2500000 bytes in all",
    ]
