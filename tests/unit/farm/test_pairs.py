"""The pure scheduler with A held against B: when a pair's rounds end early, and what then becomes of its trials."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from test_rounds_end import measured, reasons, tell

from android_runner.errors import Blame, Retry
from orchestrator.farm.blocks import Canary, Rules
from orchestrator.farm.protocol import Planned, Work
from orchestrator.farm.state import FarmState
from orchestrator.measure.sequential import Looks
from orchestrator.outcome import Failed, Measured, Skipped
from orchestrator.plan.case import Purpose, Side

CAP = 30
RULES = Rules(iterations=7, looks=Looks(0.02, CAP))
REFUSED = Failed(kind="setting_refused", blame=Blame.PLAN, retry=Retry.NEVER, message="no")
CRASHED = Failed(kind="crashed", blame=Blame.MODEL, retry=Retry.HERE, message="signal 11")


def pairs(*names: str, rounds: int = CAP) -> list[Planned]:
    """Rounds of pairs, A B in odd ones, B A in even ones; then a trace of each case."""
    timed = [
        Planned(
            trial_id=f"{name}{side}{number}", case_id=f"{name}{side}", phone="A", purpose=Purpose.TIME, round=number,
            position=0, model=name, side=side, pair=name,
        )
        for number in range(1, rounds + 1)
        for name in names
        for side in (list(Side) if number % 2 else reversed(Side))
    ]  # fmt: skip
    traced = [
        replace(one, trial_id=f"{one.case_id}T", purpose=Purpose.TRACE, round=1) for one in timed[: 2 * len(names)]
    ]
    return [replace(one, position=at) for at, one in enumerate(timed + traced)]


def faster(by: float, noise: float = 0.002, seed: int = 3) -> Callable[[Work], Measured]:
    """B is faster by a fraction, A's p50s around 10 ms."""
    dice = random.Random(seed)

    def answer(work: Work) -> Measured:
        advantage = math.log1p(by) if work.case_id.endswith("B") else 0.0
        return measured(0.01 * math.exp(dice.gauss(0, noise) - advantage))

    return answer


def measured_rounds(state: FarmState) -> dict[str, int]:
    """How many timed trials of each case measured."""
    found: dict[str, int] = {}
    for name, outcome in state.ended.items():
        if isinstance(outcome, Measured) and not name.endswith("T"):
            case = name.rstrip("0123456789")
            found[case] = found.get(case, 0) + 1
    return found


@pytest.mark.parametrize("by", [0.2, 0.0, -0.2])
def test_a_clear_pair_ends_at_its_first_look_and_the_rest_is_skipped(by: float) -> None:
    state = FarmState(pairs("m"), RULES)
    tell(state, faster(by))
    assert measured_rounds(state) == {"mA": 6, "mB": 6}
    skipped = reasons(dict(state.ended))
    assert {why: len(names) for why, names in skipped.items()} == {"resolved early": 2 * (CAP - 6)}
    words = {one.message for one in state.ended.values() if isinstance(one, Skipped)}
    assert words == {f"6 pairs decide: {'within' if by == 0 else 'beyond'} ± 2.0%"}


def test_a_difference_as_large_as_what_matters_is_measured_to_the_end() -> None:
    state = FarmState(pairs("m"), RULES)
    tell(state, faster(0.02, noise=0.005))
    assert measured_rounds(state) == {"mA": CAP, "mB": CAP}


def test_pairs_end_one_by_one() -> None:
    def answer(work: Work) -> Measured:
        return (clear if work.case_id.startswith("clear") else close)(work)

    clear, close = faster(0.3), faster(0.02, noise=0.01)
    state = FarmState(pairs("clear", "close"), RULES)
    tell(state, answer)
    assert measured_rounds(state) == {"clearA": 6, "clearB": 6, "closeA": CAP, "closeB": CAP}


def test_a_block_ends_where_pairs_are_looked_at() -> None:
    blocks = tell(
        FarmState(pairs("m"), replace(RULES, canary=Canary(case_id="tiny", iterations=9))), faster(0.02, 0.05)
    )
    timed = [[int(name[2:]) for name in block if name[:2] in ("mA", "mB") and name[2:] != "T"] for block in blocks]
    last = [max(rounds) for rounds in timed if rounds]
    assert set(RULES.looks.at if RULES.looks else ()) <= set(last)


def test_what_is_not_timed_is_asked_all_the_same() -> None:
    state = FarmState(pairs("m"), RULES)
    tell(state, faster(0.5))
    assert isinstance(state.ended["mAT"], Measured)
    assert isinstance(state.ended["mBT"], Measured)


def test_without_its_other_side_nothing_more_is_measured() -> None:
    def answer(work: Work) -> Measured | Failed:
        return REFUSED if work.case_id == "mB" else measured(0.01)

    state = FarmState(pairs("m"), RULES)
    tell(state, answer)
    assert measured_rounds(state) == {"mA": 1}
    words = {one.message for one in state.ended.values() if isinstance(one, Skipped)}
    assert words == {"the other side has no figure in this round"}
    assert sum(isinstance(one, Failed) for one in state.ended.values()) == CAP + 1  # its trace is refused, too


def test_a_round_that_one_side_lost_is_no_pair() -> None:
    well = faster(0.2)

    def answer(work: Work) -> Measured | Failed:
        return CRASHED if (work.case_id, work.round) == ("mA", 3) and work.purpose is Purpose.TIME else well(work)

    state = FarmState(pairs("m"), RULES)
    tell(state, answer)
    counts = measured_rounds(state)
    assert counts == {"mA": 9, "mB": 10}  # the sixth pair came in a block that goes as far as the next look
    assert isinstance(state.ended["mA3"], Failed)


def test_a_run_that_goes_on_knows_its_pairs() -> None:
    """What an earlier process measured decides together with what this one does."""
    trials = pairs("m")
    first = FarmState(trials, RULES)
    tell(first, faster(0.2))
    known = [(one, outcome) for one in trials if isinstance(outcome := first.ended[one.trial_id], Measured)]
    left = [one for one in trials if one.trial_id not in {trial.trial_id for trial, _ in known}]
    state = FarmState(left, RULES, phones=["A"], measured=known)
    tell(state, faster(0.2))
    assert measured_rounds(state) == {}


def test_figures_that_are_none_decide_nothing() -> None:
    state = FarmState(pairs("m"), RULES)
    tell(state, lambda work: measured(0.0 if work.case_id == "mB" else math.inf))
    assert all(not isinstance(one, Skipped) or "other side" in one.message for one in state.ended.values())
