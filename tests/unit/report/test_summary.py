import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_frames import Made, lab

from orchestrator.report.numbers import clock, decimals_for, ms, percent, ratio, size, span
from orchestrator.report.show import parse_target, show
from orchestrator.report.stats import Sureness
from orchestrator.report.summarize import summarize
from orchestrator.report.tally import counts_of
from orchestrator.report.terminal import render_terminal
from orchestrator.report.variants_text import changes

REFUSED = dict.fromkeys(range(1, 6), ("model_refused", "Fatal error: Softmax is not a registered function"))


def one_phone(**phone):
    made = Made()
    made.phone("s0", "B3", "Pixel 8", **phone)
    return made


def answer(made):
    return summarize(made.frames()).models[0].phones[0]


def test_a_faster_setting_is_said_in_a_sentence():
    made = one_phone()
    made.case("s0", "m", "default", 10.0, p50s=[10.0, 10.1, 9.9, 10.0, 10.0])
    made.case("s0", "m", "cpu all", 5.0, p50s=[5.0] * 5)
    assert summarize(made.frames()).headline == "m: cpu all is 2.00× as fast as the default on B3 Pixel 8."


def test_virtual_phones_are_never_in_a_clause_with_real_ones():
    made = one_phone()
    made.phone("v0", "V1", "Pixel 4", virtual=True)
    for phone in ("s0", "v0"):
        made.case(phone, "m", "default", 10.0)
        made.case(phone, "m", "cpu all", 5.0)
    summary = summarize(made.frames())
    real, virtual = summary.headline.split("; ")
    assert "V1" not in real
    assert virtual.startswith("on virtual phones")
    text = render_terminal(summary, all_tables=True)
    assert text.index("B3 Pixel 8  ") < text.index("virtual: computed by") < text.index("V1 Pixel 4  ")
    assert "virtual · V1 Pixel 4" in text


def test_what_only_virtual_phones_measured_says_so_first():
    made = one_phone(virtual=True)
    made.case("s0", "m", "default", 10.0)
    made.case("s0", "m", "cpu all", 5.0)
    assert summarize(made.frames()).headline.startswith("m: on virtual phones")
    assert "an app in the foreground" not in render_terminal(summarize(made.frames()))


OFF = {"verdict": "out of tolerance", "verdict_reason": "output y is off by 0.011 of its largest value, …"}


def test_what_is_out_of_tolerance_is_measured_and_never_wins():
    made = one_phone()
    made.case("s0", "m", "default", 10.0)
    made.case("s0", "m", "cpu all", 2.0)
    made.case("s0", "m", "cpu basic", 8.0)
    made.variant("m", "all", "g1", 1000, {"Conv": 1}, {"Conv": 1}, **OFF)
    made.variant("m", "basic", "g2", 1000, {"Conv": 1}, {"Conv": 1}, verdict="within")
    found = answer(made)
    assert (found.best.row, found.verdict.sureness) == ("cpu basic", Sureness.SURE)
    wrong = next(row for row in found.rows if row.row == "cpu all")
    assert (wrong.rank, wrong.n) == (None, 5)
    assert wrong.p50_s == pytest.approx(0.002, rel=0.1)
    assert wrong.reason == f"out of tolerance: {OFF['verdict_reason']}"
    text = render_terminal(summarize(made.frames()), all_tables=True)
    assert "  –   cpu all " in text
    assert text.count("out of tolerance") == 2  # at the row, and in the table of variants


def test_where_all_but_one_are_out_of_tolerance_there_is_no_answer():
    made = one_phone()
    made.case("s0", "m", "default", 10.0)
    made.case("s0", "m", "cpu all", 2.0)
    made.variant("m", "all", "g1", 1000, {"Conv": 1}, {"Conv": 1}, **OFF)
    found = answer(made)
    assert found.verdict.sureness is Sureness.NO_ANSWER
    assert found.verdict.reason == "1 setting out of tolerance, 1 left"


