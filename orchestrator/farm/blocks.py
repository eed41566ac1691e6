"""Pure: what a lane's next block holds. A lane is one phone's serial queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from orchestrator.farm.enough import Precision
from orchestrator.farm.protocol import Planned, Work
from orchestrator.farm.retry import Refusals, Strikes
from orchestrator.measure.sequential import Looks
from orchestrator.outcome import Failed
from orchestrator.plan.case import Purpose
from orchestrator.plan.length import FEW_ITERATIONS, Calibration, TrialLength, next_calibration
from orchestrator.plan.series import Series


class LaneState(StrEnum):
    """Where a lane stands. One that is away does not answer, and may come back with its block; one that is gone gets
    nothing more."""

    DOWN = "down"
    IDLE = "idle"
    RUNNING = "running"
    AWAY = "away"
    GONE = "gone"


@dataclass(slots=True)
class Lane:
    """One phone's queue, `waiting` in the order of the plan. `trial_s`: what a trial took in the last block, else 0.

    `decided`: it is known where the second step pays, and what does not has ended. `last_round`: the highest round of
    which something was handed out, -1 before the first. `reruns_left`: how often it may still try again what was
    rejected. `at_s`: seconds from the run's start to its last block's end. `mute`: no canary lives here.
    `mean_s`: by case what an iteration took when it was first measured, in seconds. `taken`: why nothing more begins
    here, in words; empty as long as it may. `given_s`, `heard_s`: when its
    block was given, and when it last gave a sign of life; None before the first. `waits` blocks after the first left
    the phone waiting for its host `waited_s` in all. `put_off`: whole blocks that failed with "later" in a row.
    `refused`: by case with what words it was refused here for good. `out`: its last block has not come home. `rest_s`:
    how long it is left alone before its next block.
    """

    phone: str
    waiting: list[Planned]
    state: LaneState = LaneState.DOWN
    running: tuple[Work, ...] = ()
    iterations: dict[str, int] = field(default_factory=dict)
    calibrations: dict[str, list[Calibration]] = field(default_factory=dict)
    calibration_tries: dict[str, int] = field(default_factory=dict)
    barren_blocks: int = 0
    trial_s: float = 0.0
    decided: bool = False
    last_round: int = -1
    reruns_left: int = 0
    at_s: float = 0.0
    mute: bool = False
    mean_s: dict[str, float] = field(default_factory=dict)
    taken: str = ""
    out: bool = False
    given_s: float | None = None
    heard_s: float = 0.0
    waits: int = 0
    waited_s: float = 0.0
    put_off: int = 0
    rest_s: float = 0.0
    refused: dict[str, Failed] = field(default_factory=dict)
    refusals: Refusals = field(default_factory=Refusals)
    strikes: Strikes = field(default_factory=Strikes)

    @property
    def in_first_step(self) -> bool:
        """Whether a timed trial of the first step is next; needs one that waits."""
        return _step(self.waiting[0]) == (Purpose.TIME, True)

    @property
    def open(self) -> int:
        """How many of its trials have not ended."""
        return len(self.waiting) + sum(work.trial is not None for work in self.running)

    def put_behind(self, trial: Planned) -> None:
        """Let a trial wait behind all others of its step."""
        same = [at for at, one in enumerate(self.waiting) if _step(one) == _step(trial)]
        self.waiting.insert(same[-1] + 1 if same else 0, trial)

    def block_came(self, took_s: float, at_s: float) -> None:
        """A block of `took_s` seconds on the phone has come home, `at_s` seconds from the run's start."""
        if self.given_s is not None and took_s > 0.0:
            self.waits += 1
            self.waited_s += max(0.0, at_s - self.given_s - took_s)
        self.at_s = max(self.at_s, at_s)
        self.heard_s = max(self.heard_s, at_s)

    def block_s(self, rules: Rules) -> float:
        """How long its blocks may last: a phone that waits long for its host after each gets longer ones."""
        mean_s = self.waited_s / self.waits if self.waits else 0.0
        return max(rules.block_s, min(rules.longest_block_s, mean_s / WAITING_AT_MOST))


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """The tiny case that runs before each round but a phone's first, and for how many iterations."""

    case_id: str
    iterations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How trials are sized and grouped. `iterations` fixes them for every case; `block_trials` bounds a block.

    Between two blocks a phone waits for the host, so short rounds share a block of up to `block_s` seconds.
    `longest_block_s` bounds what a phone gets that its host can often not reach; `silent_s` is how long one with a
    block may give no sign of life until it is taken for hung. After `deadline_s` from the run's start nothing more is
    handed out. `budget_s` is each phone's time for the run, `reruns` how often a phone may try again what was rejected
    (None: a quarter of its timed trials, at least `MIN_RERUNS`). `series` is how long ones are cut, where there are
    any. `looks`: when A is held against B.
    """

    length: TrialLength = field(default_factory=TrialLength)
    iterations: int | None = None
    block_trials: int = 500
    block_s: float = 30.0
    longest_block_s: float = 300.0
    silent_s: float = 3600.0
    deadline_s: float | None = None
    canary: Canary | None = None
    precision: Precision | None = None
    budget_s: float | None = None
    reruns: int | None = None
    series: Series | None = None
    looks: Looks | None = None

    def stage(self, trial: Planned) -> int:
        """Which of the stages of rounds that are decided upon a trial belongs to; a block does not go past its end."""
        if trial.purpose is not Purpose.TIME:
            return 0
        if self.looks is not None and trial.pair:
            return self.looks.stage(trial.round)
        return 0 if self.precision is None else self.precision.stage(trial)

    def reruns_for(self, trials: Sequence[Planned]) -> int:
        """How often a phone with these trials may try again what was rejected."""
        timed = sum(trial.purpose is Purpose.TIME for trial in trials)
        return max(MIN_RERUNS, timed // 4) if self.reruns is None else self.reruns


MIN_RERUNS = 3
WAITING_AT_MOST = 0.015
"""The share of a phone's time that it should wait for its host, between two blocks."""
BESIDE_S = 0.5
"""What a trial that is not timed takes: a few iterations."""
BETWEEN_S = 0.15
"""Between two processes of a long series: a start, a snapshot."""


