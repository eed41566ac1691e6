"""The second step of a guided plan: what is tried of it, by what the first step measured; stories of the scheduler."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from android_runner.errors import Blame, Retry
from android_runner.ort import ExecutionProvider
from orchestrator.farm.blocks import Rules
from orchestrator.farm.protocol import (
    BlockEnded,
    Command,
    EndTrial,
    Finish,
    PhoneGone,
    PhoneUp,
    Planned,
    RunBlock,
    StopAsked,
    Work,
    WorkEnded,
)
from orchestrator.farm.second_step import PAYS_WITHIN
from orchestrator.farm.state import FarmState
from orchestrator.outcome import Failed, Figures, Measured, Outcome, Skipped, SkipReason
from orchestrator.plan.case import Purpose
from orchestrator.plan.length import Calibration

CPU, NNAPI = ExecutionProvider.CPU, ExecutionProvider.NNAPI
REFUSED = Failed(kind="model_refused", blame=Blame.MODEL, retry=Retry.NEVER, message="no such op")
LOST = Failed(kind="lost", blame=Blame.LAB, retry=Retry.HERE, message="gone")
FIRST = ("cpu default", "cpu all", "nnapi basic", "nnapi runtime")
SECOND = ("nnapi onnx", "nnapi nchw", "cpu 4t")
TWIN = "cpu twin"


def measured(p50_s: float) -> Measured:
    return Measured(
        figures=Figures(
            iterations=50, p50_s=p50_s, p90_s=p50_s, p95_s=p50_s, p99_s=p50_s, min_s=p50_s, max_s=p50_s, mean_s=p50_s,
            session_creation_s=None, first_inference_s=None, peak_working_set_bytes=None,
        )
    )  # fmt: skip


def trial(phone: str, model: str, row: str, purpose: Purpose, number: int) -> Planned:
    provider = NNAPI if row.startswith("nnapi") else CPU
    second = row in SECOND
    return Planned(
        trial_id=f"{phone} {model} {row} {purpose} {number}", case_id=f"{model} {row}", phone=phone, purpose=purpose,
        round=number, position=0, model=model, where_pays=provider if second else None,
        shows=None if second or row == TWIN or purpose is not Purpose.TIME else provider,
    )  # fmt: skip


def guided(phone: str = "A", models: tuple[str, ...] = ("m",), rounds: int = 2) -> list[Planned]:
    """A phone's trials as `trials_of` orders them: both steps' rounds, then what is not timed."""
    rows = [(Purpose.TIME, number, (*FIRST, TWIN)) for number in range(1, rounds + 1)]
    rows += [(Purpose.TIME, rounds + number, SECOND) for number in range(1, rounds + 1)]
    nnapi = tuple(row for row in (*FIRST, *SECOND) if row.startswith("nnapi"))
    rows += [(Purpose.INTROSPECT, 1, nnapi), (Purpose.TRACE, 1, nnapi)]
    found = [
        trial(phone, model, row, purpose, number) for purpose, number, own in rows for model in models for row in own
    ]
    return [replace(one, position=at) for at, one in enumerate(found)]


Answer = Callable[[Planned], Measured | Failed]


def tell(state: FarmState, answer: Answer, phone: str = "A") -> tuple[list[list[str]], dict[str, Outcome]]:
    """Play a run on one phone to its end: the trials of each block, and how each trial ended."""
    blocks: list[list[str]] = []
    ends: dict[str, Outcome] = {}
    commands: list[Command] = state.handle(PhoneUp(phone))
    while True:
        ends |= {one.trial.trial_id: one.outcome for one in commands if isinstance(one, EndTrial)}
        state.check()
        given_out = [one for one in commands if isinstance(one, RunBlock)]
        if not given_out:
            assert isinstance(commands[-1], Finish)
            return blocks, ends
        (block,) = given_out
        blocks.append([work.case_id if work.trial is None else work.trial.trial_id for work in block.works])
        commands = state.handle(BlockEnded(phone, tuple(_ended(work, answer) for work in block.works)))


def _ended(work: Work, answer: Answer) -> WorkEnded:
    if work.trial is None:
        return WorkEnded(work, Measured(figures=None), Calibration(work.iterations, 0.1))
    return WorkEnded(work, answer(work.trial))


def taking(cpu_s: float, nnapi_s: float | None, **rows_s: float) -> Answer:
    """A phone on which each provider's first row takes so long, every other a tenth more; None: NNAPI is refused."""

    def answer(one: Planned) -> Measured | Failed:
        row = one.case_id.partition(" ")[2]
        base_s = nnapi_s if row.startswith("nnapi") else cpu_s
        if base_s is None:
            return REFUSED
        if one.purpose is not Purpose.TIME:
            return Measured(figures=None)
        return measured(rows_s.get(row.replace(" ", "_"), base_s * (1.0 if row in FIRST[::2] else 1.1)))

    return answer


