"""A search in the pure scheduler: rounds are asked for one by one, and what becomes of them when things go wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from test_rounds_end import HOT, REFUSED, measured

from android_runner.errors import Blame, Retry
from android_runner.settings import SessionSettings
from orchestrator.errors import UsageError
from orchestrator.farm.blocks import Rules
from orchestrator.farm.protocol import (
    AskRound,
    BlockEnded,
    EndTrial,
    Finish,
    PhoneGone,
    PhoneTaken,
    PhoneUp,
    Planned,
    RoundAdded,
    RunBlock,
    StopAsked,
    Work,
    WorkEnded,
)
from orchestrator.farm.state import FarmState
from orchestrator.farm.tuned import MAX_BARREN_ROUNDS, Tuner
from orchestrator.outcome import Failed, Measured, Skipped, SkipReason
from orchestrator.plan.case import Case, Purpose, Trial
from orchestrator.store.hunts import Hunt, times_of
from orchestrator.store.records import AttemptRecord, TrialRow, TrialState
from orchestrator.tuning.answer import tuned
from orchestrator.tuning.attempts import How
from orchestrator.tuning.goal import Goal

RULES = Rules(iterations=7, reruns=0)
LOST = Failed(kind="device_gone", blame=Blame.LAB, retry=Retry.NEVER, message="gone")
Answer = Callable[[Work], Measured | Failed]


def cases(threads: int = 4, variants: int = 3) -> list[Case]:
    return [
        Case(
            model_name="m", variant_id=f"v{variant}", graph_digest="g", recipe_name=f"r{variant}",
            settings=SessionSettings(intra_op_threads=count), binary_digest="b", inputs_digest="i",
            row=f"r{variant} {count}t",
        )
        for variant in range(variants)
        for count in range(1, threads + 1)
    ]  # fmt: skip


def planned(trial: Trial) -> Planned:
    return Planned(
        trial_id=f"{trial.phone}{trial.case_id[:8]}{trial.round}", case_id=trial.case_id, phone=trial.phone,
        purpose=trial.purpose, round=trial.round, position=trial.position, model="m",
    )  # fmt: skip


def hunt(phone: str = "A", budget_s: float = 300.0, seed: int = 5) -> Hunt:
    return Hunt(phone, cases(), Goal(budget_s=budget_s, trial_s=1.0, seed=seed))


def record(work: Work, phone: str, at_s: float, *, epoch: int = 1, took_s: float = 1.0) -> AttemptRecord:
    return AttemptRecord(
        attempt_id=f"{phone}{at_s}", trial_id=work.trial.trial_id if work.trial else "", run_id="r",
        case_id=work.case_id, phone=phone, fingerprint="", purpose=work.purpose.value, round=work.round,
        position=work.position, number=1, block_id="b", epoch=epoch, recorded_at=datetime(2026, 4, 12, tzinfo=UTC),
        argv=(), iterations_asked=1, exit_code=0, ending="exited", started_uptime_s=at_s,
        ended_uptime_s=at_s + took_s, slot_wait_s=0.0, before=None, after=None, outcome=measured(0.01),
    )  # fmt: skip


class Farm:
    """The loop's part: what the state asks for is done at once; a process takes a second."""

    def __init__(self, hunts: list[Hunt], answer: Answer) -> None:
        self.tuner = Tuner(hunts, planned)
        self.state = FarmState((), RULES, phones=[one.phone for one in hunts], hunting=[one.phone for one in hunts])
        self.answer = answer
        self.at_s = 0.0
        self.planned: list[Trial] = []
        self.rests_s: list[float] = []
        self.finished = False
        self.unasked: list[str] = []
        self.stop_at: Callable[[Farm], object] = lambda _: None

    def feed(self, event: object) -> None:
        commands = self.state.handle(event)  # type: ignore[arg-type]
        self.state.check()
        for command in commands:
            match command:
                case AskRound(phone):
                    found = self.tuner.question(phone)()
                    trials = found.trials if self.state.wants_round(phone) else ()
                    self.planned += trials
                    self.rests_s.append(found.rest_s)
                    self.feed(RoundAdded(phone, self.tuner.take(trials), found.rest_s))
                case EndTrial(trial, outcome):
                    self.tuner.learn(trial, outcome)
                case RunBlock(phone, works):
                    self.stop_at(self)
                    if self.state.closed is None and phone not in self.unasked:
                        self.run(phone, works)
                case Finish():
                    self.finished = True

    def run(self, phone: str, works: tuple[Work, ...]) -> None:
        ended = []
        for work in works:
            self.at_s += 1.0
            outcome = self.answer(work)
            self.tuner.saw([record(work, phone, self.at_s)])
            ended.append(WorkEnded(work, outcome))
        self.feed(BlockEnded(phone, tuple(ended), took_s=float(len(ended)), at_s=self.at_s))