def next_works(lane: Lane, rules: Rules) -> tuple[Work, ...]:
    """The next block of a lane where something waits: calibrations of the step as far as some lack, else rounds."""
    return _to_calibrate(lane, rules) or _next_rounds(lane, rules)


def over_budget(lane: Lane, rules: Rules) -> bool:
    """Whether a further round would not end within the budget. A round that was begun is ended, and the first is
    always tried; what is not timed tells what the figures mean, so its time is kept for it."""
    if rules.budget_s is None or lane.last_round < 0 or lane.waiting[0].purpose is not Purpose.TIME:
        return False
    coming = [trial for trial in lane.waiting if trial.purpose is Purpose.TIME and trial.round == lane.waiting[0].round]
    return coming[0].round > lane.last_round and len(coming) * lane.trial_s > _left_s(lane, rules)


def _left_s(lane: Lane, rules: Rules) -> float:
    """What is left of the budget for rounds: what comes after them, long series among it, has its time."""
    few = sum(trial.purpose in FEW_ITERATIONS for trial in lane.waiting)
    long = sum(trial.purpose is Purpose.SUSTAIN for trial in lane.waiting)
    series_s = rules.series.process_s if rules.series is not None else 0.0
    return (rules.budget_s or 0.0) - lane.at_s - BESIDE_S * few - (series_s + BETWEEN_S) * long


def _step(trial: Planned) -> tuple[Purpose, bool]:
    """Purpose, and whether of the first step as far as that matters: what is not timed is asked of both at once."""
    return trial.purpose, trial.purpose is not Purpose.TIME or trial.where_pays is None


def _same_step(trials: Sequence[Planned]) -> list[Planned]:
    """Those that may share a block with the first."""
    return [trial for trial in trials if _step(trial) == _step(trials[0])]


def _sized_by(trial: Planned) -> str:
    """The case whose calibration tells a trial's iterations: a twin does what its other half does."""
    return trial.twin_of or trial.case_id


