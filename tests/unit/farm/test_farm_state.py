"""The pure scheduler: exact commands for small stories, invariants for random ones."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from android_runner.errors import Blame, Retry
from orchestrator.farm.blocks import Rules
from orchestrator.farm.protocol import (
    BlockEnded,
    EndTrial,
    Finish,
    FixIterations,
    PhoneGone,
    PhoneUp,
    Planned,
    RunBlock,
    StopAsked,
    StopPhone,
    WorkEnded,
)
from orchestrator.farm.state import MAX_ATTEMPTS, FarmState
from orchestrator.outcome import Failed, Measured, Skipped, SkipReason
from orchestrator.plan.case import Purpose
from orchestrator.plan.length import Calibration

MEASURED = Measured(figures=None)
REFUSED = Failed(kind="setting_refused", blame=Blame.PLAN, retry=Retry.NEVER, message="no")
LOST = Failed(kind="lost", blame=Blame.LAB, retry=Retry.HERE, message="gone")


def planned(phone: str = "A", cases: int = 2, rounds: int = 2) -> list[Planned]:
    return [
        Planned(
            trial_id=f"{phone}{round_}{case}", case_id=f"c{case}", phone=phone, purpose=Purpose.TIME,
            round=round_, position=round_ * 100 + case,
        )
        for round_ in range(1, rounds + 1)
        for case in range(cases)
    ]  # fmt: skip


def nnapi(cases: int = 2, rounds: int = 1, phone: str = "A") -> list[Planned]:
    """Timed rounds, then an introspection and a trace of every case, as `trials_of` plans NNAPI's."""
    timed = planned(phone, cases, rounds)
    return timed + [
        replace(timed[case], trial_id=f"{phone}{purpose}{case}", purpose=purpose, round=1, position=position + case)
        for purpose, position in ((Purpose.INTROSPECT, 9000), (Purpose.TRACE, 9100))
        for case in range(cases)
    ]


def block_of(commands: list[object]) -> RunBlock:
    blocks = [command for command in commands if isinstance(command, RunBlock)]
    assert len(blocks) == 1
    return blocks[0]


def ended(block: RunBlock, outcome: Measured | Failed = MEASURED, mean_s: float = 0.01) -> BlockEnded:
    def one(work):  # type: ignore[no-untyped-def]
        calibration = Calibration(work.iterations, mean_s) if work.trial is None and outcome is MEASURED else None
        return WorkEnded(work, outcome, calibration)

    return BlockEnded(block.phone, tuple(one(work) for work in block.works))


def test_fixed_iterations_run_round_by_round_and_finish() -> None:
    state = FarmState(planned(), Rules(iterations=7))
    first = block_of(state.handle(PhoneUp("A")))
    assert [(work.case_id, work.round, work.iterations) for work in first.works] == [("c0", 1, 7), ("c1", 1, 7)]
    commands = state.handle(ended(first))
    second = block_of(commands)
    assert {work.round for work in second.works} == {2}
    last = state.handle(ended(second))
    assert isinstance(last[-1], Finish)
    assert len(state.ended) == 4
    state.check()


def test_short_rounds_share_a_block_once_the_first_has_shown_what_they_take() -> None:
    state = FarmState(planned(cases=2, rounds=8), Rules(iterations=7, block_s=10.0))
    block = block_of(state.handle(PhoneUp("A")))
    rounds = []
    while True:
        rounds.append([work.round for work in block.works])
        commands = state.handle(replace(ended(block), took_s=1.5 * len(block.works)))
        state.check()
        if isinstance(commands[-1], Finish):
            break
        block = block_of(commands)
    assert rounds == [[1, 1], [2, 2, 3, 3, 4, 4], [5, 5, 6, 6, 7, 7], [8, 8]]


@pytest.mark.parametrize("took_s", [0.0, 21.0, 1e9])
def test_a_round_as_long_as_a_block_may_be_stays_alone(took_s: float) -> None:
    state = FarmState(planned(cases=2, rounds=3), Rules(iterations=7, block_s=20.0))
    first = block_of(state.handle(PhoneUp("A")))
    second = block_of(state.handle(replace(ended(first), took_s=took_s)))
    assert [work.round for work in second.works] == [2, 2]


def test_calibration_goes_on_until_it_settles_and_fixes_the_number_once() -> None:
    state = FarmState(planned(cases=1), Rules())
    first = block_of(state.handle(PhoneUp("A")))
    assert first.works[0].purpose is Purpose.CALIBRATE
    assert first.works[0].iterations == 5
    second = block_of(state.handle(ended(first, mean_s=0.001)))
    assert second.works[0].purpose is Purpose.CALIBRATE
    assert second.works[0].iterations == 200
    commands = state.handle(ended(second, mean_s=0.001))
    assert FixIterations("A", "c0", 2200) in commands
    timed = block_of(commands)
    assert timed.works[0].purpose is Purpose.TIME
    assert timed.works[0].iterations == 2200


