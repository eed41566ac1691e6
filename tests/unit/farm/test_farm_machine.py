"""The pure scheduler as a state machine: phones come, go, come back and are taken away in any order."""

from __future__ import annotations

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from android_runner.errors import Blame, Retry
from orchestrator.farm.blocks import Canary, Rules
from orchestrator.farm.protocol import (
    BlockEnded,
    Command,
    EndTrial,
    Event,
    Finish,
    Heard,
    MoveTrial,
    PhoneAdded,
    PhoneGone,
    PhoneTaken,
    PhoneUp,
    Planned,
    RunBlock,
    StopAsked,
    Tick,
    Work,
    WorkEnded,
)
from orchestrator.farm.retry import MAX_ATTEMPTS
from orchestrator.farm.state import FarmState
from orchestrator.outcome import INVALID, Failed, Measured
from orchestrator.plan.case import Purpose
from orchestrator.plan.length import Calibration
from orchestrator.plan.series import series_for

PURPOSES = [Purpose.TIME, Purpose.TIME, Purpose.TIME, Purpose.INTROSPECT, Purpose.TRACE, Purpose.SUSTAIN]
OUTCOMES = [
    Measured(figures=None),
    *(
        Failed(kind=kind, blame=blame, retry=retry, message=kind)
        for kind, blame, retry in (
            ("lost", Blame.LAB, Retry.HERE), ("lease_lost", Blame.LAB, Retry.LATER), (INVALID, Blame.LAB, Retry.HERE),
            ("crashed", Blame.RUNTIME, Retry.ELSEWHERE), ("setting_refused", Blame.PLAN, Retry.NEVER),
            ("phone_full", Blame.LAB, Retry.ELSEWHERE), ("unreadable", Blame.US, Retry.NEVER),
        )
    ),
]  # fmt: skip
outcomes = st.sampled_from([OUTCOMES[0]] * 6 + OUTCOMES)


def trials_of(phone: str, pool: tuple[str, ...]) -> list[Planned]:
    names = [(purpose, round_, case) for round_, purpose in enumerate(PURPOSES, start=1) for case in range(2)]
    return [
        Planned(
            trial_id=f"{phone}-{round_}-{case}", case_id=f"c{case}", phone=phone, purpose=purpose,
            round=round_, position=at, pool=pool,
        )
        for at, (purpose, round_, case) in enumerate(names)
    ]  # fmt: skip