def not_tried(ends: dict[str, Outcome]) -> dict[str, str]:
    """The rows that were resolved early, each with its reason."""
    return {
        " ".join(name.split()[2:4]): outcome.message
        for name, outcome in ends.items()
        if isinstance(outcome, Skipped) and outcome.reason is SkipReason.RESOLVED_EARLY
    }


ONLY_NNAPI = {"nnapi onnx", "nnapi nchw"}
ONLY_CPU = {"cpu 4t"}


@pytest.mark.parametrize(
    ("answer", "ends_early", "words"),
    [
        (taking(1.0, 0.5), ONLY_CPU, "the CPU was not as fast as NNAPI in the first step (2.00× its p50)"),
        (taking(1.0, 3.0), ONLY_NNAPI, "NNAPI was not as fast as the CPU in the first step (3.00× its p50)"),
        (taking(1.0, 1.0), set(), ""),
        (taking(1.0, PAYS_WITHIN - 0.001), set(), ""),
        (taking(1.0, PAYS_WITHIN + 0.001), ONLY_NNAPI, "NNAPI was not as fast as the CPU"),
        (taking(PAYS_WITHIN - 0.001, 1.0), set(), ""),
        (taking(1.0, None), ONLY_NNAPI, "nothing was measured with NNAPI in the first step"),
        (taking(math.nan, 1.0), ONLY_CPU, "nothing was measured with the CPU in the first step"),
        (taking(1.0, 0.0), ONLY_NNAPI, "nothing was measured with NNAPI in the first step"),
        (taking(1.0, 3.0, nnapi_runtime=1.01), set(), ""),  # each provider's best counts
        (taking(1.0, 1.0, cpu_twin=0.1), set(), ""),  # a twin measured on purpose does not
        (taking(1.0, 1.0, nnapi_onnx=0.1), set(), ""),  # nor does the second step itself
    ],
)
def test_a_second_step_is_tried_where_its_provider_pays(answer: Answer, ends_early: set[str], words: str) -> None:
    trials = guided()
    _, ends = tell(FarmState(trials, Rules(iterations=7)), answer)
    assert len(ends) == len(trials)
    found = not_tried(ends)
    assert found.keys() == ends_early
    assert all(words in reason for reason in found.values())
    purposes = {one.purpose for one in trials if not_tried({one.trial_id: ends[one.trial_id]})}
    assert purposes >= ({Purpose.TIME, Purpose.INTROSPECT, Purpose.TRACE} if ends_early == ONLY_NNAPI else set())


def test_where_nothing_of_the_first_step_was_measured_no_second_one_is_tried() -> None:
    _, ends = tell(FarmState(guided(), Rules(iterations=7)), lambda one: REFUSED)
    assert not_tried(ends).keys() == ONLY_CPU | ONLY_NNAPI


def test_a_phone_without_nnapi_tries_what_tunes_the_cpu() -> None:
    trials = [one for one in guided() if " nnapi " not in one.trial_id]
    blocks, ends = tell(FarmState(trials, Rules(iterations=7)), taking(1.0, None))
    assert not_tried(ends) == {}
    assert blocks[-2:] == [["A m cpu 4t time 3"], ["A m cpu 4t time 4"]]


def test_it_is_decided_for_each_model_by_the_medians_of_its_own_rounds() -> None:
    def answer(one: Planned) -> Measured | Failed:
        nnapi = " nnapi " in one.trial_id
        once = one.round == 2 and not nnapi  # a round in which the CPU was lucky
        slow = nnapi if one.model == "small" else not nnapi
        return measured(0.01 if once else 2.0 if slow else 1.0)

    _, ends = tell(FarmState(guided(models=("small", "big"), rounds=3), Rules(iterations=7)), answer)
    found = {(name.split()[1], " ".join(name.split()[2:4])) for name, one in ends.items() if isinstance(one, Skipped)}
    assert found == {("small", "nnapi onnx"), ("small", "nnapi nchw"), ("big", "cpu 4t")}


@pytest.mark.parametrize("calibrates", [True, False])
def test_the_second_step_begins_when_the_first_is_over_even_where_a_trial_was_lost(calibrates: bool) -> None:
    lost = ["A m cpu default time 2"]

    def answer(one: Planned) -> Measured | Failed:
        if one.trial_id in lost:
            lost.remove(one.trial_id)
            return LOST
        return taking(1.0, 0.5)(one)

    rules = Rules(iterations=None if calibrates else 7, block_s=1e9)
    blocks, ends = tell(FarmState(guided(), rules), answer)
    assert ends["A m cpu default time 2"] == measured(1.0)
    began = next(at for at, block in enumerate(blocks) if any("onnx" in name for name in block))
    assert "A m cpu default time 2" in blocks[began - 1]
    of_trial = ("", "") if calibrates else ("A ", " time 3")
    assert blocks[began] == [row.join(of_trial) for row in ("m nnapi onnx", "m nnapi nchw")]
    assert not any("4t" in name for block in blocks for name in block)


