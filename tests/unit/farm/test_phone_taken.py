"""A phone that somebody takes in hand: what runs is finished, nothing more begins, the others go on."""

from __future__ import annotations

from orchestrator.farm.blocks import Rules
from orchestrator.farm.protocol import (
    BlockEnded,
    EndTrial,
    Finish,
    PhoneTaken,
    PhoneUp,
    Planned,
    RunBlock,
    StopPhone,
    WorkEnded,
)
from orchestrator.farm.state import FarmState
from orchestrator.outcome import Measured, Skipped, SkipReason
from orchestrator.plan.case import Purpose

MEASURED = Measured(figures=None)
HELD = Skipped(reason=SkipReason.HELD, message="held by nina")


def plan(phone: str) -> list[Planned]:
    return [
        Planned(trial_id=f"{phone}{n}", case_id=f"c{n}", phone=phone, purpose=Purpose.TIME, round=1, position=n)
        for n in range(2)
    ]


def test_what_runs_is_finished_and_the_rest_skipped() -> None:
    state = FarmState([*plan("A"), *plan("B")], Rules(iterations=7))
    (block,) = state.handle(PhoneUp("A"))
    assert isinstance(block, RunBlock)
    state.handle(PhoneUp("B"))
    assert state.handle(PhoneTaken("A", "held by nina")) == [StopPhone("A", kill=False)]
    first, second = block.works
    commands = state.handle(BlockEnded("A", (WorkEnded(first, MEASURED),), not_started=(second,)))
    assert [(one.trial.trial_id, one.outcome) for one in commands if isinstance(one, EndTrial)] == [
        ("A0", MEASURED),
        ("A1", HELD),
    ]
    assert not any(isinstance(one, RunBlock | Finish) for one in commands)
    state.check()


def test_a_phone_that_runs_nothing_is_skipped_at_once_and_never_fed() -> None:
    state = FarmState(plan("A"), Rules(iterations=7))
    commands = state.handle(PhoneTaken("A", "held by nina"))
    assert [one.outcome for one in commands if isinstance(one, EndTrial)] == [HELD, HELD]
    assert isinstance(commands[-1], Finish)
    assert state.handle(PhoneUp("A")) == []