def test_what_is_out_of_tolerance_stands_in_for_no_default():
    made = one_phone()
    made.case("s0", "m", "cpu all", 2.0)
    made.case("s0", "m", "cpu basic", 8.0)
    made.case("s0", "m", "cpu basic 2t", 4.0)
    made.variant("m", "all", "g1", 1000, {"Conv": 1}, {"Conv": 1}, **OFF)
    found = answer(made)
    assert found.baseline == "cpu basic"
    assert found.best.row == "cpu basic 2t"


def test_two_valid_rounds_have_no_rank_however_fast():
    made = one_phone()
    made.case("s0", "m", "default", 10.0)
    made.case("s0", "m", "cpu all", 8.0)
    made.case("s0", "m", "cpu basic", 1.0, fails=dict.fromkeys((1, 2, 3), ("crashed", "signal 11")))
    found = answer(made)
    assert found.best.row == "cpu all"
    fast = found.rows[2]
    assert (fast.row, fast.rank, fast.n, fast.marks) == ("cpu basic", None, 2, ("3 crashed",))
    assert fast.reason == "2 valid rounds, 3 needed for a rank"


def test_one_round_for_all_is_no_answer():
    made = Made(rounds=1)
    made.phone("s0", "B3", "Pixel 8")
    made.case("s0", "m", "default", 10.0)
    made.case("s0", "m", "cpu all", 5.0)
    found = answer(made)
    assert (found.verdict.sureness, found.verdict.reason) == (Sureness.NO_ANSWER, "1 round measured, 3 needed")
    assert found.best is None
    assert [row.rank for row in found.rows] == [None, None]


def test_a_tie_with_the_default_is_no_clear_winner():
    made = one_phone()
    made.case("s0", "m", "default", 10.0, p50s=[10.0, 10.2, 9.9, 10.1, 10.0])
    made.case("s0", "m", "cpu all", 10.0, p50s=[9.9, 10.3, 9.8, 10.0, 10.1])
    found = answer(made)
    assert (found.verdict.sureness, found.verdict.ties) == (Sureness.TIE, 1)
    assert "no clear winner on B3 Pixel 8: 2 settings can't be told apart, the default among them" in (
        summarize(made.frames()).headline
    )


def test_the_default_may_be_the_best():
    made = one_phone()
    made.case("s0", "m", "default", 5.0)
    made.case("s0", "m", "cpu all", 9.0)
    assert summarize(made.frames()).headline == "m: nothing beats the default on B3 Pixel 8."
    assert answer(made).verdict.sureness is Sureness.SURE


def test_a_refused_default_is_replaced_and_that_is_said():
    made = one_phone()
    made.case("s0", "m", "default", 10.0, fails=REFUSED)
    made.case("s0", "m", "cpu all", 8.0, also=("cpu layout",))
    made.case("s0", "m", "cpu all 4t", 4.0)
    found = answer(made)
    assert found.baseline == "cpu all"
    assert found.baseline_note == (
        "no default here (refused: Fatal error: Softmax is not a registered function): ratios are against cpu all"
    )
    assert found.rows[-1].reason == "refused: Fatal error: Softmax is not a registered function"
    assert "as fast as cpu all on B3" in summarize(made.frames()).headline


def test_a_dropped_default_is_replaced_with_the_reason_of_the_drop():
    made = one_phone()
    made.case("s0", "m", "cpu extended", 8.0, also=("cpu basic",))
    made.case("s0", "m", "cpu all 4t", 4.0)
    made.drop("s0", "m", "default", "this build takes no .onnx")
    assert answer(made).baseline_note == (
        "no default here (this build takes no .onnx): ratios are against cpu extended"
    )


def test_without_any_stand_in_there_are_no_ratios():
    made = one_phone()
    made.case("s0", "m", "cpu all 2t", 8.0)
    made.case("s0", "m", "cpu all 4t", 4.0)
    found = answer(made)
    assert found.baseline == ""
    assert all(row.vs_default is None for row in found.rows)
    assert summarize(made.frames()).headline == ("m: cpu all 4t is the fastest on B3 Pixel 8; no default was measured.")


