"""Cold starts in a report: never 0, a trace's figure marked, the page cache said, within 80 columns."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
from rich.cells import cell_len

from orchestrator.report.as_json import render_json
from orchestrator.report.cold import ColdStart, cold_start
from orchestrator.report.cold_text import cold_headline, cold_notes, first_inference_words
from orchestrator.report.markdown import render_markdown
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import RunSummary
from orchestrator.report.terminal import render_terminal
from tests.unit.report.report_frames import Made


def start(*below_s: float, traced_s: float | None = None, warm: int = 0) -> ColdStart:
    rows: list[dict[str, Any]] = [
        {"session_creation_s": 0.01, "first_inference_below_s": one, "page_cache": "warm" if at < warm else None}
        for at, one in enumerate(below_s)
    ]
    found = cold_start(rows, () if traced_s is None else (traced_s,))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("cold", "words"),
    [
        (start(0.001, 0.001, 0.001), "<1 ms"),
        (start(0.001, 0.002, 0.002), "1 ms"),
        (start(0.013, 0.013, 0.19), "12 ms"),
        (start(0.001, traced_s=0.000412), "0.412 ms traced"),
        (start(0.001, traced_s=0.0), "<0.001 ms traced"),
    ],
)
def test_a_first_inference_is_never_0(cold: ColdStart, words: str) -> None:
    assert first_inference_words(cold) == words


def test_nothing_told_is_nothing_shown() -> None:
    assert cold_start([], ()) is None
    assert cold_start([{"p50_s": 1.0}], ()) is None


def summary(*, traced: bool = True, nothing: bool = False) -> RunSummary:
    made = Made(rounds=3)
    phone = made.phone("A", "A1", "Galaxy A54 of a long name")
    made.case(phone, "net", "nnapi basic fp16", 4.1)
    made.case(phone, "net", "default", 9.5, rounds=3)
    for attempt in made.attempts:
        if attempt["row"] == "nnapi basic fp16":
            attempt["session_creation_s"] = 0.41
        if nothing:
            attempt.update(dict.fromkeys(("session_creation_s", "first_inference_below_s", "peak_working_set_bytes")))
    frames = made.frames()
    if traced:
        row = {"phone": phone, "case": "case-net-nnapi basic fp16", "first_inference_s": 0.0051234}
        frames.cold_starts = pd.DataFrame([row])
    return summarize(frames)


def test_the_headline_is_the_best_setting_s_and_says_which_starts_sooner() -> None:
    phone = summary().models[0].phones[0]
    assert cold_headline(phone) == (
        "cold start of nnapi basic fp16: session 410.0 ms, first inference 5.123 ms traced, peak 56 MB; "
        "soonest default, session in 29.47 ms"
    )
    (note,) = cold_notes(phone)
    assert note.startswith("page cache warm in 4 of 6 processes, not known in the others; traced: by a process that ")
    assert note.endswith("peak memory: perf_test's own, without drivers")


def test_the_report_has_it_in_80_columns_in_markdown_and_in_json() -> None:
    found = summary()
    shown = render_terminal(found)
    assert max(cell_len(line) for line in shown.splitlines()) <= 80
    assert "5.123 ms traced" in shown
    assert "| nnapi basic fp16 | 410.00 | 5.123 ms traced | 56 MB |" in render_markdown(found)
    rows = json.loads(render_json(found))["models"][0]["phones"][0]["rows"]
    first = {row["row"]: row["cold"] for row in rows}
    assert first["nnapi basic fp16"]["first_inference_traced_s"] == pytest.approx(0.0051234)
    assert first["default"]["first_inference_s"] == pytest.approx(0.018, abs=0.002)
    assert (first["default"]["warm"], first["default"]["n"]) == (2, 3)


def test_a_run_of_which_nothing_is_told_has_no_section() -> None:
    shown = render_terminal(summary(traced=False, nothing=True))
    assert "cold start" not in shown
    assert "page cache" not in shown
