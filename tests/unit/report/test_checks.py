"""What a case computes on a phone, in its row: shown in decibels, wrong ones and the phone's reference never win."""

from __future__ import annotations

import pandas as pd

from orchestrator.report.markdown import render_markdown
from orchestrator.report.stats import Sureness
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import PhoneAnswer, RunSummary
from orchestrator.report.terminal import render_terminal
from tests.unit.report.report_frames import Made

PHONE, MODEL = "s0", "m"


def check(row: str, error_db: float | None = None, **more: object) -> dict[str, object]:
    allowed = 13.4 if "fp16" in row else 40.0
    return {
        "phone": PHONE, "model": MODEL, "case": f"case-{MODEL}-{row}", "row": row, "output": "y", "checked": True,
        "why": None, "difference": "differs", "error_db": error_db, "tolerance_db": allowed,
        "within": error_db is not None and error_db >= allowed, "reference": "cpu_only" in row, **more,
    }  # fmt: skip


def run(*checks: dict[str, object], rows: tuple[tuple[str, float], ...] = ()) -> RunSummary:
    made = Made()
    made.phone(PHONE, PHONE, "Pixel 8")
    for row, ms in rows or (("default", 10.0), ("nnapi basic fp16", 2.0), ("nnapi basic", 4.0)):
        made.case(PHONE, MODEL, row, ms)
    frames = made.frames()
    frames.checks = pd.DataFrame(checks)
    return summarize(frames)


def answer(summary: RunSummary) -> PhoneAnswer:
    return summary.models[0].phones[0]


def ranks(found: PhoneAnswer) -> dict[str, int | None]:
    return {row.row: row.rank for row in found.rows}


def test_without_checks_nothing_is_said_of_them() -> None:
    summary = run()
    assert all(row.check is None for row in answer(summary).rows)
    assert "error" not in render_terminal(summary)
    assert "computes" not in render_markdown(summary)


def test_an_error_within_tolerance_stands_beside_the_figure() -> None:
    summary = run(
        check("default", 66.1),
        check("nnapi basic fp16", 31.4),
        check("nnapi basic", None, difference="equal", within=True),
    )
    found = answer(summary)
    assert ranks(found) == {"nnapi basic fp16": 1, "nnapi basic": 2, "default": 3}
    text = render_terminal(summary)
    assert "31 dB" in text
    assert "equal" in text
    assert "factor of ten" in " ".join(text.split())
    assert "31 dB below the signal" in render_markdown(summary)


def test_what_is_out_of_tolerance_on_the_phone_never_wins() -> None:
    summary = run(check("default", 66.1), check("nnapi basic fp16", 13.2), check("nnapi basic", 55.0))
    found = answer(summary)
    assert found.best is not None
    assert (found.best.row, found.verdict.sureness) == ("nnapi basic", Sureness.SURE)
    wrong = next(row for row in found.rows if row.row == "nnapi basic fp16")
    assert (wrong.rank, wrong.n) == (None, 5)
    assert wrong.reason == "wrong on this phone: 13 dB below the signal, 13.4 dB asked"
    assert wrong.reason in render_terminal(summary)
    assert "13.4 dB asked" in render_markdown(summary)


def test_what_is_not_finite_or_of_another_shape_is_wrong() -> None:
    for difference in ("not finite", "other shape"):
        found = answer(
            run(check("default", 66.1), check("nnapi basic fp16", None, difference=difference, within=False))
        )
        assert ranks(found)["nnapi basic fp16"] is None
        assert any(difference in row.reason for row in found.rows)


def test_cpu_only_is_shown_and_not_ranked() -> None:
    rows = (("default", 10.0), ("nnapi basic cpu_only", 2.0), ("nnapi basic", 4.0))
    found = answer(
        run(check("default", 66.1), check("nnapi basic cpu_only", 66.1), check("nnapi basic", 66.1), rows=rows)
    )
    assert ranks(found) == {"nnapi basic": 1, "default": 2, "nnapi basic cpu_only": None}
    reference = next(row for row in found.rows if row.row == "nnapi basic cpu_only")
    assert reference.reason == "cpu_only is the phone's own reference: shown, not ranked"
    assert reference.check is not None
    assert reference.check.short == "66 dB"


def test_what_nobody_knows_is_said_and_costs_no_rank() -> None:
    why = "with a tail NNAPI has 2 partitions, the case 1"
    summary = run(
        check("default", 66.1),
        check("nnapi basic fp16", None, checked=False, why=why, within=None, difference=None),
        check("nnapi basic", 50.0),
    )
    found = answer(summary)
    assert ranks(found) == {"nnapi basic fp16": 1, "nnapi basic": 2, "default": 3}
    text = " ".join(render_terminal(summary).split())
    assert f"not checked: {why}" in text
    assert f"not checked: {why}" in render_markdown(summary)


def test_of_several_outputs_the_one_furthest_off_its_tolerance_counts() -> None:
    summary = run(
        check("default", 66.1),
        check("nnapi basic", 90.0, output="boxes"),
        check("nnapi basic", 12.0, output="classes"),
        check("nnapi basic", None, output="names", checked=False, why="holds no numbers", within=None),
    )
    row = next(row for row in answer(summary).rows if row.row == "nnapi basic")
    assert row.reason == "wrong on this phone: output classes: 12 dB below the signal, 40 dB asked"
    assert row.check is not None
    assert (row.check.short, row.check.unknown) == ("12 dB", "not checked: holds no numbers")


def test_a_wrong_default_is_no_baseline() -> None:
    found = answer(run(check("default", -3.0)))
    assert found.baseline == ""
    assert any("3 dB above the signal" in row.reason for row in found.rows if row.row == "default")