def test_twins_measured_on_purpose_are_no_row_but_a_footer():
    made = one_phone()
    made.case("s0", "m", "default", 10.0)
    made.case("s0", "m", "cpu all", 5.0, also=("cpu layout",), p50s=[5.0] * 5)
    made.case("s0", "m", "cpu layout", 5.0, twin_of="cpu all", p50s=[5.1] * 5)
    found = answer(made)
    assert [row.row for row in found.rows] == ["cpu all", "default"]
    assert (found.twins.twin, found.twins.n, round(found.twins.difference, 6)) == ("cpu layout", 5, 0.02)
    assert "differed by 2.0 %" in " ".join(render_terminal(summarize(made.frames())).split())


def test_a_trial_counts_once_however_often_it_was_tried():
    made = one_phone()
    made.case("s0", "m", "default", 10.0)
    made.case("s0", "m", "cpu all", 5.0, p50s=[5.0] * 5)
    again = next(row for row in made.attempts if row["row"] == "cpu all" and row["round"] == 2)
    made.attempts.append({**again, "attempt": "later", "counted": False, "p50_s": 99.0})
    made.attempts.append({**again, "attempt": "lost", "counted": False, "outcome": "failed"})
    row = answer(made).rows[0]
    assert (row.row, row.n, row.p50_s, row.marks) == ("cpu all", 5, 0.005, ("2 retried",))


def test_the_attempt_that_counts_may_be_a_later_one():
    made = one_phone()
    made.case("s0", "m", "cpu all", 5.0, p50s=[5.0] * 5)
    for row in list(made.attempts):
        made.attempts.append({**row, "attempt": row["attempt"] + "b", "number": 2, "p50_s": 0.004})
        row["counted"] = False
    assert answer(made).rows[0].p50_s == 0.004


@pytest.mark.parametrize("p50_s", [0.0, -1.0, math.inf, math.nan])
def test_a_figure_that_no_clock_gives_is_no_round(p50_s):
    made = one_phone()
    made.case("s0", "m", "default", 10.0)
    made.case("s0", "m", "cpu all", 5.0)
    for row in made.attempts:
        if row["row"] == "cpu all" and row["round"] == 1:
            row["p50_s"] = p50_s
    assert [row.n for row in answer(made).rows] == [4, 5]


def test_figures_as_far_apart_as_floats_go_do_not_end_the_report():
    made = one_phone()
    made.case("s0", "m", "default", 1.0, p50s=[1e-300, 1e300, 1e-300, 1e300, 1.0])
    made.case("s0", "m", "cpu all", 1.0, p50s=[1e300, 1e-300, 1e300, 1e-300, 1.0])
    assert "tie of 2" in render_terminal(summarize(made.frames()), all_tables=True)


def test_a_phone_on_which_nothing_could_be_planned_has_its_line():
    made = one_phone()
    made.drop("s0", "m", "default", "no .onnx")
    assert "no answer on B3 Pixel 8: no setting could be planned" in summarize(made.frames()).headline


def test_an_empty_run_has_a_report():
    summary = summarize(Made().frames())
    assert summary.headline == "Nothing was planned: no answer."
    assert "0 planned = 0 measured" in render_terminal(summary)


def test_a_run_that_goes_on_says_what_has_not_ended():
    made = one_phone()
    made.case("s0", "m", "default", 10.0)
    for row in made.trials[3:]:
        row["state"] = "planned"
    summary = summarize(made.frames())
    assert summary.counts[0].open == 2
    assert "5 planned = 3 measured + 2 not ended" in render_terminal(summary)


STATES = st.lists(
    st.tuples(
        st.sampled_from(["planned", "measured", "failed", "skipped", "odd"]),
        st.sampled_from(["timed_out", "crashed", "", None, "new_kind"]),
        st.sampled_from(["deadline", "phone lost", None]),
    )
)


@given(STATES)
def test_planned_is_always_the_sum(states):
    rows = [{"state": state, "kind": kind, "reason": reason} for state, kind, reason in states]
    found = counts_of("time", rows)
    assert found.planned == found.measured + found.failed + found.skipped + found.open == len(rows)
    assert sum(n for _, n in found.failed_by) == found.failed
    assert sum(n for _, n in found.skipped_by) == found.skipped


