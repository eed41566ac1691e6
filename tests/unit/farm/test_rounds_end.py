"""The pure scheduler's controls: twins, canaries, re-runs of what was rejected, and what ends the rounds."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from android_runner.errors import Blame, Retry
from orchestrator.farm.blocks import Canary, Rules
from orchestrator.farm.enough import Precision
from orchestrator.farm.protocol import BlockEnded, Finish, PhoneUp, Planned, RunBlock, Work, WorkEnded
from orchestrator.farm.state import FarmState
from orchestrator.measure.stopping import rounds_needed
from orchestrator.outcome import INVALID, Failed, Figures, Measured, Outcome, Skipped, SkipReason, rejected
from orchestrator.plan.case import Purpose
from orchestrator.plan.series import Series

CANARY = Canary(case_id="tiny", iterations=9)
HOT = rejected(["battery at 45 °C"])
REFUSED = Failed(kind="setting_refused", blame=Blame.PLAN, retry=Retry.NEVER, message="no")
Answer = Callable[[Work], Measured | Failed]


def planned(cases: Sequence[str] = ("base", "fast"), rounds: int = 3, twin: str = "") -> list[Planned]:
    """Rounds of cases, the first of them the baseline and, where asked for, with a twin; then a trace of each."""
    names = [*cases, *([twin] if twin else [])]
    timed = [
        Planned(
            trial_id=f"{name}{number}", case_id=name, phone="A", purpose=Purpose.TIME, round=number,
            position=number * 10 + at, model="m", twin_of=cases[0] if name == twin else "", baseline=name == "base",
        )
        for number in range(1, rounds + 1)
        for at, name in enumerate(names)
    ]  # fmt: skip
    traced = [replace(one, trial_id=f"{one.case_id}T", purpose=Purpose.TRACE, round=1) for one in timed[: len(cases)]]
    return timed + traced


def measured(p50_s: float) -> Measured:
    latencies = dict.fromkeys(("p50_s", "p90_s", "p95_s", "p99_s", "min_s", "max_s", "mean_s"), p50_s)
    return Measured(
        figures=Figures(
            iterations=9, **latencies, session_creation_s=None, first_inference_s=None, peak_working_set_bytes=None
        )
    )


def well(_work: Work) -> Measured | Failed:
    return measured(0.01)


def tell(state: FarmState, answer: Answer = well, trial_s: float = 1.0) -> list[list[str]]:
    """Play a run to its end; the blocks, each as the names of its works."""
    blocks: list[list[str]] = []
    at_s = 0.0
    commands = state.handle(PhoneUp("A"))
    while not isinstance(commands[-1], Finish):
        (block,) = [one for one in commands if isinstance(one, RunBlock)]
        blocks.append([f"{one.case_id}{one.round if one.purpose is not Purpose.TRACE else 'T'}" for one in block.works])
        took_s = trial_s * sum(one.trial is not None for one in block.works)
        at_s += took_s
        ended = tuple(WorkEnded(work, answer(work)) for work in block.works)
        commands = state.handle(BlockEnded("A", ended, took_s=took_s, at_s=at_s))
        state.check()
    return blocks


def reasons(ended: dict[str, Outcome]) -> dict[str, list[str]]:
    """The skipped trials by reason."""
    found: dict[str, list[str]] = {}
    for name, outcome in ended.items():
        if isinstance(outcome, Skipped):
            found.setdefault(outcome.reason, []).append(name)
    return found


def test_nothing_but_the_cases_stands_before_the_first_answer() -> None:
    state = FarmState(planned(twin="again"), Rules(iterations=7, canary=CANARY))
    blocks = tell(state)
    assert blocks[0] == ["base1", "fast1"]
    assert blocks[1] == ["tiny2", "again1", "base2", "fast2", "again2", "tiny3", "base3", "fast3", "again3"]
    assert blocks[2:] == [["baseT", "fastT"]]


def test_a_twin_does_as_many_iterations_as_its_other_half_and_is_refused_with_it() -> None:
    state = FarmState(planned(twin="again"), Rules(), iterations={("base", "A"): 70, ("fast", "A"): 80})
    commands = state.handle(PhoneUp("A"))
    (block,) = [one for one in commands if isinstance(one, RunBlock)]
    assert [(one.case_id, one.iterations) for one in block.works] == [("base", 70), ("fast", 80)]
    outcomes = [REFUSED if one.case_id == "base" else measured(0.01) for one in block.works]
    ended = tuple(WorkEnded(work, outcome) for work, outcome in zip(block.works, outcomes, strict=True))
    commands = state.handle(BlockEnded("A", ended))
    assert {name for name, outcome in state.ended.items() if outcome == REFUSED} == {
        "base1", "base2", "base3", "baseT", "again1", "again2", "again3"
    }  # fmt: skip


def test_a_canary_that_cannot_run_is_not_asked_for_again() -> None:
    state = FarmState(planned(rounds=9), Rules(iterations=7, canary=CANARY, block_s=1.0))
    blocks = tell(state, lambda work: REFUSED if work.case_id == "tiny" else measured(0.01))
    assert [block[0] for block in blocks if block[0].startswith("tiny")] == ["tiny2"]
    assert all(isinstance(outcome, Measured) for outcome in state.ended.values())


def test_what_was_rejected_runs_again_in_its_place_in_a_block_with_a_canary() -> None:
    hot = iter([HOT])
    state = FarmState(planned(), Rules(iterations=7, canary=CANARY, block_s=1.0))
    blocks = tell(state, lambda work: next(hot, measured(0.01)) if work.case_id == "fast" else measured(0.01))
    assert blocks[:4] == [
        ["base1", "fast1"],
        ["tiny1", "fast1"],
        ["tiny2", "base2", "fast2"],
        ["tiny3", "base3", "fast3"],
    ]
    assert isinstance(state.ended["fast1"], Measured)


@pytest.mark.parametrize(("reruns", "tries"), [(None, 12 + 3), (0, 12), (5, 12 + 5), (1000, 3 * 12)])
def test_re_runs_end_with_their_budget_and_what_was_only_rejected_is_failed(reruns: int | None, tries: int) -> None:
    state = FarmState(planned(rounds=6), Rules(iterations=7, reruns=reruns))
    blocks = tell(state, lambda work: HOT if work.purpose is Purpose.TIME else measured(0.01))
    assert sum(not name.endswith("T") for block in blocks for name in block) == tries
    timed = [outcome for name, outcome in state.ended.items() if not name.endswith("T")]
    assert {outcome.kind for outcome in timed if isinstance(outcome, Failed)} == {INVALID}
    assert len(timed) == 12


def test_precision_ends_each_case_by_the_spread_of_its_first_rounds() -> None:
    dice = random.Random(3)
    spread = {"base": 0.001, "calm": 0.002, "wild": 0.05}
    told: dict[str, list[float]] = {name: [] for name in spread}

    def answer(work: Work) -> Measured:
        p50_s = 0.01 * (1 + dice.gauss(0, spread[work.case_id]))
        if work.purpose is Purpose.TIME:
            told[work.case_id].append(p50_s)
        return measured(p50_s)

    precision = Precision(target=0.02, first=6, cap=25)
    state = FarmState(planned(tuple(spread), rounds=25), Rules(iterations=7, precision=precision))
    tell(state, answer)
    assert len(told["calm"]) == 6
    assert 6 < len(told["wild"]) <= 25
    assert len(told["base"]) == len(told["wild"]), "a difference needs both"
    skipped = reasons(state.ended)
    assert set(skipped) == {SkipReason.RESOLVED_EARLY}
    assert len(skipped[SkipReason.RESOLVED_EARLY]) == 3 * 25 - sum(map(len, told.values()))
    outcome = state.ended["calm7"]
    assert isinstance(outcome, Skipped)
    assert outcome.message == "± 2.0% by the spread of its first 6 rounds"


def test_a_case_alone_gets_the_rounds_that_its_own_spread_asks_for() -> None:
    dice = random.Random(5)
    logs: list[float] = []

    def answer(work: Work) -> Measured:
        p50_s = 0.01 * math.exp(dice.gauss(0, 0.03))
        if work.purpose is Purpose.TIME:
            logs.append(math.log(p50_s))
        return measured(p50_s)

    state = FarmState(
        planned(("only",), rounds=40), Rules(iterations=7, precision=Precision(target=0.02, first=6, cap=40))
    )
    tell(state, answer)
    assert len(logs) == rounds_needed(logs, 0.02, first=6, cap=40)
    assert 12 < len(logs) < 40


def test_a_budget_ends_with_whole_rounds_and_leaves_time_for_what_is_not_timed() -> None:
    state = FarmState(planned(rounds=20), Rules(iterations=7, budget_s=11.5, block_s=4.0))
    blocks = tell(state)
    rounds = [name for block in blocks for name in block if not name.endswith("T")]
    assert rounds == [f"{case}{number}" for number in range(1, 6) for case in ("base", "fast")]
    assert blocks[-1] == ["baseT", "fastT"]
    assert set(reasons(state.ended)) == {SkipReason.BUDGET}


def test_a_budget_keeps_the_time_of_long_series() -> None:
    trials = planned(rounds=20)
    series = [
        replace(one, trial_id=f"{one.case_id}S{number}", purpose=Purpose.SUSTAIN, round=number)
        for one in trials[:2]
        for number in range(1, 4)
    ]
    rules = Rules(iterations=7, budget_s=20.0, block_s=4.0, series=Series(processes=3, process_s=1.0))
    blocks = tell(FarmState(trials + series, rules))
    assert blocks[-3:] == [["baseT", "fastT"], ["base1", "base2", "base3"], ["fast1", "fast2", "fast3"]]
    rounds = [name for block in blocks[:-3] for name in block]
    assert rounds == [f"{case}{number}" for number in range(1, 7) for case in ("base", "fast")]
    assert len(rounds) + 2 + 6 <= 20, "at a second each everything is within the budget"


def test_the_first_round_is_tried_whatever_the_budget() -> None:
    state = FarmState(planned(rounds=4), Rules(iterations=7, budget_s=0.5))
    assert tell(state) == [["base1", "fast1"], ["baseT", "fastT"]]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_every_story_with_controls_ends_with_one_row_a_trial(seed: int) -> None:
    rng = random.Random(seed)
    rounds = rng.randint(1, 12)
    trials = planned(("base", "a", "b")[: rng.randint(1, 3)], rounds=rounds, twin=rng.choice(["", "again"]))
    first = rng.randint(3, 6)
    rules = Rules(
        iterations=7,
        canary=rng.choice([None, CANARY]),
        precision=Precision(target=0.01, first=first, cap=rounds) if rounds >= first and rng.random() < 0.5 else None,
        budget_s=rng.choice([None, 5.0, 30.0]),
        reruns=rng.choice([None, 0, 2]),
        block_s=rng.choice([1.0, 10.0]),
    )

    def answer(work: Work) -> Measured | Failed:
        return rng.choice([HOT, REFUSED, *[measured(0.01 * rng.uniform(0.9, 1.1))] * 12])

    state = FarmState(trials, rules)
    blocks = tell(state, answer, trial_s=rng.choice([0.0, 1.0]))
    assert set(state.ended) == {trial.trial_id for trial in trials}
    timed = [work for block in blocks for work in block if work[-1].isdigit() and not work.startswith("tiny")]
    assert len(timed) <= 3 * sum(trial.purpose is Purpose.TIME for trial in trials)