def _to_calibrate(lane: Lane, rules: Rules) -> tuple[Work, ...]:
    if rules.iterations is not None:
        return ()
    sized = (Purpose.TIME, Purpose.SUSTAIN)  # a series may stay behind where its rounds have moved away
    timed = [_sized_by(trial) for trial in _same_step(lane.waiting) if trial.purpose in sized]
    unknown = [case_id for case_id in dict.fromkeys(timed) if case_id not in lane.iterations]
    works = []
    for position, case_id in enumerate(unknown[: rules.block_trials]):
        done = lane.calibrations.get(case_id, [])
        count = next_calibration(done) or done[-1].iterations
        works.append(
            Work(case_id=case_id, purpose=Purpose.CALIBRATE, iterations=count, round=len(done), position=position)
        )
    return tuple(works)


def _next_rounds(lane: Lane, rules: Rules) -> tuple[Work, ...]:
    rounds: dict[int, list[Planned]] = {}
    for trial in _same_step(lane.waiting[: rules.block_trials]):
        rounds.setdefault(trial.round, []).append(trial)
    groups = list(rounds.values())
    timed = groups[0][0].purpose is Purpose.TIME
    if groups[0][0].purpose is Purpose.SUSTAIN:
        return _works([_one_series(lane.waiting, rules)], lane, rules, canary=None)
    if timed and lane.last_round < 0:
        return _works([_without_twins(groups[0])], lane, rules, canary=None)
    block = groups[:1]
    for one in groups[1:]:
        if not _only_twins(block[-1]) and not _may_join(block, one, lane, rules):
            break
        block.append(one)
    return _works(block, lane, rules, canary=rules.canary if timed and not lane.mute else None)


def _may_join(block: Sequence[Sequence[Planned]], one: Sequence[Planned], lane: Lane, rules: Rules) -> bool:
    """Whether a further round shares the block: as far as its time reaches, and not past the rounds that decide."""
    if lane.refusals.undecided:
        return False
    room_s = lane.block_s(rules)
    if rules.budget_s is not None and one[0].purpose is Purpose.TIME:
        room_s = min(room_s, _left_s(lane, rules))
    if rules.stage(block[-1][0]) != rules.stage(one[0]):
        return False
    return 0 < (sum(map(len, block)) + len(one)) * lane.trial_s <= room_s


def _without_twins(first: Sequence[Planned]) -> Sequence[Planned]:
    """The round that gives the first answer: what only says how far that can be trusted follows with the next."""
    return [trial for trial in first if not trial.twin_of] or first


def _one_series(waiting: Sequence[Planned], rules: Rules) -> Sequence[Planned]:
    """What is left of the first case's long series, in one block: between two blocks the phone would cool down."""
    own = [one for one in waiting if (one.purpose, one.case_id) == (Purpose.SUSTAIN, waiting[0].case_id)]
    return own[: rules.block_trials]


def _only_twins(group: Sequence[Planned]) -> bool:
    return all(trial.twin_of for trial in group)


def _works(block: Sequence[Sequence[Planned]], lane: Lane, rules: Rules, *, canary: Canary | None) -> tuple[Work, ...]:
    """The rounds of a block as work, a canary before each; one that is left of an earlier round shares the next's."""
    works: list[Work] = []
    for at, group in enumerate(block):
        following = block[at + 1] if _only_twins(group) and at + 1 < len(block) else group
        if canary is not None and not (at and _only_twins(block[at - 1])):
            works.append(
                Work(
                    case_id=canary.case_id,
                    purpose=Purpose.CANARY,
                    iterations=canary.iterations,
                    round=following[0].round,
                    position=group[0].position,
                )
            )
        works += [
            Work(
                case_id=trial.case_id,
                purpose=trial.purpose,
                iterations=_iterations(lane, rules, trial),
                round=trial.round,
                position=trial.position,
                trial=trial,
            )
            for trial in group
        ]
    return tuple(works)


def _per_iteration_s(lane: Lane, rules: Rules, case_id: str) -> float:
    """What one iteration of a case costs: as it was measured, else as it was calibrated for."""
    return lane.mean_s.get(case_id) or rules.length.min_s / (rules.iterations or lane.iterations[case_id])


def _iterations(lane: Lane, rules: Rules, trial: Planned) -> int:
    if trial.purpose is Purpose.SUSTAIN and rules.series is not None:
        return rules.series.iterations(_per_iteration_s(lane, rules, trial.case_id))
    if trial.purpose is not Purpose.TIME:
        return FEW_ITERATIONS[trial.purpose]
    return rules.iterations or lane.iterations[_sized_by(trial)]
