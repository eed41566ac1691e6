"""What faults cost, in simulated time: the pure scheduler against phones whose links, or which themselves, go and come.

The phone's part is that of the true one: a block that was handed over runs on without the link, what it finished stays
there, and is fetched when the phone can be reached again.
"""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import pytest

from android_runner.errors import Blame, Retry
from android_runner.recovery.climb import Patience
from orchestrator.farm.blocks import Canary, Rules
from orchestrator.farm.protocol import (
    BlockEnded,
    EndTrial,
    Event,
    Finish,
    PhoneAdded,
    PhoneGone,
    PhoneUp,
    Planned,
    RunBlock,
    Tick,
    Work,
    WorkEnded,
)
from orchestrator.farm.state import FarmState
from orchestrator.outcome import Failed, Measured
from orchestrator.plan.case import Purpose
from orchestrator.plan.length import Calibration

MEAN_UP_S, MEAN_DOWN_S = 120.0, 30.0
LOST_AFTER_S = Patience().given_up_s
HOUR_S = 3600.0
TRIAL_S, SHORT_S = 2.5, 0.6
"""A timed process of two seconds with its start and snapshots; a calibration, or a canary."""
HAND_OVER_S = 0.5
"""From a block's end to the next one's start, with nothing in the way."""
LOST = Failed(kind="lost", blame=Blame.LAB, retry=Retry.HERE, message="nothing says how it ended")
RULES = Rules(canary=Canary(case_id="canary", iterations=1))
PHONES = 3
HOURS = 3


def planned(phone: str, cases: int = 10, rounds: int = 440) -> list[Planned]:
    return [
        Planned(
            trial_id=f"{phone}-{round_}-{case}", case_id=f"c{case}", phone=phone, purpose=Purpose.TIME,
            round=round_, position=round_ * cases + case,
        )
        for round_ in range(1, rounds + 1)
        for case in range(cases)
    ]  # fmt: skip


@dataclass(slots=True)
class Weather:
    """When one phone is down: begins and ends of faults, in seconds."""

    downs: list[tuple[float, float]] = field(default_factory=list)

    @classmethod
    def drawn(cls, seed: int) -> Weather:
        rng, at_s, downs = random.Random(seed), 0.0, []
        while at_s < 2 * HOURS * HOUR_S:
            begin_s = at_s + rng.expovariate(1 / MEAN_UP_S)
            at_s = begin_s + rng.expovariate(1 / MEAN_DOWN_S)
            downs.append((begin_s, at_s))
        return cls(downs)

    def up_from(self, at_s: float) -> float:
        """The first moment from then on at which it is up."""
        return next((end for begin, end in self.downs if begin <= at_s < end), at_s)

    def next_down(self, at_s: float) -> float:
        return next((begin for begin, _ in self.downs if begin > at_s), float("inf"))


Fate = Callable[["Lab", RunBlock, float], None]


class Lab:
    """Phones in simulated time; `fate` posts what becomes of a block."""

    def __init__(
        self, trials: Sequence[Planned], fate: Fate, weather: dict[str, Weather], rules: Rules = RULES
    ) -> None:
        self.state = FarmState(trials, rules)
        self.fate = fate
        self.weather = weather
        self.measured: dict[str, list[float]] = defaultdict(list)
        self.finished_s: float | None = None
        self._order = count()
        self._coming: list[tuple[float, int, Event]] = []
        for phone in self.state.lanes:
            self.post(0.0, PhoneUp(phone))

    def post(self, at_s: float, event: Event) -> None:
        heapq.heappush(self._coming, (at_s, next(self._order), event))

    def run(self, until_s: float) -> Lab:
        """Until nothing comes any more, or the time is up."""
        while self._coming and self._coming[0][0] <= until_s:
            at_s, _, event = heapq.heappop(self._coming)
            if isinstance(event, BlockEnded):
                event = replace(event, at_s=at_s)
            for command in self.state.handle(event):
                match command:
                    case RunBlock():
                        self.fate(self, command, at_s + HAND_OVER_S)
                    case EndTrial(trial, Measured()):
                        self.measured[trial.phone].append(at_s)
                    case Finish():
                        self.finished_s = at_s
        self.state.check()
        return self

    @property
    def total(self) -> int:
        return sum(map(len, self.measured.values()))


def took_s(work: Work) -> float:
    return TRIAL_S if work.purpose is Purpose.TIME else SHORT_S


def went_well(work: Work) -> WorkEnded:
    return WorkEnded(work, Measured(figures=None), Calibration(work.iterations, 0.01) if work.trial is None else None)


def all_well(block: RunBlock) -> BlockEnded:
    return BlockEnded(block.phone, tuple(map(went_well, block.works)), took_s=sum(map(took_s, block.works)))


def nothing_goes_wrong(lab: Lab, block: RunBlock, at_s: float) -> None:
    lab.post(at_s + sum(map(took_s, block.works)), all_well(block))


