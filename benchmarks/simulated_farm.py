"""One simulated phone measured twice: by a plain loop, as people do today, and by this program's own policy.

The policy is not copied: order (`orchestrator.plan.order`), blocks, canaries, re-runs, budget and stopping
(`orchestrator.farm.state`), the verdict on an attempt (`android_runner.validity`) are the functions that measure true
phones. Only the gate before a trial is said again here: the true one is shell and lives on the phone.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol

from android_runner.block import GateOutcome
from android_runner.facts import Vitals
from android_runner.ort import ExecutionProvider
from android_runner.others import load_by_others
from android_runner.settings import SessionSettings
from android_runner.validity import Limits, Standing, judge_validity
from android_runner.virtual.heat.simulated import SimulatedPhone
from orchestrator.farm.blocks import Canary, Rules
from orchestrator.farm.enough import Precision
from orchestrator.farm.protocol import BlockEnded, EndTrial, Event, PhoneUp, Planned, RunBlock, Work, WorkEnded
from orchestrator.farm.state import FarmState
from orchestrator.measure.interval import FIRST_STAGE
from orchestrator.outcome import Failed, Figures, Measured, rejected
from orchestrator.plan.case import Case, Purpose, Trial
from orchestrator.plan.order import trials_of

RATIOS = {"base": 1.0, "90": 0.90, "97": 0.97, "100": 1.00, "103": 1.03}
"""Latency against that of the baseline at equal clocks: the truth."""
WORK_S = 5.0
"""A trial's inferences at the top clock. A case with a lower latency does more of them."""
CANARY_WORK_S = 0.3
START_S = 0.6
"""A process that starts and makes its session."""
SNAPSHOTS_S = 0.3
"""Both snapshots of the vitals: what only we do."""
BETWEEN_BLOCKS_S = 1.0
"""A phone waits for its host: results go, the next block comes."""
GATE_POLL_S = 2.0
LATENCY_S = 0.02
PHONE = "phone"
MOST_ROUNDS = 60

Rounds = dict[str, dict[int, float]]
"""By case and round the p50 in seconds."""


CANARY = Canary(case_id="canary", iterations=1)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is measured: by name latency against that of `base` at equal clocks; a coefficient of variation between
    processes where a case has one of its own."""

    ratios: Mapping[str, float]
    base: str | None = "base"
    cvs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Policy:
    """When it is enough: a time, or a precision; never more than `rounds`."""

    budget_s: float | None = None
    precision: float | None = None
    rounds: int = MOST_ROUNDS
    limits: Limits = field(default_factory=Limits)


FOUR = Asked(RATIOS)


@dataclass(frozen=True, slots=True)
class Plain:
    """What a plain loop gives for each case: the mean of its processes' averages, and the median of their p50s."""

    mean_s: dict[str, float]
    median_s: dict[str, float]
    processes: int


@dataclass(slots=True)
class Told:
    """What our policy measured: `valid` rounds, and `every` attempt that measured, also those that were rejected."""

    valid: Rounds = field(default_factory=dict)
    every: Rounds = field(default_factory=dict)
    attempts: int = 0
    invalid: int = 0
    waited_s: float = 0.0
    took_s: float = 0.0


def plain_loop(phone: SimulatedPhone, budget_s: float) -> Plain:
    """Every case in its turn for its share of the budget, one process after another, no look at the phone."""
    means: dict[str, list[float]] = {}
    medians: dict[str, list[float]] = {}
    begin_s = phone.now_s
    for number, (case, ratio) in enumerate(RATIOS.items(), start=1):
        until_s = begin_s + budget_s * number / len(RATIOS)
        while not means.get(case) or phone.now_s + START_S + WORK_S <= until_s:
            phone.rest(START_S)
            took = phone.run(WORK_S)
            means.setdefault(case, []).append(LATENCY_S * ratio * took.mean_slowdown)
            medians.setdefault(case, []).append(LATENCY_S * ratio * took.median_slowdown)
    return Plain(
        mean_s={case: statistics.fmean(values) for case, values in means.items()},
        median_s={case: statistics.median(values) for case, values in medians.items()},
        processes=sum(map(len, means.values())),
    )


@cache
def case_of(name: str) -> Case:
    """A case of which only the name tells it from others."""
    return Case(
        model_name="model",
        variant_id=name,
        graph_digest=name,
        recipe_name="onnx",
        settings=SessionSettings(provider=ExecutionProvider.CPU),
        binary_digest="binary",
        inputs_digest="inputs",
        row=name,
    )


