"""What becomes of what failed: the error's own words, refusals that repeat, strikes against a phone, deadlines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from android_runner.errors import Blame, LeaseLost, PhoneFull, Retry, RunnerError, ToolCrashed, TransferCorrupt
from orchestrator.farm.blocks import Rules
from orchestrator.farm.kit import failed
from orchestrator.farm.protocol import (
    BlockEnded,
    Command,
    EndTrial,
    Finish,
    GiveUp,
    Heard,
    PhoneGone,
    PhoneUp,
    Planned,
    RunBlock,
    SiblingsLost,
    StopPhone,
    Tick,
    Work,
    WorkEnded,
)
from orchestrator.farm.retry import MAX_ATTEMPTS, MAX_STRIKES, Again, Refusals, Strikes, again, pause_s
from orchestrator.farm.state import FarmState
from orchestrator.outcome import Failed, Measured, Skipped, SkipReason, rejected
from orchestrator.plan.case import Purpose

MEASURED = Measured(figures=None)
CRASHED = failed(ToolCrashed("SIGSEGV"))
CORRUPT = failed(TransferCorrupt("digest"))
LATER = failed(LeaseLost("another run"))
FULL = failed(PhoneFull("no space"))
Answer = Callable[[Work], Measured | Failed]


def planned(phone: str = "A", cases: int = 2, rounds: int = 4, pool: tuple[str, ...] = ()) -> list[Planned]:
    return [
        Planned(
            trial_id=f"{phone}{round_}{case}", case_id=f"c{case}", phone=phone, purpose=Purpose.TIME,
            round=round_, position=round_ * 100 + case, pool=pool,
        )
        for round_ in range(1, rounds + 1)
        for case in range(cases)
    ]  # fmt: skip


def answered(block: RunBlock, answer: Answer) -> BlockEnded:
    return BlockEnded(block.phone, tuple(WorkEnded(work, answer(work)) for work in block.works), took_s=1.0)


def play(state: FarmState, answer: Answer, phones: Sequence[str] = ("A",)) -> list[Command]:
    """Every command of a run whose blocks all end as `answer` says."""
    told: list[Command] = []
    coming = [PhoneUp(phone) for phone in phones]
    while coming:
        commands = state.handle(coming.pop(0))
        state.check()
        told += commands
        coming += [answered(one, answer) for one in commands if isinstance(one, RunBlock)]
    assert isinstance(told[-1], Finish)
    return told


def asked(told: Sequence[Command], case: str) -> list[tuple[str, int]]:
    """Where a case was asked, in which rounds."""
    blocks = [one for one in told if isinstance(one, RunBlock)]
    return [(one.phone, work.round) for one in blocks for work in one.works if work.case_id == case]


def every_error(base: type[RunnerError] = RunnerError) -> list[type[RunnerError]]:
    below = base.__subclasses__()
    return [leaf for one in below for leaf in every_error(one)] if below else [base]


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_every_error_is_tried_again_where_its_words_say(kind: type[RunnerError]) -> None:
    outcome = failed(kind("words"))
    first = {
        Retry.HERE: Again.HERE, Retry.LATER: Again.LATER, Retry.ELSEWHERE: Again.NOWHERE, Retry.NEVER: Again.NOWHERE,
    }[kind.retry]  # fmt: skip
    assert again(outcome, 1, others=False) is first
    assert again(outcome, MAX_ATTEMPTS, others=False) is Again.NOWHERE
    leaves = kind.retry is Retry.ELSEWHERE or kind.blame is Blame.LAB
    assert again(outcome, MAX_ATTEMPTS, others=True) is (Again.ELSEWHERE if leaves else Again.NOWHERE)


def test_a_pause_grows_and_is_bounded() -> None:
    assert [pause_s(count) for count in (0, 1, 2, 3, 4, 50)] == [0.0, 5.0, 20.0, 80.0, 300.0, 300.0]


def test_what_is_to_be_tried_later_waits_behind_its_step() -> None:
    state = FarmState(planned(rounds=2), Rules(iterations=1))
    told = play(state, lambda work: LATER if work.round == 1 and work.case_id == "c0" else MEASURED)
    assert asked(told, "c0") == [("A", 1), ("A", 2), ("A", 1), ("A", 1)]
    assert asked(told, "c1") == [("A", 1), ("A", 2)]
    assert state.ended["A10"] == LATER


def test_a_phone_that_is_busy_for_another_run_is_asked_again_after_a_pause_and_not_blamed() -> None:
    state = FarmState(planned(rounds=1), Rules(iterations=1))
    commands = state.handle(PhoneUp("A"))
    pauses = []
    while not isinstance(commands[-1], Finish):
        block = commands[-1]
        assert isinstance(block, RunBlock)
        pauses.append(block.pause_s)
        commands = state.handle(BlockEnded("A", (), block.works, LATER))
        state.check()
    assert pauses == [0.0, 5.0, 20.0]
    assert set(state.ended.values()) == {LATER}
    assert not any(isinstance(command, GiveUp) for command in commands)


def test_a_setting_that_loses_its_first_two_rounds_in_the_same_way_is_not_asked_a_third_time() -> None:
    state = FarmState(planned(rounds=6), Rules(iterations=1, block_s=1e6))
    told = play(state, lambda work: CRASHED if work.case_id == "c0" else MEASURED)
    assert asked(told, "c0") == [("A", 1), ("A", 2)]
    assert len(asked(told, "c1")) == 6
    assert {name: one for name, one in state.ended.items() if name.endswith("0")} == {
        f"A{number}0": CRASHED for number in range(1, 7)
    }


def test_a_setting_that_went_well_once_or_loses_in_another_way_is_asked_on() -> None:
    timed_out = replace(CRASHED, kind="timed_out")

    def answer(work: Work) -> Measured | Failed:
        if work.case_id == "c0":
            return MEASURED if work.round == 1 else CRASHED
        return CRASHED if work.round == 1 else timed_out

    told = play(FarmState(planned(rounds=5), Rules(iterations=1)), answer)
    assert len(asked(told, "c0")) == len(asked(told, "c1")) == 5


def test_what_was_not_begun_of_a_refused_setting_is_not_asked_again() -> None:
    state = FarmState(planned(cases=1, rounds=5), Rules(iterations=1, block_s=1e6))
    state.handle(PhoneUp("A"))
    first = BlockEnded("A", (WorkEnded(Work(**_work(state)), MEASURED),), took_s=1.0)
    (end, block) = state.handle(first)
    assert isinstance(end, EndTrial)
    assert isinstance(block, RunBlock)
    refused = Failed(kind="setting_refused", blame=Blame.PLAN, retry=Retry.NEVER, message="no")
    commands = state.handle(BlockEnded("A", (WorkEnded(block.works[0], refused),), block.works[1:]))
    assert [type(command) for command in commands] == [EndTrial] * 4 + [Finish]


def _work(state: FarmState) -> dict[str, object]:
    (work,) = state.lanes["A"].running
    return {name: getattr(work, name) for name in Work.__slots__}


def test_a_lab_s_fault_is_no_refusal() -> None:
    refusals = Refusals()
    assert not refusals.failed("c", CORRUPT)
    assert not refusals.failed("c", CORRUPT)
    assert not refusals.undecided


def test_a_phone_that_fails_again_and_again_by_the_lab_s_fault_is_left_alone() -> None:
    state = FarmState(planned(cases=3) + planned("B"), Rules(iterations=1, block_s=0.5))
    told = play(state, lambda work: CORRUPT if work.trial is None or work.trial.phone == "A" else MEASURED, ("A", "B"))
    (given_up,) = [one for one in told if isinstance(one, GiveUp)]
    assert given_up == GiveUp("A", "nothing went well since transfer_corrupt 6×", quarantine=True)
    assert {one for name, one in state.ended.items() if name.startswith("A")} == {
        Skipped(reason=SkipReason.QUARANTINED)
    }
    assert {one for name, one in state.ended.items() if name.startswith("B")} == {MEASURED}
    assert len(asked(told, "c0")) == 2 + 4


@pytest.mark.parametrize("outcome", [CRASHED, rejected(["hot"]), LATER])
def test_what_a_phone_can_do_nothing_for_is_no_strike(outcome: Failed) -> None:
    strikes = Strikes()
    for case in "abcdefgh":
        strikes.process_failed(case, outcome)
        strikes.block_failed(outcome)
    assert strikes.why_quarantine() == ""


def test_what_failed_while_its_hub_was_gone_is_not_held_against_a_phone() -> None:
    state = FarmState(planned(cases=3), Rules(iterations=1, block_s=0.5))
    (block,) = [one for one in state.handle(PhoneUp("A")) if isinstance(one, RunBlock)]
    for _ in range(3):
        assert state.lanes["A"].strikes.count < MAX_STRIKES
        told = state.handle(answered(block, lambda _work: CORRUPT))
        told += state.handle(SiblingsLost(("A",)))
        assert state.lanes["A"].strikes.count == 0
        assert not [one for one in told if isinstance(one, GiveUp)]
        (block,) = [one for one in told if isinstance(one, RunBlock)]


def test_one_setting_alone_brings_no_phone_into_quarantine_and_one_success_clears_it() -> None:
    strikes = Strikes()
    for _ in range(9):
        strikes.process_failed("c", CORRUPT)
    assert strikes.why_quarantine() == ""
    strikes.block_failed(FULL)
    assert "phone_full 1×, transfer_corrupt 9×" in strikes.why_quarantine()
    strikes.went_well()
    assert strikes.why_quarantine() == ""


def test_after_its_deadline_a_run_hands_out_nothing() -> None:
    state = FarmState(planned(rounds=3), Rules(iterations=1, deadline_s=60.0))
    (block,) = state.handle(PhoneUp("A"))
    assert isinstance(block, RunBlock)
    assert state.handle(Tick(59.0)) == []
    assert state.handle(Tick(60.0)) == [StopPhone("A", kill=False)]
    assert state.handle(Tick(61.0)) == []
    commands = state.handle(BlockEnded("A", (WorkEnded(block.works[0], MEASURED),), block.works[1:], at_s=62.0))
    assert isinstance(commands[-1], Finish)
    assert list(state.ended.values()) == [MEASURED] + [Skipped(reason=SkipReason.DEADLINE)] * 5


def test_a_phone_that_says_nothing_for_too_long_is_given_up_and_may_come_back() -> None:
    state = FarmState(planned() + planned("B"), Rules(iterations=1, silent_s=100.0))
    (hung,) = state.handle(PhoneUp("A"))
    (other,) = state.handle(PhoneUp("B"))
    state.handle(Heard("A", 50.0))
    state.handle(Heard("B", 50.0))
    assert state.handle(Tick(150.0)) == []
    state.handle(Heard("B", 150.0))
    assert state.handle(Tick(151.0)) == [GiveUp("A", "no sign of life for 101 s")]
    assert state.handle(PhoneGone("A", "cable")) == []
    state.check()
    assert isinstance(hung, RunBlock)
    assert isinstance(other, RunBlock)
    commands = state.handle(answered(hung, lambda _work: MEASURED))
    assert isinstance(commands[-1], RunBlock)


def test_a_phone_whose_host_is_slow_to_come_gets_longer_blocks() -> None:
    state = FarmState(planned(cases=2, rounds=400), Rules(iterations=1, block_s=10.0))
    (block,) = state.handle(PhoneUp("A"))
    at_s, sizes = 0.0, []
    for _ in range(6):
        assert isinstance(block, RunBlock)
        sizes.append(len(block.works))
        took_s = float(len(block.works))
        at_s += took_s + 3.0
        block = state.handle(replace(answered(block, lambda _work: MEASURED), took_s=took_s, at_s=at_s))[-1]
    assert sizes == [2, 10, 200, 200, 200, 188]