@settings(max_examples=30)
@given(st.lists(st.lists(st.floats(0.01, 100), min_size=5, max_size=5), min_size=2, max_size=5))
def test_the_best_row_is_never_slower_than_another_ranked_one(rows):
    made = one_phone()
    for at, p50s in enumerate(rows):
        made.case("s0", "m", "default" if at == 0 else f"cpu all {at}t", 1.0, p50s=p50s)
    found = answer(made)
    assert found.best.p50_s == min(row.p50_s for row in found.rows)
    assert found.best.rank == 1
    if found.verdict.sureness is Sureness.SURE and found.best.vs_default is not None:
        assert found.best.vs_default.surely_faster


def test_columns_that_are_not_there_read_as_nothing_said():
    frames = lab()
    frames.phones = frames.phones[["phone", "label"]]
    frames.variants = pd.DataFrame()
    frames.dropped = pd.DataFrame()
    frames.runs = frames.runs[["run"]]
    frames.attempts = frames.attempts[["trial", "attempt", "counted", "outcome", "p50_s"]]
    frames.trials = frames.trials.drop(columns=["also", "twin_of", "message"])
    text = render_terminal(summarize(frames), all_tables=True)
    assert "cpu all 4t" in text
    assert "nan" not in text.lower().replace("onnan", "")
    assert "None" not in text


def test_the_same_phone_s_order_does_not_depend_on_the_frames_order():
    frames = lab()
    first = summarize(frames)
    frames.attempts = frames.attempts.sample(frac=1.0, random_state=3)
    assert summarize(frames) == first


def test_operators_that_a_recipe_changed():
    assert changes((("Conv", 3), ("Relu", 3)), (("Conv", 1), ("FusedConv", 2))) == (
        "-3 Relu",
        "-2 Conv",
        "+2 FusedConv",
    )
    assert changes((("", 6),), (("", 4),)) == ()


def test_numbers():
    assert [ms(v, decimals_for([v])) for v in (0.00412, 0.0118, 0.000031, 0.9523, 0.00000031)] == [
        "4.12", "11.80", "0.0310", "952.3", "0.00031",
    ]  # fmt: skip
    assert (ms(None, 2), ms(0.000001, 2), ms(0.0, 2)) == ("–", "<0.01", "0.00")
    assert [percent(v) for v in (0.016, 0.0007, 0.23, 0.00949, 0.000951)] == [
        "1.6 %",
        "0.07 %",
        "23 %",
        "0.9 %",
        "0.1 %",
    ]
    assert [span(v) for v in (None, 3.21, 59.4, 680, 7500)] == ["", "3.2 s", "59 s", "11 min 20 s", "2 h 5 min"]
    assert [clock(v) for v in (-3, 59.6, 151, 3725)] == ["0:00", "1:00", "2:31", "1:02:05"]
    assert [size(v) for v in (None, 812, 14_000, 3_449_000, 999_700, 5_000_000_000)] == [
        "–", "812 B", "14 kB", "3.4 MB", "1.0 MB", "5.0 GB",
    ]  # fmt: skip
    assert [ratio(2.31, w) for w in (None, 0.04, 0.002, 0.0001)] == [
        "2.31×", "2.31× ±0.04", "2.310× ±0.002", "2.310× ±<0.001",
    ]  # fmt: skip


def test_a_setting_that_was_not_tried_says_why():
    made = Made(rounds=3)
    made.phone("s0", "B3", "Pixel 8")
    made.case("s0", "m", "default", 9.0)
    made.case("s0", "m", "cpu all", 5.0)
    made.case("s0", "m", "nnapi onnx", 5.0, skips=dict.fromkeys((1, 2, 3), "resolved early"))
    reason = "NNAPI was not as fast as the CPU in the first step (2.00× its p50)"
    for row in made.trials:
        row["message"] = reason if row["state"] == "skipped" else None
    frames = made.frames()
    summary = summarize(frames)
    row = summary.models[0].phones[0].rows[-1]
    assert (row.row, row.reason) == ("nnapi onnx", f"not tried: {reason}")
    assert "9 planned = 6 measured + 3 skipped (3 resolved early)" in render_terminal(summary)
    shown = show(frames, parse_target("0412-quick-7k2f/B3/nnapi onnx"), lambda digest: None)
    assert shown.rows[0].skipped == ((1, reason), (2, reason), (3, reason))