class OurFarm:
    """Our policy on one simulated phone."""

    def __init__(self, phone: SimulatedPhone, seed: int, policy: Policy, asked: Asked = FOUR) -> None:
        """`seed` is that of the order of trials."""
        self.phone = phone
        self.asked = asked
        self.limits = policy.limits
        self.told = Told()
        self._name_of = {case_of(name).case_id: name for name in asked.ratios}
        wanted, rounds = policy.precision, policy.rounds
        self.state = FarmState(
            self._planned(trials_of(list(map(case_of, asked.ratios)), PHONE, rounds=rounds, seed=seed)),
            Rules(
                iterations=1,
                canary=CANARY,
                budget_s=policy.budget_s,
                precision=None if wanted is None else Precision(target=wanted, first=FIRST_STAGE, cap=rounds),
            ),
        )

    def _planned(self, trials: Sequence[Trial]) -> list[Planned]:
        return [
            Planned(
                trial_id=str(number),
                case_id=trial.case_id,
                phone=PHONE,
                purpose=Purpose.TIME,
                round=trial.round,
                position=trial.position,
                model="model",
                baseline=self._name_of[trial.case_id] == self.asked.base,
            )
            for number, trial in enumerate(trials)
        ]

    def run(self) -> Told:
        """To the end of the run."""
        begin_s = self.phone.now_s
        events: list[Event] = [PhoneUp(PHONE)]
        while events:
            for command in self.state.handle(events.pop()):
                match command:
                    case RunBlock():
                        events.append(self._block(command.works, begin_s))
                    case EndTrial(trial, Measured(figures=Figures(p50_s=p50_s))):
                        self.told.valid.setdefault(self._name_of[trial.case_id], {})[trial.round] = p50_s
                    case _:
                        pass
        self.told.took_s = self.phone.now_s - begin_s
        return self.told

    def _block(self, works: Sequence[Work], begin_s: float) -> BlockEnded:
        started_s = self.phone.now_s
        ended = tuple(WorkEnded(work, self._work(work), None) for work in works)
        took_s = self.phone.now_s - started_s
        self.phone.rest(BETWEEN_BLOCKS_S)
        return BlockEnded(PHONE, ended, (), took_s=took_s, at_s=self.phone.now_s - begin_s)

    def _work(self, work: Work) -> Measured | Failed:
        name = self._name_of.get(work.case_id)
        if name is None:
            self.phone.rest(START_S + SNAPSHOTS_S)
            self.phone.run(CANARY_WORK_S)
            return Measured(figures=None)
        self.told.waited_s += wait_at_gate(self.phone, self.limits).waited_s
        before = self.phone.vitals()
        self.phone.rest(START_S + SNAPSHOTS_S)
        took = self.phone.run(WORK_S, cv=self.asked.cvs.get(name))
        found = judge_validity(before, self.phone.vitals(), None, self.limits)
        p50_s = LATENCY_S * self.asked.ratios[name] * took.median_slowdown
        self.told.attempts += 1
        self.told.every.setdefault(name, {})[work.round] = p50_s
        if found.standing is Standing.INVALID:
            self.told.invalid += 1
            return rejected([str(reason) for reason in found.reasons])
        return Measured(figures=figures(p50_s))


class AtGate(Protocol):
    """A phone as the gate sees it."""

    @property
    def now_s(self) -> float:
        """Its clock."""
        ...

    def vitals(self) -> Vitals:
        """How it is now."""
        ...

    def rest(self, dt_s: float) -> None:
        """Let time pass."""
        ...


@dataclass(frozen=True, slots=True)
class Waited:
    """A wait at the gate: how long, how it ended, what was waited for last ("" where nothing was)."""

    waited_s: float
    outcome: GateOutcome
    cause: str


def wait_at_gate(phone: AtGate, limits: Limits) -> Waited:
    """Wait until the phone is as `limits` want it, cannot get cooler, or the time is up.

    The rule of `gate` in `android_runner/phone/run_block.sh`; a test holds the two together
    (tests/unit/phone/test_one_gate.py).
    """
    begin_s = window_s = phone.now_s
    more = 0
    held, outcome = "", GateOutcome.READY
    vitals = then = phone.vitals()
    while cause := _held_by(vitals, limits, more):
        held = cause
        if cause == "level":
            more = limits.battery_hysteresis
        if cause in ("battery", "zone") and phone.now_s - window_s >= limits.flat_window_s:
            if not _cools(then, vitals, limits.flat_c):
                outcome = GateOutcome.FLAT
                break
            window_s, then = phone.now_s, vitals
        if phone.now_s - begin_s >= limits.gate_timeout_s:
            outcome = GateOutcome.TIMEOUT
            break
        phone.rest(GATE_POLL_S)
        vitals = phone.vitals()
    return Waited(phone.now_s - begin_s, outcome, held)


def _held_by(vitals: Vitals, limits: Limits, more: int) -> str:
    """The first thing that has to be waited for; what is not offered is not waited for."""
    floor = None if limits.min_battery_level is None else limits.min_battery_level + more
    if floor is not None and vitals.battery_level is not None and vitals.battery_level < floor:
        return "level"
    above = {
        "status": (vitals.thermal_status, limits.max_status),
        "battery": (vitals.battery_c, limits.max_battery_c),
        "zone": (_hottest_c(vitals), limits.max_zone_c),
        "load": (load_by_others(vitals), limits.max_load),
    }
    return next((name for name, (is_, most) in above.items() if None not in (is_, most) and is_ > most), "")  # type: ignore[operator]


def _hottest_c(vitals: Vitals) -> float | None:
    return max(vitals.zones_c.values(), default=None)


def _cools(then: Vitals, now: Vitals, flat_c: float) -> bool:
    """Whether a temperature fell by as much as counts, in the thousandths that the script has."""
    pairs = ((then.battery_c, now.battery_c), (_hottest_c(then), _hottest_c(now)))
    return any(
        one is not None and two is not None and round(1000 * (one - two)) >= round(1000 * flat_c) for one, two in pairs
    )


_FIGURES = Figures(
    iterations=1, p50_s=1.0, p90_s=1.0, p95_s=1.0, p99_s=1.0, min_s=1.0, max_s=1.0, mean_s=1.0,
    session_creation_s=None, first_inference_s=None, peak_working_set_bytes=None,
)  # fmt: skip


def figures(p50_s: float) -> Figures:
    """Figures of which only the p50 says anything."""
    return replace(_FIGURES, p50_s=p50_s)
