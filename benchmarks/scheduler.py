"""The pure scheduler alone: 1,000 lanes and 100,000 trials in a lab where things go wrong, checked all along.

No clock, no thread, no phone: a seeded story answers the farm's commands with events. After each event the invariants
that it can touch are asserted, all of them every 1,000 events and at the end. Some phones come while the run lasts,
some are lost and come back, some pairs of phones may take each other's trials.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from android_runner.errors import Blame, Retry
from benchmarks.row import Row
from orchestrator.farm.blocks import Rules
from orchestrator.farm.protocol import (
    BlockEnded,
    Command,
    EndTrial,
    Event,
    Finish,
    FixIterations,
    GiveUp,
    MoveTrial,
    PhoneAdded,
    PhoneGone,
    PhoneUp,
    Planned,
    RunBlock,
    StopAsked,
    StopPhone,
    Tick,
    Work,
    WorkEnded,
)
from orchestrator.farm.state import FarmState
from orchestrator.outcome import Failed, Measured
from orchestrator.plan.case import Purpose
from orchestrator.plan.length import Calibration

LANES, CASES, ROUNDS = 1_000, 20, 5
GOAL_S = 30.0
PLUGGED = 0.1
"""The share of phones that come while the run lasts."""
REPEATS = 3
CHECK_ALL_EVERY = 1_000
MEASURED = Measured(figures=None)
REFUSED = Failed(kind="setting_refused", blame=Blame.PLAN, retry=Retry.NEVER, message="no such option")
CRASHED = Failed(kind="crashed", blame=Blame.RUNTIME, retry=Retry.ELSEWHERE, message="SIGSEGV")
LOST = Failed(kind="lost", blame=Blame.LAB, retry=Retry.HERE, message="gone")


@dataclass(slots=True)
class Told:
    """How a story went."""

    events: int = 0
    blocks: int = 0
    asked: int = 0
    plugged: int = 0
    moved: int = 0
    rows: dict[str, str] = field(default_factory=dict)
    finished: bool = False
    seconds_s: float = 0.0


def trials_of(lanes: int, cases: int, rounds: int) -> list[Planned]:
    """A full matrix: every lane has every case in every round. Every fifth lane and its neighbour are a pool."""

    def pool(lane: int) -> tuple[str, ...]:
        return (f"phone{lane}", f"phone{lane ^ 1}") if min(lane, lane ^ 1) % 10 == 0 else ()

    return [
        Planned(
            trial_id=f"{lane}-{round_}-{case}", case_id=f"case{case}", phone=f"phone{lane}", purpose=Purpose.TIME,
            round=round_, position=round_ * cases + case, pool=pool(lane),
        )
        for lane in range(lanes)
        for round_ in range(rounds)
        for case in range(cases)
    ]  # fmt: skip


class Story:
    """Plays a lab against a `FarmState`: mostly well, sometimes lost processes, refused settings, dead phones."""

    def __init__(self, trials: Sequence[Planned], seed: int, *, stop_at: int | None = None, plug: float = 0.0) -> None:
        """`stop_at`: the event, by number, before which Ctrl-C is pressed. `plug`: the share of phones that are not
        there at the start, and come at any time."""
        self.rng = random.Random(seed)
        by_phone: dict[str, list[Planned]] = {}
        for trial in trials:
            by_phone.setdefault(trial.phone, []).append(trial)
        later = {phone for phone in by_phone if self.rng.random() < plug}
        there = [trial for trial in trials if trial.phone not in later]
        self.state = FarmState(there, Rules())
        self.stop_at = stop_at
        self.told = Told(asked=len(there))
        self.coming: list[Event] = [PhoneUp(phone) for phone in self.state.lanes]
        self.coming += [PhoneAdded(phone, tuple(by_phone[phone])) for phone in sorted(later)]

    def tell(self) -> Told:
        """Until nothing comes any more. Raises AssertionError when an invariant breaks."""
        begin_s = time.perf_counter()
        while self.coming:
            self._take(self._next())
        self.state.check()
        self.told.seconds_s = time.perf_counter() - begin_s
        return self.told

    def _next(self) -> Event:
        """Phones answer in any order."""
        if self.told.events == self.stop_at:
            return StopAsked()
        at = self.rng.randrange(len(self.coming))
        self.coming[at], self.coming[-1] = self.coming[-1], self.coming[at]
        return self.coming.pop()

    def _take(self, event: Event) -> None:
        self.told.events += 1
        if isinstance(event, PhoneAdded):
            if self.told.finished:  # too late: nothing was asked of it
                return
            self.told.asked += len(event.trials)
            self.told.plugged += 1
            self.coming.append(PhoneUp(event.phone))
        before = len(self.state.ended)
        commands = self.state.handle(event)
        rows = sum(isinstance(command, EndTrial) for command in commands)
        assert len(self.state.ended) == before + rows, "a trial ended without its row"
        if isinstance(event, StopAsked | Tick) or self.told.events % CHECK_ALL_EVERY == 0:
            self.state.check()
        else:
            self.state.check_lane(event.phone)
        for command in commands:
            self._obey(command)

    def _obey(self, command: Command) -> None:
        match command:
            case RunBlock():
                assert not self.told.finished, "a block after the end"
                self.told.blocks += 1
                self.coming.append(self._answer(command))
            case EndTrial(trial, outcome):
                assert trial.trial_id not in self.told.rows, "a trial has two rows"
                self.told.rows[trial.trial_id] = type(outcome).__name__
            case Finish():
                assert not self.told.finished, "the end comes twice"
                self.told.finished = True
            case MoveTrial():
                self.told.moved += 1
            case FixIterations() | StopPhone() | GiveUp():
                pass

    def _answer(self, block: RunBlock) -> Event:
        luck = self.rng.random()
        if luck < 0.002:
            if luck < 0.001:  # comes back with its block
                ended = tuple(map(self._ended, block.works))
                self.coming.append(BlockEnded(block.phone, ended, took_s=1.0))
            return PhoneGone(block.phone, "cable", for_good=luck > 0.0015)
        if luck < 0.01:
            return BlockEnded(block.phone, (), block.works, LOST)
        cut = self.rng.randrange(len(block.works)) if luck < 0.03 else len(block.works)
        ended = tuple(map(self._ended, block.works[:cut]))
        return BlockEnded(block.phone, ended, block.works[cut:], took_s=self.rng.uniform(0.0, 4.0) * cut)

    def _ended(self, work: Work) -> WorkEnded:
        luck = self.rng.random()
        if luck < 0.001:
            return WorkEnded(work, REFUSED)
        if luck < 0.004:
            return WorkEnded(work, CRASHED)
        if luck < 0.02:
            return WorkEnded(work, LOST)
        return WorkEnded(work, MEASURED, Calibration(work.iterations, 0.002) if work.trial is None else None)


def run() -> Row:
    """The row of the speed table."""
    told = []
    for seed in range(REPEATS):
        story = Story(trials_of(LANES, CASES, ROUNDS), seed, plug=PLUGGED)
        told.append(story.tell())
        assert told[-1].finished
        assert len(told[-1].rows) == told[-1].asked
    worst = max(one.seconds_s for one in told)
    outcomes = list(told[-1].rows.values())
    kinds = ", ".join(f"{outcomes.count(kind)} {kind.lower()}" for kind in sorted(set(outcomes)))
    return Row(
        name="scheduler",
        goal=f"1,000 lanes × 100,000 trials, hot-plug, ≤ {GOAL_S:g} s",
        figure=f"{worst:.1f} s",
        met=worst <= GOAL_S,
        detail=(
            f"slowest of {REPEATS} seeded stories, invariants asserted all along; the last: "
            f"{told[-1].events} events, {told[-1].blocks} blocks, {told[-1].plugged} phones plugged in meanwhile, "
            f"{told[-1].moved} trials moved, {kinds}"
        ),
    )
