"""What a run looks like while it lasts, from what the farm tells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from android_runner.errors import Blame, Retry
from orchestrator.app.so_far import SoFar
from orchestrator.farm.messages import BlockOutcome
from orchestrator.farm.protocol import BlockEnded, Planned, Work
from orchestrator.outcome import Failed, Measured, Skipped, SkipReason
from orchestrator.plan.case import Purpose
from orchestrator.report.progress import LaneProgress
from orchestrator.store.records import AttemptRecord, RunContents
from orchestrator.variants.tolerance import Numerics, OutputError
from tests.unit.store import sample_run

B3, V1 = sample_run.PHONES
CONTENTS = sample_run.contents()
ROWS = {case.case_id: case.row for case in CONTENTS.cases}


def planned(contents: RunContents = CONTENTS) -> list[Planned]:
    return [
        Planned(
            trial_id=trial.trial_id(sample_run.RUN), case_id=trial.case_id, phone=trial.phone, purpose=trial.purpose,
            round=trial.round, position=trial.position,
        )
        for trial in contents.trials
    ]  # fmt: skip


def works(trials: list[Planned]) -> dict[str, Work]:
    return {
        f"{index:04d}-x": Work(
            case_id=one.case_id, purpose=one.purpose, iterations=9, round=one.round, position=index, trial=one
        )
        for index, one in enumerate(trials)
    }


def stored(phone: str, attempts: list[AttemptRecord]) -> BlockOutcome:
    return BlockOutcome(block_id="b", ending="done", attempts=tuple(attempts), event=BlockEnded(phone, ()))


def attempt(trial: Planned, p50_s: float) -> AttemptRecord:
    plain = next(one for one in CONTENTS.trials if one.trial_id(sample_run.RUN) == trial.trial_id)
    return sample_run.attempt(plain, trial.trial_id, Measured(figures=sample_run.figures(p50_s)))


@pytest.fixture
def so_far() -> SoFar:
    made = SoFar()
    made.expect(CONTENTS)
    return made


def lane(so_far: SoFar, phone: str, now_s: float) -> LaneProgress:
    return so_far.view(now_s).lanes[sample_run.PHONES.index(phone)]


def a_round(so_far: SoFar, trials: list[Planned], p50s_s: dict[str, float], now_s: float) -> None:
    so_far.block_stored(stored(trials[0].phone, [attempt(one, p50s_s[ROWS[one.case_id]]) for one in trials]))
    for one in trials:
        so_far.trial_ended(one, sample_run.MEASURED, now_s)


def test_a_phone_from_its_first_block_to_its_last(so_far: SoFar) -> None:
    trials = planned()
    so_far.begun(trials)
    first, second = ([one for one in trials if (one.phone, one.round) == (B3, number)] for number in (1, 2))
    assert (lane(so_far, B3, 0.0).state, lane(so_far, B3, 0.0).name) == ("waits", "B3 Pixel 8 «α»")
    sizing = Work(case_id=first[0].case_id, purpose=Purpose.CALIBRATE, iterations=5, round=0, position=0)
    so_far.block_given(B3, {"0000-c": sizing}, 1.0)
    assert lane(so_far, B3, 1.0).state == "stages"
    so_far.trial_seen(B3, "0000-c", 2.0)
    found = lane(so_far, B3, 2.0)
    assert (found.state, found.what, found.round, found.left_s) == ("calibrate", ROWS[first[0].case_id], None, None)
    so_far.block_stored(stored(B3, []))
    so_far.block_given(B3, works(first), 10.0)
    so_far.trial_seen(B3, "0000-x", 10.5)
    so_far.trial_seen(B3, "0001-x", 12.0)
    so_far.trial_seen(B3, "0002-x", 14.0)
    so_far.trial_seen(B3, "0001-x", 14.0)  # news of what ended before: nothing goes back
    found = lane(so_far, B3, 15.0)
    assert (found.state, found.what, found.round) == ("ok", ROWS[first[2].case_id], 1)
    assert (found.done, found.total) == (2, 6)
    assert found.left_s == pytest.approx(4 * 2.0 - 1.0)
    assert so_far.view(15.0).done == 2
    assert so_far.view(15.0).left_s is None, "the other phone has not begun"
    a_round(so_far, first, {"default": 0.004, "cpu all": 0.002, "cpu all 4t": 0.003}, 16.0)
    found = lane(so_far, B3, 16.0)
    assert (found.done, found.state, found.battery_c, found.clock_ghz) == (3, "waits", 32.0, 1.7)
    so_far.block_given(B3, works(second), 16.0)
    a_round(so_far, second, {"default": 0.004, "cpu all": 0.002, "cpu all 4t": 0.003}, 20.0)
    found = lane(so_far, B3, 20.0)
    assert (found.done, found.state, found.what, found.left_s) == (6, "done", "", None)


def test_what_is_out_of_tolerance_is_no_answer(so_far: SoFar) -> None:
    trials = planned()
    so_far.begun(trials)
    first = [one for one in trials if (one.phone, one.round) == (B3, 1)]
    a_round(so_far, first, {"default": 0.0046, "cpu all": 0.002, "cpu all 4t": 0.003}, 1.0)
    assert "cpu all 2.3×" in so_far.answer()
    so_far.refuse(CONTENTS.variants[1].variant_id)  # found out beside the run
    assert so_far.answer() == "B3 Pixel 8 «α»: default"


def test_what_was_known_to_be_out_of_tolerance_is_no_answer_from_the_start() -> None:
    off = OutputError(output="y", n=1, max_abs=1.0, max_ref=1.0, cosine=0.0)
    numerics = Numerics(inputs="i", runtime="1", outputs=(off,))
    onnx, ort = CONTENTS.variants
    so_far = SoFar()
    so_far.expect(replace(CONTENTS, variants=(onnx, replace(ort, numerics=numerics))))
    so_far.begun(planned())
    first = [one for one in planned() if (one.phone, one.round) == (B3, 1)]
    a_round(so_far, first, {"default": 0.0046, "cpu all": 0.002, "cpu all 4t": 0.003}, 1.0)
    assert so_far.answer() == "B3 Pixel 8 «α»: default"


def test_an_answer_comes_with_the_end_of_a_phone_s_first_round(so_far: SoFar) -> None:
    trials = planned()
    so_far.begun(trials)
    first = [one for one in trials if (one.phone, one.round) == (B3, 1)]
    figures = {"default": 0.0046, "cpu all": 0.002, "cpu all 4t": 0.003}
    a_round(so_far, first[:2], figures, 1.0)
    assert so_far.answer() == ""
    a_round(so_far, first[2:], figures, 2.0)
    assert so_far.answer() == "B3 Pixel 8 «α»: cpu all 2.3×"


def test_a_setting_that_is_refused_does_not_keep_the_answer_back(so_far: SoFar) -> None:
    trials = planned()
    so_far.begun(trials)
    first = [one for one in trials if (one.phone, one.round) == (B3, 1)]
    for one in first:
        if ROWS[one.case_id] == "cpu all":
            so_far.trial_ended(one, sample_run.FAILED, 1.0)
        else:
            a_round(so_far, [one], {"default": 0.002, "cpu all 4t": 0.003}, 1.0)
    assert so_far.answer() == "B3 Pixel 8 «α»: default"


def test_what_goes_on_has_the_count_of_all_and_no_answer_from_a_part(so_far: SoFar) -> None:
    trials = planned()
    left = [one for one in trials if (one.phone, one.round) != (B3, 1)]
    so_far.begun(left)
    assert (so_far.view(0.0).done, so_far.view(0.0).total) == (3, 12)
    second = [one for one in left if one.phone == B3]
    a_round(so_far, second, {"default": 0.004, "cpu all": 0.002, "cpu all 4t": 0.003}, 2.0)
    assert so_far.answer() == ""
    a_round(
        so_far, [one for one in left if (one.phone, one.round) == (V1, 1)],
        {"default": 0.004, "cpu all": 0.002, "cpu all 4t": 0.003}, 3.0,
    )  # fmt: skip
    assert so_far.answer() == "B4 Pixel 8 «α»: cpu all 2.0×"


def test_figures_of_calibrations_and_failures_are_no_answer(so_far: SoFar) -> None:
    trials = planned()
    so_far.begun(trials)
    first = [one for one in trials if (one.phone, one.round) == (B3, 1)]
    failed = Failed(kind="crashed", blame=Blame.RUNTIME, retry=Retry.NEVER, message="ended by SIGSEGV")
    odd = [
        replace(attempt(first[0], 0.001), outcome=failed),
        replace(attempt(first[1], 0.001), purpose=Purpose.CALIBRATE.value),
        replace(attempt(first[2], 0.001), outcome=Measured(figures=None)),
    ]
    so_far.block_stored(stored(B3, odd))
    for one in first:
        so_far.trial_ended(one, sample_run.FAILED, 1.0)
    assert so_far.answer() == ""


def test_a_lost_phone_says_why_and_keeps_nobody_waiting(so_far: SoFar) -> None:
    so_far.begun(planned())
    so_far.phone_gone(B3, "cable\x1b[2J pulled")
    found = lane(so_far, B3, 1.0)
    assert (found.state, found.what, found.left_s) == ("lost", "cable\x1b[2J pulled", None)


def test_what_was_stopped_is_not_called_done(so_far: SoFar) -> None:
    trials = planned()
    so_far.begun(trials)
    mine = [one for one in trials if one.phone == B3]
    so_far.trial_ended(mine[0], sample_run.MEASURED, 1.0)
    for one in mine[1:]:
        so_far.trial_ended(one, Skipped(reason=SkipReason.INTERRUPTED), 2.0)
    found = lane(so_far, B3, 2.0)
    assert (found.done, found.total, found.state) == (1, 6, "stopped")
    assert so_far.view(2.0).done == 1


def test_a_twin_measured_on_purpose_is_no_answer() -> None:
    twin = replace(CONTENTS.cases[1], row="cpu layout", twin_of="cpu all")
    so_far = SoFar()
    so_far.expect(replace(CONTENTS, cases=(CONTENTS.cases[0], twin, CONTENTS.cases[2])))
    trials = planned()
    so_far.begun(trials)
    a_round(
        so_far, [one for one in trials if (one.phone, one.round) == (B3, 1)],
        {"default": 0.004, "cpu all": 0.001, "cpu all 4t": 0.002}, 1.0,
    )  # fmt: skip
    assert so_far.answer() == "B3 Pixel 8 «α»: cpu all 4t 2.0×"
