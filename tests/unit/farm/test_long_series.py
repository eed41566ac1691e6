"""Long series in the scheduler: after everything else, a case after another, each whole in one block, never again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from android_runner.errors import Blame, Retry
from orchestrator.farm.blocks import Rules
from orchestrator.farm.protocol import (
    BlockEnded,
    Command,
    EndTrial,
    Event,
    Finish,
    PhoneUp,
    Planned,
    RunBlock,
    WorkEnded,
)
from orchestrator.farm.state import FarmState
from orchestrator.outcome import Failed, Figures, Measured
from orchestrator.plan.case import Purpose
from orchestrator.plan.cells import Cell
from orchestrator.plan.length import Calibration
from orchestrator.plan.order import trials_of
from orchestrator.plan.series import Series, series_for
from tests.unit.plan.test_matrix_and_order import ALL, BASIC, PLAIN, expanded

PROCESSES = 5
LOST = Failed(kind="crashed", blame=Blame.US, retry=Retry.HERE, message="gone")


def figures(mean_s: float) -> Figures:
    return Figures(
        iterations=50, p50_s=mean_s, p90_s=mean_s, p95_s=mean_s, p99_s=mean_s, min_s=mean_s, max_s=mean_s,
        mean_s=mean_s, session_creation_s=None, first_inference_s=None, peak_working_set_bytes=None,
    )  # fmt: skip


def planned(rounds: int = 2) -> list[Planned]:
    cases = expanded([Cell(BASIC, PLAIN), Cell(ALL, PLAIN)]).cases
    trials = trials_of(cases, "A", rounds=rounds, seed=1, trace=True, sustained=PROCESSES)
    return [
        Planned(
            trial_id=one.trial_id("run"), case_id=one.case_id, phone="A", purpose=one.purpose, round=one.round,
            position=one.position, model="mnist",
        )
        for one in trials
    ]  # fmt: skip


def play(state: FarmState, *, fails: Sequence[int] = (), mean_s: float = 0.004) -> list[RunBlock]:
    """Every block as it is handed out; of a long series the processes in `fails`, by round, measure nothing."""
    blocks: list[RunBlock] = []
    event: Event = PhoneUp("A")
    while True:
        commands: list[Command] = state.handle(event)
        state.check()
        if any(isinstance(one, Finish) for one in commands):
            return blocks
        (block,) = (one for one in commands if isinstance(one, RunBlock))
        blocks.append(block)
        ended = []
        for work in block.works:
            lost = work.purpose is Purpose.SUSTAIN and work.round in fails
            outcome = LOST if lost else Measured(figures=figures(mean_s) if work.purpose is Purpose.TIME else None)
            told = Calibration(work.iterations, 0.5) if work.purpose is Purpose.CALIBRATE else None
            ended.append(WorkEnded(work, outcome, told))
        event = BlockEnded("A", tuple(ended), took_s=3.0)


def test_a_series_comes_last_and_whole() -> None:
    state = FarmState(planned(), Rules(series=Series(PROCESSES, 2.0)))
    blocks = play(state)
    purposes = [{work.purpose for work in block.works} for block in blocks]
    assert purposes[-2:] == [{Purpose.SUSTAIN}] * 2
    assert not any(Purpose.SUSTAIN in one for one in purposes[:-2])
    for block in blocks[-2:]:
        assert len({work.case_id for work in block.works}) == 1
        assert [work.round for work in block.works] == list(range(1, PROCESSES + 1))
        assert {work.iterations for work in block.works} == {500}, "2 s by what was measured, 4 ms an iteration"


def test_a_series_of_a_plan_with_fixed_iterations_goes_by_what_they_took() -> None:
    state = FarmState(planned(), Rules(series=Series(PROCESSES, 2.0), iterations=7))
    assert {work.iterations for work in play(state)[-1].works} == {500}


def test_what_a_series_missed_is_not_run_again_on_a_cooler_phone() -> None:
    state = FarmState(planned(), Rules(series=Series(PROCESSES, 2.0)))
    blocks = play(state, fails=[2, 4])
    assert sum(work.purpose is Purpose.SUSTAIN for block in blocks for work in block.works) == 2 * PROCESSES
    assert sum(isinstance(one, Failed) for one in state.ended.values()) == 4


def test_what_a_lost_phone_never_started_goes_on_in_one_block() -> None:
    state = FarmState(
        [one for one in planned() if one.purpose is Purpose.SUSTAIN], Rules(series=Series(5, 2.0), iterations=9)
    )
    (block,) = (one for one in state.handle(PhoneUp("A")) if isinstance(one, RunBlock))
    done, left = block.works[:2], block.works[2:]
    ended = tuple(WorkEnded(work, Measured(figures=figures(0.004))) for work in done)
    commands = state.handle(BlockEnded("A", ended, not_started=left))
    assert [one.trial.round for one in commands if isinstance(one, EndTrial)] == [1, 2]
    (again,) = (one for one in commands if isinstance(one, RunBlock))
    assert [work.trial for work in again.works] == [work.trial for work in left]


@pytest.mark.parametrize(
    ("minutes", "processes", "process_s"), [(0.1, 12, 0.5), (1, 60, 1.0), (5, 60, 5.0), (10, 60, 10.0), (30, 180, 10.0)]
)
def test_how_a_series_is_cut(minutes: float, processes: int, process_s: float) -> None:
    found = series_for(minutes)
    assert (found.processes, found.process_s) == (processes, process_s)
    assert found.took_s == pytest.approx(minutes * 60)
    assert Series(3, 0.5).iterations(10.0) == 1


def test_only_ranked_cases_have_a_series_and_the_order_is_the_seed_s() -> None:
    cells = [Cell(ALL, PLAIN), Cell(BASIC, PLAIN)]
    cases = expanded(cells).cases

    def order(seed: int) -> list[str]:
        trials = trials_of(cases, "A", rounds=3, seed=seed, sustained=2)
        assert [one.position for one in trials] == list(range(len(trials)))
        return [one.case_id for one in trials if one.purpose is Purpose.SUSTAIN]

    for seed in range(6):
        first, second, third, last = order(seed)
        assert (first, third) == (second, last)
        assert first != third
    assert len({tuple(order(seed)) for seed in range(6)}) == 2
    assert not [one for one in trials_of(cases, "A", rounds=3, seed=1) if one.purpose is Purpose.SUSTAIN]