def test_a_slow_case_is_settled_by_its_first_calibration_and_bounded_by_the_longest_trial() -> None:
    state = FarmState(planned(cases=1), Rules())
    first = block_of(state.handle(PhoneUp("A")))
    commands = state.handle(ended(first, mean_s=5.0))
    assert FixIterations("A", "c0", 12) in commands


def test_a_refused_setting_costs_only_itself() -> None:
    state = FarmState(planned(), Rules(iterations=1))
    block = block_of(state.handle(PhoneUp("A")))
    event = BlockEnded("A", (WorkEnded(block.works[0], REFUSED), WorkEnded(block.works[1], MEASURED)))
    commands = state.handle(event)
    assert [c.trial.trial_id for c in commands if isinstance(c, EndTrial)] == ["A10", "A20", "A11"]
    assert [work.case_id for work in block_of(commands).works] == ["c1"]
    state.check()


def test_introspections_follow_the_rounds_with_one_iteration_and_then_the_traces() -> None:
    state = FarmState(nnapi(rounds=2), Rules(iterations=7))
    commands = state.handle(PhoneUp("A"))
    blocks = []
    while not isinstance(commands[-1], Finish):
        block = block_of(commands)
        blocks.append([(work.purpose, work.case_id, work.iterations) for work in block.works])
        commands = state.handle(ended(block))
        state.check()
    both = ("c0", "c1")
    assert blocks[2:] == [
        [(Purpose.INTROSPECT, case, 1) for case in both],
        [(Purpose.TRACE, case, 10) for case in both],
    ]
    assert len(state.ended) == 8


def test_what_is_not_timed_needs_no_calibration() -> None:
    trials = [trial for trial in nnapi() if trial.purpose is not Purpose.TIME]
    block = block_of(FarmState(trials, Rules()).handle(PhoneUp("A")))
    assert {work.purpose for work in block.works} == {Purpose.INTROSPECT}


@pytest.mark.parametrize("calibrates", [False, True])
def test_a_refused_setting_is_still_introspected(calibrates: bool) -> None:
    state = FarmState(nnapi(), Rules(iterations=None if calibrates else 1))
    block = block_of(state.handle(PhoneUp("A")))
    event = BlockEnded("A", (WorkEnded(block.works[0], REFUSED),), not_started=block.works[1:])
    commands = state.handle(event)
    assert [c.trial.trial_id for c in commands if isinstance(c, EndTrial)] == ["A10", "Atrace0"]
    while not isinstance(commands[-1], Finish):
        block = block_of(commands)
        outcome = REFUSED if {work.case_id for work in block.works} == {"c0"} else MEASURED
        commands = state.handle(ended(block, outcome, mean_s=5.0))
        state.check()
    assert {name: one for name, one in state.ended.items() if name.endswith("0")} == {
        "A10": REFUSED, "Atrace0": REFUSED, "Aintrospect0": MEASURED,
    }  # fmt: skip
    assert state.ended["Atrace1"] == MEASURED


def test_a_refused_introspection_is_asked_once() -> None:
    state = FarmState([trial for trial in nnapi(1) if trial.purpose is not Purpose.TIME], Rules())
    commands = state.handle(ended(block_of(state.handle(PhoneUp("A"))), REFUSED))
    assert [c.trial.trial_id for c in commands if isinstance(c, EndTrial)] == ["Aintrospect0", "Atrace0"]
    assert isinstance(commands[-1], Finish)


def test_a_check_that_a_phone_refuses_costs_only_itself() -> None:
    verify = [
        replace(trial, trial_id=f"Averify{at}", purpose=Purpose.VERIFY, round=1, position=9200 + at)
        for at, trial in enumerate(planned(cases=2, rounds=1))
    ]
    state = FarmState(nnapi() + verify, Rules(iterations=1))
    commands = state.handle(PhoneUp("A"))
    while not isinstance(commands[-1], Finish):
        block = block_of(commands)
        verifies = {work.purpose for work in block.works} == {Purpose.VERIFY}
        assert not verifies or [work.iterations for work in block.works] == [3, 3]
        commands = state.handle(ended(block, REFUSED if verifies else MEASURED))
        state.check()
    refused = {name for name, outcome in state.ended.items() if outcome == REFUSED}
    assert refused == {"Averify0", "Averify1"}


def test_a_lost_trial_is_tried_again_at_most_three_times() -> None:
    state = FarmState(planned(cases=1, rounds=1), Rules(iterations=1))
    commands = state.handle(PhoneUp("A"))
    for _ in range(MAX_ATTEMPTS):
        commands = state.handle(ended(block_of(commands), LOST))
        state.check()
    assert commands == [EndTrial(planned(cases=1, rounds=1)[0], LOST), Finish()]