class Farm(RuleBasedStateMachine):
    """What a loop, its lanes and a lab may do to the state, and what must hold whatever they do."""

    @initialize(calibrates=st.booleans(), pooled=st.booleans(), canary=st.booleans())
    def begin(self, calibrates: bool, pooled: bool, canary: bool) -> None:
        self.pool = tuple("ABCD") if pooled else ()
        rules = Rules(
            iterations=None if calibrates else 3,
            canary=Canary(case_id="canary", iterations=1) if canary else None,
            silent_s=100.0,
            series=series_for(1.0),
        )
        asked = [*trials_of("A", self.pool), *trials_of("B", ())]
        self.state = FarmState(asked, rules, phones=["A", "B"])
        self.asked = {one.trial_id for one in asked}
        self.at_s = 0.0
        self.rows: dict[str, EndTrial] = {}
        self.blocks: dict[str, list[RunBlock]] = {}
        self.tries: dict[tuple[str, str], int] = {}
        self.where = {one.trial_id: one.phone for one in asked}
        self.finished = False

    def tell(self, event: Event) -> None:
        for command in self.state.handle(event):
            self.obey(command)

    def obey(self, command: Command) -> None:
        assert not self.finished, "a command after the end"
        match command:
            case RunBlock(phone, works):
                assert works, "an empty block"
                self.blocks.setdefault(phone, []).append(command)
                for work in works:
                    if work.trial is not None:
                        name = work.trial.trial_id
                        assert name not in self.rows, "asked again after its end"
                        assert self.where[name] == phone, "asked of a phone that it was not moved to"
            case MoveTrial(trial, left):
                assert trial.phone in self.pool
                assert self.where[trial.trial_id] == left != trial.phone
                self.where[trial.trial_id] = trial.phone
            case EndTrial(trial):
                assert trial.trial_id not in self.rows, "a second row"
                self.rows[trial.trial_id] = command
            case Finish():
                self.finished = True
            case _:
                pass

    def ended(self, work: Work, outcome: Measured | Failed) -> WorkEnded:
        if work.trial is not None:
            key = (work.trial.trial_id, work.trial.phone)
            self.tries[key] = self.tries.get(key, 0) + 1
            assert self.tries[key] <= MAX_ATTEMPTS, "asked too often"
        calibrated = work.purpose is Purpose.CALIBRATE and isinstance(outcome, Measured)
        return WorkEnded(work, outcome, Calibration(work.iterations, 0.05) if calibrated else None)

    living = precondition(lambda self: not self.finished)

    @living
    @rule(phone=st.sampled_from("AB"))
    def comes_up(self, phone: str) -> None:
        self.tell(PhoneUp(phone))

    @living
    @rule(phone=st.sampled_from("CDEF"), spare=st.booleans())
    def is_plugged_in(self, phone: str, spare: bool) -> None:
        if phone in self.state.lanes:
            return
        trials = () if spare else tuple(trials_of(phone, self.pool if phone in self.pool else ()))
        self.asked |= {one.trial_id for one in trials}
        self.where |= {one.trial_id: phone for one in trials}
        self.tell(PhoneAdded(phone, trials))
        if not self.finished:
            self.tell(PhoneUp(phone))

    @living
    @precondition(lambda self: any(self.blocks.values()))
    @rule(data=st.data())
    def a_block_ends(self, data: st.DataObject) -> None:
        phone = data.draw(st.sampled_from(sorted(name for name, blocks in self.blocks.items() if blocks)))
        block = self.blocks[phone].pop(0)
        self.at_s += 1.0
        cut = data.draw(st.integers(0, len(block.works)))
        drawn = data.draw(st.lists(outcomes, min_size=cut, max_size=cut))
        done = tuple(map(self.ended, block.works, drawn))
        left = block.works[cut:]
        failure = data.draw(st.sampled_from([None, None, *OUTCOMES[1:]])) if not cut else None
        if failure is not None:
            for work in left:
                self.ended(work, failure)
        self.tell(BlockEnded(phone, done, left, failure, took_s=0.5, at_s=self.at_s))

    @living
    @rule(data=st.data(), for_good=st.sampled_from([False, False, False, True]))
    def is_lost(self, data: st.DataObject, for_good: bool) -> None:
        phone = data.draw(st.sampled_from(sorted(self.state.lanes)))
        self.tell(PhoneGone(phone, "cable", for_good))

    @living
    @rule(data=st.data())
    def is_back(self, data: st.DataObject) -> None:
        phone = data.draw(st.sampled_from(sorted(self.state.lanes)))
        self.tell(data.draw(st.sampled_from([PhoneUp(phone), Heard(phone, self.at_s)])))

    @living
    @rule(seconds=st.floats(0.0, 80.0))
    def time_goes_by(self, seconds: float) -> None:
        self.at_s += seconds
        self.tell(Tick(self.at_s))

    @living
    @rule(data=st.data())
    def is_held(self, data: st.DataObject) -> None:
        if data.draw(st.integers(0, 5)) == 0:
            self.tell(PhoneTaken(data.draw(st.sampled_from(sorted(self.state.lanes))), "held by nina"))

    @living
    @rule(kill=st.booleans(), luck=st.integers(0, 9))
    def is_stopped(self, kill: bool, luck: int) -> None:
        if luck == 0:
            self.tell(StopAsked(kill))

    @precondition(lambda self: self.finished)
    @rule()
    def after_the_end_nothing_is_told(self) -> None:
        assert self.state.handle(Tick(self.at_s + 1e6)) == []

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "state"):
            self.state.check()
            assert self.rows.keys() == self.state.ended.keys()
            assert not self.finished or self.rows.keys() == self.asked

    def teardown(self) -> None:
        """From wherever the story stands, a good lab brings it to its end."""
        if not hasattr(self, "state"):
            return
        for phone in list(self.state.lanes):
            if not self.finished:
                self.tell(PhoneUp(phone))
        while not self.finished:
            phone = next(name for name, blocks in self.blocks.items() if blocks)
            block = self.blocks[phone].pop(0)
            done = tuple(self.ended(work, OUTCOMES[0]) for work in block.works)
            self.tell(BlockEnded(phone, done, took_s=0.5, at_s=self.at_s))
            self.state.check()
        assert self.rows.keys() == self.asked


TestFarm = Farm.TestCase
TestFarm.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, report_multiple_bugs=False, phases=[Phase.generate]
)