def the_link_comes_and_goes(lab: Lab, block: RunBlock, at_s: float) -> None:
    """Handed over when the link is there, fetched when it is there again; the phone works on meanwhile."""
    weather = lab.weather[block.phone]
    begin_s = weather.up_from(at_s)
    if begin_s - at_s > LOST_AFTER_S:  # it is followed when it comes back, and turns out never to have begun
        lab.post(at_s + LOST_AFTER_S, PhoneGone(block.phone, "no answer"))
        lab.post(begin_s, BlockEnded(block.phone, (), block.works))
        return
    end_s = begin_s + sum(map(took_s, block.works))
    home_s = weather.up_from(end_s)
    for down_s, up_s in weather.downs:
        if begin_s < down_s < home_s and up_s - down_s > LOST_AFTER_S:
            lab.post(down_s + LOST_AFTER_S, PhoneGone(block.phone, "no answer"))
            lab.post(up_s, PhoneUp(block.phone))
    lab.post(home_s, all_well(block))


def the_phone_stops_and_starts(lab: Lab, block: RunBlock, at_s: float) -> None:
    """What it had finished is there when it is up again; what it was at is lost."""
    weather = lab.weather[block.phone]
    begin_s = weather.up_from(at_s)
    stop_s = weather.next_down(begin_s)
    ended: list[WorkEnded] = []
    end_s = begin_s
    for at, work in enumerate(block.works):
        end_s += took_s(work)
        if end_s > stop_s:
            up_s = weather.up_from(stop_s)
            if up_s - stop_s > LOST_AFTER_S:
                lab.post(stop_s + LOST_AFTER_S, PhoneGone(block.phone, "no answer"))
            spent_s = sum(took_s(one.work) for one in ended)
            event = BlockEnded(block.phone, (*ended, WorkEnded(work, LOST)), block.works[at + 1 :], took_s=spent_s)
            lab.post(up_s, event)
            return
        ended.append(went_well(work))
    lab.post(end_s, BlockEnded(block.phone, tuple(ended), took_s=end_s - begin_s))


def some_hours(fate: Fate, seed: int) -> int:
    """How many trials these phones measure in their hours."""
    names = [f"P{number}" for number in range(PHONES)]
    weather = {name: Weather.drawn(1000 * seed + number) for number, name in enumerate(names)}
    return Lab([one for name in names for one in planned(name)], fate, weather).run(HOURS * HOUR_S).total


@pytest.fixture(scope="module")
def fault_free() -> int:
    return some_hours(nothing_goes_wrong, 0)


@pytest.mark.parametrize("seed", [1, 2])
def test_link_faults_leave_95_percent_of_the_throughput(fault_free: int, seed: int) -> None:
    share = some_hours(the_link_comes_and_goes, seed) / fault_free
    print(f"{share:.1%}")
    assert 0.95 <= share <= 1.0


@pytest.mark.parametrize("seed", [1, 2])
def test_faults_that_stop_the_phone_leave_70_percent(fault_free: int, seed: int) -> None:
    share = some_hours(the_phone_stops_and_starts, seed) / fault_free
    print(f"{share:.1%}")
    assert 0.70 <= share <= 1.0


def test_a_phone_that_hangs_for_ever_costs_the_others_nothing() -> None:
    names = ["A", "B", "C"]
    few = [one for name in names for one in planned(name, rounds=8)]

    def hangs(lab: Lab, block: RunBlock, at_s: float) -> None:
        if block.phone != "A":
            nothing_goes_wrong(lab, block, at_s)

    well = Lab(few, nothing_goes_wrong, {}).run(HOUR_S)
    ill = Lab(few, hangs, {})
    for second in range(0, 5000, 10):
        ill.post(float(second), Tick(float(second)))
    ill.run(2 * HOUR_S)
    assert {name: ill.measured[name] for name in "BC"} == {name: well.measured[name] for name in "BC"}
    assert len(ill.measured["B"]) == 80
    assert ill.measured["A"] == []
    assert ill.finished_s is not None
    assert len(ill.state.ended) == 240


def test_what_hangs_on_one_phone_of_a_pool_is_measured_by_the_other() -> None:
    pool = ("A", "B")
    trials = [replace(one, pool=pool) for one in planned("A", cases=3, rounds=4)]

    def hangs(lab: Lab, block: RunBlock, at_s: float) -> None:
        if block.phone != "A":
            nothing_goes_wrong(lab, block, at_s)

    lab = Lab(trials, hangs, {}, replace(RULES, silent_s=300.0))
    lab.state.handle(PhoneAdded("B", ()))
    lab.post(0.0, PhoneUp("B"))
    for second in range(0, 400, 10):
        lab.post(float(second), Tick(float(second)))
    lab.run(HOUR_S)
    assert len(lab.measured["B"]) == 12
    assert lab.finished_s is not None
    assert lab.finished_s < 400.0
