"""Why a number is what it is: five sentences for every row, true to what the frames hold."""

from dataclasses import replace

import pandas as pd
import pytest
from report_frames import Made, lab

from orchestrator.report.show import parse_target, show


def nothing_kept(digest):
    raise AssertionError(digest)


def whys(frames, words):
    return {row.row: row.why for row in show(frames, parse_target(words), nothing_kept).rows}


@pytest.fixture(scope="module")
def frames():
    return lab()


def test_every_row_has_five_sentences(frames):
    rows = show(frames, parse_target("0412"), nothing_kept).rows
    assert len(rows) > 20
    assert not any(row.why for row in rows), "only where one row is asked for"
    for row in rows:
        found = show(frames, parse_target(f"0412/{row.label}/{row.number}"), nothing_kept).rows[0].why
        assert len(found) == 5, row
        assert all(one[0].isupper() or one[0].isdigit() for one in found), found
        assert all(one.endswith(".") and not one.endswith("..") for one in found), found
        assert ("for a virtual phone" in found[4]) == row.virtual


def test_the_figure_is_that_of_the_table_and_its_rounds(frames):
    made = Made(rounds=3)
    phone = made.phone("s1", "B1", "Pixel 8")
    made.case(phone, "net", "default", 4.0, p50s=[4.0, 4.4, 4.2])
    made.case(phone, "net", "cpu all", 4.0, p50s=[2.0, 2.2, 2.1])
    made.attempts[0]["battery_c_before"] = 36.0
    made.attempts[0]["warm_up_dropped"] = 7
    base = whys(made.frames(), "0412/B1/default")["default"]
    assert base[0].startswith("4.20 ms is the median of the p50s of 3 rounds, a process each, which lie between 4.00")
    assert "a round has 200 iterations, up to 7 of them left out as warm-up" in base[0]
    assert "rank 2; the other settings are held against it; the fastest, cpu all, is 2.00× as fast" in base[2]
    assert "battery 30 to 36 °C" in base[3]
    fast = whys(made.frames(), "0412/B1/cpu all")["cpu all"]
    assert fast[2].startswith("It has rank 1; it is 2.000× ±<0.001 as fast as the default, paired over 3 rounds")
    assert "None" not in "".join((*base, *fast))


def test_what_has_no_figure_says_how_it_ended_and_who_must_act(frames):
    found = whys(frames, "0412/A1/cpu onnx basic")["cpu onnx basic"]
    assert found[0] == "There is no figure: of 5 rounds 5 failed (5 refused)."
    assert found[2] == "What befell it most is “refused”, in these words: Load model from m.onnx failed: second line."
    trials = frames.trials.assign(blame="model", retry="never")
    said = whys(replace(frames, trials=trials), "0412/A1/cpu onnx basic")["cpu onnx basic"]
    assert said[2].endswith("; who must act: model, and trying again would end the same.")


def test_a_twin_says_whose_it_is(frames):
    rows = show(frames, parse_target("0412/B3/7"), nothing_kept).rows
    assert rows[0].twin_of == "cpu all"
    assert rows[0].why[2].startswith("It is the twin of cpu all, the same graph measured again on purpose")


def test_where_the_time_goes_is_told_as_far_as_it_was_traced(frames):
    cell = {"phone": "R58N30ABCDE", "case": "case-squeezenet-default"}
    traced = pd.DataFrame(
        [
            {**cell, "operator": "Conv", "ran_on": "CPUExecutionProvider", "self_s": 0.9},
            {**cell, "operator": "Relu", "ran_on": "CPUExecutionProvider", "self_s": 0.1},
        ]
    )
    told = replace(frames, operators=traced)
    (found,) = whys(told, "0412/B3/squeezenet default").values()
    assert "when traced, Conv on CPU 90 % and Relu on CPU 10 %" in found[1]
    assert "nothing was traced" in whys(told, "0412/B3/squeezenet cpu all runtime")["cpu all runtime"][1]


def test_rejections_are_counted_with_their_reasons(frames):
    made = Made(rounds=4)
    phone = made.phone("s1", "B1", "Pixel 8")
    made.case(phone, "net", "default", 4.0)
    for at, row in enumerate(made.attempts):
        row["validity"] = "invalid" if at == 3 else "valid"
        row["validity_reasons"] = ("too hot: 43 °C",) if at == 3 else ()
        row["gate_waited_s"] = 10
    found = whys(made.frames(), "0412/B1/default")["default"]
    assert "1 of 4 attempts rejected for it (1 too hot); it waited 40 s in all until the phone was fit" in found[3]