def test_a_lost_phone_s_trials_wait_for_it_while_others_work_and_are_skipped_then() -> None:
    state = FarmState(planned("A") + planned("B", rounds=1), Rules(iterations=1))
    state.handle(PhoneUp("A"))
    block = block_of(state.handle(PhoneUp("B")))
    assert state.handle(PhoneGone("A", "cable")) == []
    commands = state.handle(ended(block))
    state.check()
    lost = dict.fromkeys(["A10", "A11", "A20", "A21"], Skipped(reason=SkipReason.PHONE_LOST))
    assert state.ended == {"B10": MEASURED, "B11": MEASURED, **lost}
    assert sum(isinstance(command, EndTrial) for command in commands) == 6
    assert commands[-1] == Finish()


def test_a_lost_phone_comes_back_with_its_block_and_goes_on() -> None:
    state = FarmState(planned("A") + planned("B"), Rules(iterations=1))
    lost = block_of(state.handle(PhoneUp("A")))
    block = block_of(state.handle(PhoneUp("B")))
    state.handle(PhoneGone("A", "cable"))
    assert {work.round for work in block_of(state.handle(ended(lost))).works} == {2}
    state.handle(ended(block))
    state.check()
    assert list(state.ended.values()) == [MEASURED] * 4


def test_a_phone_that_is_gone_for_good_leaves_its_trials_skipped_and_the_others_alone() -> None:
    state = FarmState(planned("A") + planned("B"), Rules(iterations=1))
    state.handle(PhoneUp("A"))
    block = block_of(state.handle(PhoneUp("B")))
    commands = state.handle(PhoneGone("A", "a bug", for_good=True))
    assert [c.outcome for c in commands] == [Skipped(reason=SkipReason.PHONE_LOST)] * 4
    assert state.handle(ended(block))
    state.check()


def test_stop_waits_for_what_runs_and_skips_the_rest() -> None:
    state = FarmState(planned(), Rules(iterations=1))
    block = block_of(state.handle(PhoneUp("A")))
    assert state.handle(StopAsked()) == [StopPhone("A", False)]
    event = BlockEnded("A", (WorkEnded(block.works[0], MEASURED),), not_started=(block.works[1],))
    commands = state.handle(event)
    outcomes = [c.outcome for c in commands if isinstance(c, EndTrial)]
    assert outcomes == [MEASURED] + [Skipped(reason=SkipReason.INTERRUPTED)] * 3
    assert commands[-1] == Finish()


def test_a_phone_that_starts_nothing_three_times_is_given_up() -> None:
    state = FarmState(planned(cases=1, rounds=1), Rules(iterations=1))
    commands = state.handle(PhoneUp("A"))
    for _ in range(3):
        block = block_of(commands)
        commands = state.handle(BlockEnded("A", (), not_started=block.works))
    assert isinstance(commands[-1], Finish)
    assert list(state.ended.values()) == [Skipped(reason=SkipReason.PHONE_LOST)]


def test_no_trials_is_finished_at_the_first_event() -> None:
    state = FarmState([], Rules(), phones=["A"])
    assert state.handle(PhoneUp("A")) == [Finish()]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_every_story_ends_with_one_row_a_trial(seed: int) -> None:
    rng = random.Random(seed)
    make = rng.choice([planned, nnapi])
    trials = [one for phone in "ABC" for one in make(phone=phone, cases=rng.randint(1, 3), rounds=rng.randint(1, 3))]
    state = FarmState(trials, Rules(iterations=rng.choice([None, 5])))
    running: dict[str, RunBlock] = {}
    rows: list[str] = []
    finished = False
    events: list[object] = [PhoneUp(phone) for phone in "ABC"]
    for _ in range(500):
        if not events and not running:
            break
        if events and rng.random() < 0.7:
            event = events.pop(0)
        elif running and rng.random() < 0.04:
            event = PhoneGone(rng.choice(list(running)), "cable")
        elif rng.random() < 0.02:
            event = StopAsked(rng.random() < 0.5)
        elif running:
            block = running[rng.choice(list(running))]
            cut = rng.randint(0, len(block.works))
            outcomes = [rng.choice([MEASURED, MEASURED, MEASURED, LOST, REFUSED]) for _ in range(cut)]
            done = tuple(
                WorkEnded(w, o, Calibration(w.iterations, rng.choice([1e-4, 0.1])) if w.trial is None else None)
                for w, o in zip(block.works, outcomes, strict=False)
            )
            event = BlockEnded(block.phone, done, block.works[cut:], rng.choice([None, LOST]))
        else:
            continue
        if isinstance(event, BlockEnded | PhoneGone):
            running.pop(event.phone, None)
        for command in state.handle(event):  # type: ignore[arg-type]
            if isinstance(command, RunBlock):
                running[command.phone] = command
            elif isinstance(command, EndTrial):
                rows.append(command.trial.trial_id)
            elif isinstance(command, Finish):
                finished = True
        state.check()
    assert finished
    assert sorted(rows) == sorted(trial.trial_id for trial in trials)


def test_check_notices_a_trial_that_stands_twice() -> None:
    state = FarmState(planned(), Rules(iterations=1))
    state.lanes["A"].waiting.append(state.lanes["A"].waiting[0])
    with pytest.raises(AssertionError, match="stands twice"):
        state.check()