def test_introspections_and_traces_of_both_steps_share_a_block() -> None:
    blocks, _ = tell(FarmState(guided(), Rules(iterations=7)), taking(1.0, 0.5))
    assert [len(block) for block in blocks[-2:]] == [4, 4]
    assert {name.split()[-2] for name in blocks[-2]} == {"introspect"}


def resumed(done: dict[str, Outcome], answer: Answer) -> dict[str, Outcome]:
    """A later process goes on with what an earlier one has not ended."""
    trials = guided()
    left = [one for one in trials if one.trial_id not in done]
    known = [(one, end) for one in trials if isinstance(end := done.get(one.trial_id), Measured)]
    _, ends = tell(FarmState(left, Rules(iterations=7), measured=known), answer)
    assert done.keys() | ends.keys() == {one.trial_id for one in trials}
    return done | ends


@pytest.mark.parametrize("answer", [taking(1.0, 0.5), taking(1.0, 3.0), taking(1.0, 1.0)])
def test_a_run_that_goes_on_decides_as_it_would_have(answer: Answer) -> None:
    trials = guided()
    _, whole = tell(FarmState(trials, Rules(iterations=7)), answer)
    for cut in range(len(trials)):
        done = {one.trial_id: whole[one.trial_id] for one in trials[:cut]}
        assert resumed(done, answer) == whole


def test_a_second_step_that_was_begun_goes_on_whatever_the_first_says_later() -> None:
    """A lost trial of the first step is tried again by `resume`, and would now decide otherwise."""
    _, whole = tell(FarmState(guided(), Rules(iterations=7)), taking(1.0, 0.9))
    done = {name: end for name, end in whole.items() if name not in ("A m cpu all time 1", "A m nnapi onnx time 4")}
    ends = resumed(done, taking(1.0, 0.9, cpu_all=0.001))
    assert ends["A m nnapi onnx time 4"] == measured(0.9 * 1.1)


def test_a_stop_before_the_decision_leaves_the_second_step_to_be_asked_again() -> None:
    state = FarmState(guided(), Rules(iterations=7))
    state.handle(PhoneUp("A"))
    state.handle(StopAsked())
    state.handle(PhoneGone("A", "cable"))
    assert {one for one in state.ended.values() if isinstance(one, Skipped)} == {Skipped(reason=SkipReason.PHONE_LOST)}


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_every_guided_story_ends_with_one_row_a_trial_and_each_second_step_whole_or_not_at_all(seed: int) -> None:
    dice = random.Random(seed)
    trials = [one for phone in "AB" for one in guided(phone, models=("m", "n"), rounds=dice.randint(1, 3))]
    state = FarmState(trials, Rules(iterations=dice.choice([None, 5]), block_s=dice.choice([0.0, 1e6])))
    commands: list[Command] = [one for phone in "AB" for one in state.handle(PhoneUp(phone))]
    ends: dict[str, Outcome] = {}
    tried: set[str] = set()
    stopped = False
    while commands:
        command = commands.pop(dice.randrange(len(commands)))
        if isinstance(command, EndTrial):
            assert command.trial.trial_id not in ends
            ends[command.trial.trial_id] = command.outcome
        if not isinstance(command, RunBlock):
            continue
        if dice.random() < 0.01:
            stopped = True
            commands += state.handle(StopAsked())
        cut = len(command.works) if dice.random() < 0.9 else dice.randrange(len(command.works))
        done = []
        for work in command.works[:cut]:
            tried.add(work.trial.trial_id if work.trial is not None else "")
            outcome = dice.choice([LOST, REFUSED, *[measured(dice.choice([0.5, 1.0, 1.04, 2.0]))] * 18])
            done.append(WorkEnded(work, outcome, Calibration(work.iterations, 0.1) if work.trial is None else None))
        commands += state.handle(BlockEnded(command.phone, tuple(done), command.works[cut:], took_s=1.0))
        state.check()
    assert ends.keys() == {one.trial_id for one in trials}
    early = {name for name, one in ends.items() if isinstance(one, Skipped) and one.reason is SkipReason.RESOLVED_EARLY}
    assert not early & tried
    assert early <= {one.trial_id for one in trials if one.where_pays is not None}
    if not stopped and all(lane.state != "gone" for lane in state.lanes.values()):
        groups: dict[object, set[bool]] = {}
        for one in trials:
            if one.where_pays is not None:
                groups.setdefault((one.phone, one.model, one.where_pays), set()).add(one.trial_id in early)
        assert all(len(found) == 1 for found in groups.values())
