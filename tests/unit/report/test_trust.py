"""Each sentence of "what makes a reader trust a number", looked for in a report as it is printed."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pytest
import report_frames

from orchestrator.report.markdown import render_markdown
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import RunSummary
from orchestrator.report.terminal import render_terminal
from orchestrator.report.trust import FLAT, drift_of

REAL, OTHER, VIRTUAL = "R58N30ABCDE", "6d1f9e0a", "orch-v1"
HOT = ["battery hot: battery at 45.0 °C, limit 37 °C and 3 °C rise"]
FIGURES = [10.0, 10.1, 9.9, 10.05, 9.95, 10.0]


def made(drift: float = 0.0) -> Any:
    """One model on two real phones and a virtual one. On the first the fast setting was rejected wherever it was fast,
    which it was in its first tries; its canary changes by `drift` from one look to the next."""
    lab = report_frames.Made(rounds=6)
    phones = [
        lab.phone(REAL, "B3", "Pixel 8"),
        lab.phone(OTHER, "A1", "Redmi 9"),
        lab.phone(VIRTUAL, "V1", "Pixel 4", virtual=True),
    ]
    for phone in phones:
        lab.case(phone, "net", "default", 10.0, p50s=FIGURES)
        lab.case(phone, "net", "cpu all", 9.99, p50s=FIGURES[::-1])
        lab.case(phone, "net", "default again", 10.0, p50s=[one * 1.007 for one in FIGURES], twin_of="default")
        lab.case(phone, "net", "cpu all 4t", 10.0, p50s=[9.0, 9.02, 8.98, 9.01, 8.99, 9.0])
        lab.case(phone, "net", "cpu basic", 11.0, rounds=2)
    for attempt in lab.attempts:
        attempt |= {"validity": "valid", "validity_reasons": [], "cpuset": "/foreground", "screen_on_after": True}
        attempt |= {"battery_status_after": "Charging"}
    for attempt in [one for one in lab.attempts if one["phone"] == REAL and one["row"] == "cpu all 4t"]:
        again = {**attempt, "attempt": f"{attempt['attempt']}-2", "number": 2, "p50_s": 0.0104}
        attempt |= {"validity": "invalid", "validity_reasons": HOT, "counted": False}
        lab.attempts.append(again)
    for look in range(6):
        common = {"phone": REAL, "purpose": "canary", "round": look + 1, "model": "canary", "row": "canary"}
        lab.attempts.append(
            {**common, "attempt": f"c{look}", "trial": None, "case": "canary", "p50_s": 1e-4 * (1 + drift) ** look,
             "outcome": "measured", "counted": False, "virtual": False}
        )  # fmt: skip
    return lab.frames()


@pytest.fixture(scope="module")
def summary() -> RunSummary:
    return summarize(made())


@pytest.fixture(scope="module")
def text(summary: RunSummary) -> str:
    """The terminal's report on one line, so that no line's end hides a sentence."""
    return " ".join(render_terminal(summary, all_tables=True).split())


@pytest.fixture(scope="module")
def page(summary: RunSummary) -> str:
    return " ".join(render_markdown(summary).split())


def test_the_first_line_is_a_sentence(summary: RunSummary, text: str) -> None:
    assert text.startswith(" ".join(summary.headline.split()))
    assert re.match(r"[a-zA-Z].* on .*\.", summary.headline)


def test_the_difference_of_twins_measured_on_purpose_stands_under_each_table(text: str, page: str) -> None:
    assert text.count("twins (default, default again: same graph) differed by 0.7 %") == 3
    assert page.count("twins (default, default again: same graph) differed by 0.7 %") == 3


def test_each_table_says_what_it_could_tell(text: str) -> None:
    assert len(re.findall(r"resolves \d+\.\d+ % here", text)) == 3


def test_ranks_are_shared_inside_the_interval_and_few_rounds_have_none(summary: RunSummary, text: str) -> None:
    rows = {row.row: row for row in summary.models[0].phones[1].rows}
    assert rows["default"].rank == rows["cpu all"].rank
    assert rows["cpu basic"].rank is None
    assert "2 valid rounds, 3 needed for a rank" in text
    assert "no clear winner" in text


def test_how_it_was_measured_stands_under_the_answers(text: str, page: str) -> None:
    said = (
        "Measured by a shell process in cpuset /foreground, screen on, battery charging; an app in the foreground may"
    )
    assert said in text
    assert said in page


def test_limits_stand_in_the_plan_s_digest_and_that_in_the_report(page: str) -> None:
    assert re.search(r"\| plan \| quick (1f){32} \|", page)


def test_the_answer_with_and_without_rejection_is_shown_where_they_differ(summary: RunSummary, text: str) -> None:
    phones = {phone.phone: phone for phone in summary.models[0].phones}
    trust = phones[REAL].trust
    assert trust is not None
    assert trust.unrejected is not None
    assert trust.unrejected.row == "cpu all 4t"
    best = phones[REAL].best
    assert best is not None
    assert best.row != "cpu all 4t"
    assert "had nothing been rejected, the answer were cpu all 4t 1.11× ±" in text
    other = phones[OTHER].trust
    assert other is not None
    assert other.unrejected is None
    assert text.count("had nothing been rejected") == 1


def test_a_setting_that_is_rejected_more_often_is_a_finding(text: str, page: str) -> None:
    said = (
        "rejected for their vitals: 6 of 26 attempts (6 battery hot): cpu all 4t 6 of 12; a setting that is rejected "
        "more often is hotter"
    )
    assert said in text
    assert said in page
    assert "6 rejected" in text
    assert text.count("none of 20 attempts rejected for its vitals") == 2


def test_the_canary_tells_a_phone_s_drift_from_a_model_s(text: str) -> None:
    assert "canary (a tiny fixed model, 6 looks): flat, 0.00 % slower at the end than at first" in text
    hot = " ".join(render_terminal(summarize(made(drift=0.04)), all_tables=True).split())
    assert re.search(r"6 looks\): 17 % slower at the end than at first, above 3\.?0? %: the phone drifted", hot)


def test_too_few_canaries_tell_nothing_and_a_small_change_is_flat() -> None:
    assert drift_of([{"p50_s": 1.0}, {"p50_s": 2.0}]) is None
    found = drift_of([{"p50_s": one} for one in (1.0, 1.0 + 0.9 * FLAT, 1.0 + 0.9 * FLAT)])
    assert found is not None
    assert found.flat
    assert drift_of([{"p50_s": one} for one in (0.0, 1.0, 1.0)]) is None, "a figure that is none is no look"


def test_percentiles_say_their_definition_and_p99_is_not_told(text: str, page: str) -> None:
    assert "linear interpolations between order statistics (Hyndman and Fan type 7)" in page
    assert "p99" not in text
    assert "p99" not in page


def test_virtual_figures_are_headed_virtual(text: str, page: str) -> None:
    assert "virtual: computed by this computer, says nothing of a phone's speed" in text
    assert "virtual · V1 Pixel 4" in text
    assert "### virtual: V1 Pixel 4" in page


def test_a_report_of_a_ledger_without_judgements_says_nothing_of_them() -> None:
    frames = made()
    bare = frames.attempts.drop(columns=["validity", "validity_reasons", "cpuset"])
    frames.attempts = pd.DataFrame(bare[bare["purpose"] == "time"])
    words = render_terminal(summarize(frames), all_tables=True)
    assert "rejected" not in words
    assert "canary" not in words
