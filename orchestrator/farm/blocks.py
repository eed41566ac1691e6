"""Pure: what a lane's next block holds. A lane is one phone's serial queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from orchestrator.farm.protocol import Planned, Work
from orchestrator.plan.case import Purpose
from orchestrator.plan.length import FEW_ITERATIONS, Calibration, TrialLength, next_calibration


class LaneState(StrEnum):
    """Where a lane stands."""

    DOWN = "down"
    IDLE = "idle"
    RUNNING = "running"
    GONE = "gone"


@dataclass(slots=True)
class Lane:
    """One phone's queue, `waiting` in the order of the plan. `trial_s`: what a trial took in the last block, else 0.

    `decided`: it is known where the second step pays, and what does not has ended.
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

    @property
    def in_first_step(self) -> bool:
        """Whether a timed trial of the first step is next; needs one that waits."""
        return _step(self.waiting[0]) == (Purpose.TIME, True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How trials are sized and grouped. `iterations` fixes them for every case; `block_trials` bounds a block.

    Between two blocks a phone waits for the host, so short rounds share a block of up to `block_s` seconds.
    """

    length: TrialLength = field(default_factory=TrialLength)
    iterations: int | None = None
    block_trials: int = 500
    block_s: float = 30.0


def next_works(lane: Lane, rules: Rules) -> tuple[Work, ...]:
    """The next block of a lane where something waits: calibrations of the step as far as some lack, else rounds."""
    return _to_calibrate(lane, rules) or _next_rounds(lane, rules)


def _step(trial: Planned) -> tuple[Purpose, bool]:
    """Purpose, and whether of the first step as far as that matters: what is not timed is asked of both at once."""
    return trial.purpose, trial.purpose is not Purpose.TIME or trial.where_pays is None


def _same_step(trials: Sequence[Planned]) -> list[Planned]:
    """Those that may share a block with the first."""
    return [trial for trial in trials if _step(trial) == _step(trials[0])]


def _to_calibrate(lane: Lane, rules: Rules) -> tuple[Work, ...]:
    if rules.iterations is not None:
        return ()
    timed = [trial.case_id for trial in _same_step(lane.waiting) if trial.purpose is Purpose.TIME]
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
    block: list[Planned] = []
    for one in rounds.values():
        if block and not 0 < (len(block) + len(one)) * lane.trial_s <= rules.block_s:
            break
        block += one
    return tuple(
        Work(
            case_id=trial.case_id,
            purpose=trial.purpose,
            iterations=_iterations(lane, rules, trial),
            round=trial.round,
            position=trial.position,
            trial=trial,
        )
        for trial in block
    )


def _iterations(lane: Lane, rules: Rules, trial: Planned) -> int:
    if trial.purpose is not Purpose.TIME:
        return FEW_ITERATIONS[trial.purpose]
    return rules.iterations or lane.iterations[trial.case_id]
