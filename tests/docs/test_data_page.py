"""docs/data.md has every column with its unit, and every form that data leaves in."""

from __future__ import annotations

import os
import re

import orchestrator
from orchestrator.store.dictionary import FRAMES, dictionary_markdown
from orchestrator.store.frames import RunFrames
from tests.forked_orch import ROOT

PAGE = ROOT / "docs" / "data.md"
BEGIN, END = "<!-- made from orchestrator.COLUMNS: begin -->\n", "<!-- end -->\n"


def test_the_column_dictionary_is_that_of_the_program() -> None:
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    made, _, tail = rest.partition(END)
    if os.environ.get("ORCH_BLESS") == "1":
        PAGE.write_text(head + BEGIN + dictionary_markdown() + END + tail, encoding="utf-8")
        return
    assert made == dictionary_markdown(), "ORCH_BLESS=1 writes it anew"


def test_each_column_stands_in_its_frame_with_unit_and_kind() -> None:
    text = PAGE.read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^###|^<!-- end)", text, flags=re.MULTILINE | re.DOTALL))
    assert set(sections) == set(orchestrator.COLUMNS) == set(FRAMES)
    for frame, columns in orchestrator.COLUMNS.items():
        rows = [line.split(" | ") for line in sections[frame].splitlines() if line.startswith("| `")]
        told = {row[0].strip("| `"): (row[1], row[2]) for row in rows}
        assert told == {name: (one.unit, one.kind) for name, one in columns.items()}, frame


def test_each_frame_is_one_of_a_loaded_run() -> None:
    for name, words in FRAMES.items():
        assert (getattr(RunFrames, name).__doc__ or "").split()[:3] == words.split()[:3], name


def test_each_format_of_the_report_is_named() -> None:
    from typing import get_args

    from orchestrator.cli.reports import Format

    text = PAGE.read_text(encoding="utf-8")
    assert [
        name for name in get_args(Format) if name != "text" and f"`{name}`" not in text and f" {name}`" not in text
    ] == []