def speed(work: Work) -> Measured:
    """The third variant with three threads is the best."""
    place = next(at for at, case in enumerate(cases()) if case.case_id == work.case_id)
    return measured(0.01 * (1.0 + 0.2 * abs(place // 4 - 2) + 0.1 * abs(place % 4 - 2) + 0.001 * (work.round % 3)))


def best(found: Hunt, tuner: Tuner) -> str:
    told = tuner._phone(found.phone)
    answer = tuned(found.search, found.attempts(told.ended, times_of(told.records)))
    return answer.winner.name if answer.winner is not None else ""


def test_rounds_come_until_the_best_is_known() -> None:
    one = hunt()
    farm = Farm([one], speed)
    farm.feed(PhoneUp("A"))
    assert farm.finished
    assert best(one, farm.tuner) == "r2 3t"
    assert len(farm.state.ended) == len(farm.planned) < 12 * 6
    assert {type(outcome) for outcome in farm.state.ended.values()} == {Measured}
    assert len({(trial.case_id, trial.round) for trial in farm.planned}) == len(farm.planned)
    assert [trial.position for trial in farm.planned] == list(range(len(farm.planned)))


def test_the_same_seed_asks_the_same() -> None:
    farms = [Farm([hunt(seed=seed)], speed) for seed in (5, 5, 6)]
    for farm in farms:
        farm.feed(PhoneUp("A"))
    assert farms[0].planned == farms[1].planned != farms[2].planned


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_search_that_was_cut_goes_on_as_if_it_had_not_been(rounds: int) -> None:
    whole = Farm([hunt()], speed)
    whole.feed(PhoneUp("A"))
    told = whole.tuner._phone("A")
    early = [trial for trial in whole.planned if trial.round <= rounds]
    rows = [
        TrialRow(
            trial=trial, trial_id=planned(trial).trial_id, state=TrialState.MEASURED,
            outcome=told.ended[trial.case_id, trial.round], attempt_id="a",
        )
        for trial in early
    ]  # fmt: skip
    later = Tuner([hunt()], planned, rows, [one for one in told.records if one.round <= rounds])
    assert list(later.question("A")().trials) == [trial for trial in whole.planned if trial.round == rounds + 1]


def test_what_was_spoiled_costs_time_and_rest_and_is_asked_for_again() -> None:
    def answer(work: Work) -> Measured | Failed:
        return HOT if work.round == 1 else speed(work)

    one = hunt()
    farm = Farm([one], answer)
    farm.feed(PhoneUp("A"))
    assert farm.rests_s[:2] == [0.0, 30.0]
    assert best(one, farm.tuner) == "r2 3t"
    told = farm.tuner._phone("A")
    attempts = one.attempts(told.ended, times_of(told.records))
    assert sum(each.how is How.SPOILED for each in attempts) == 12
    assert sum(each.took_s for each in attempts) == pytest.approx(len(attempts))


def test_a_setting_that_is_refused_is_asked_once_and_never_wins() -> None:
    def answer(work: Work) -> Measured | Failed:
        return REFUSED if work.case_id == cases()[10].case_id else speed(work)

    one = hunt()
    farm = Farm([one], answer)
    farm.feed(PhoneUp("A"))
    asked = [trial for trial in farm.planned if trial.case_id == cases()[10].case_id]
    assert len(asked) == 1
    assert best(one, farm.tuner) not in ("", cases()[10].row)


def test_a_variant_out_of_tolerance_is_left_out_from_then_on() -> None:
    farm = Farm([one := hunt()], speed)
    farm.stop_at = lambda self: self.tuner.bar("v2") if len(self.state.ended) > 12 else None
    farm.feed(PhoneUp("A"))
    assert best(one, farm.tuner) == "r1 3t"
    last = max(trial.round for trial in farm.planned)
    assert not {trial.case_id for trial in farm.planned if trial.round == last} & {
        case.case_id for case in cases() if case.variant_id == "v2"
    }
    for variant in ("v0", "v1"):
        farm.tuner.bar(variant)
    assert farm.tuner.question("A")().trials == ()


def test_a_lost_phone_keeps_what_it_has_shown_and_the_other_goes_on() -> None:
    farm = Farm([hunt("A"), hunt("B")], speed)
    farm.unasked = ["B"]
    farm.feed(PhoneUp("B"))
    farm.feed(PhoneGone("B", "no answer"))
    farm.feed(PhoneUp("A"))
    assert farm.finished
    ended = farm.state.ended
    assert len(ended) == len(farm.planned)
    lost = [outcome for name, outcome in ended.items() if name.startswith("B")]
    assert lost == [Skipped(reason=SkipReason.PHONE_LOST)] * 12
    assert all(isinstance(outcome, Measured) for name, outcome in ended.items() if name.startswith("A"))


def test_a_phone_that_is_taken_gets_no_further_round() -> None:
    farm = Farm([hunt()], speed)
    farm.stop_at = lambda self: self.feed(PhoneTaken("A", "held")) if not self.state.lanes["A"].taken else None
    farm.feed(PhoneUp("A"))
    assert farm.finished
    assert {trial.round for trial in farm.planned} == {1}


def test_nothing_more_is_asked_once_the_run_is_told_to_stop() -> None:
    farm = Farm([hunt()], speed)
    farm.feed(StopAsked())
    farm.feed(PhoneUp("A"))
    assert farm.finished
    assert farm.planned == []


def test_a_search_of_which_the_lab_spoils_everything_ends() -> None:
    farm = Farm([hunt()], lambda _: replace(LOST, kind="lease_lost"))
    farm.feed(PhoneUp("A"))
    assert farm.finished
    assert max(trial.round for trial in farm.planned) == MAX_BARREN_ROUNDS
    assert {type(outcome) for outcome in farm.state.ended.values()} == {Failed}


def test_time_is_what_lies_between_tries_of_one_claim() -> None:
    def work(number: int, purpose: Purpose) -> Work:
        return Work(case_id="c", purpose=purpose, iterations=1, round=number, position=0)

    tries = [
        record(work(0, Purpose.CALIBRATE), "A", 100.0),
        record(work(1, Purpose.TIME), "A", 102.0),
        record(work(2, Purpose.CANARY), "A", 110.0),
        record(work(2, Purpose.TIME), "A", 112.0),
        record(work(3, Purpose.TIME), "A", 5000.0, epoch=2),
        replace(record(work(4, Purpose.TIME), "A", 20.0, epoch=2), block_id="c"),  # it has booted
        replace(record(work(5, Purpose.TIME), "A", 0.0), started_uptime_s=None),
    ]
    assert times_of(tries) == {
        ("c", 1): (102.0, 3.0),
        ("c", 2): (112.0, 10.0),
        ("c", 3): (5000.0, 1.0),
        ("c", 4): (20.0, 1.0),
    }


def test_a_search_that_can_not_end_well_is_refused() -> None:
    with pytest.raises(UsageError, match="below one round"):
        hunt(budget_s=3.0)
