"""Pure: trials that may move between the phones of a pool, and where each of them has been."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from orchestrator.farm.blocks import Lane, LaneState
from orchestrator.farm.protocol import Planned
from orchestrator.outcome import Measured
from orchestrator.plan.case import Purpose

_LIVING = (LaneState.DOWN, LaneState.IDLE, LaneState.RUNNING)


class Moves:
    """Which phone takes a trial next. A trial never comes back to a phone that it left, and a long series never moves:
    half of one on a cool phone would say nothing."""

    def __init__(self, lanes: Mapping[str, Lane]) -> None:
        self._lanes = lanes
        self._left: dict[str, set[str]] = {}
        self._late: dict[str, Measured] = {}

    def target(self, trial: Planned) -> Lane | None:
        """The living phone of its pool with the fewest trials to go that it has not been on; None: there is none."""
        if not trial.pool or trial.purpose is Purpose.SUSTAIN:
            return None
        left = self._left.get(trial.trial_id, set())
        lanes = [self._lanes[name] for name in trial.pool if name in self._lanes and name != trial.phone]
        able = [lane for lane in lanes if lane.state in _LIVING and not lane.taken and lane.phone not in left]
        return min(able, key=lambda lane: len(lane.waiting) + len(lane.running), default=None)

    def move(self, trial: Planned, lane: Lane) -> Planned:
        """The trial as it now waits in a lane, at its place among the others there."""
        self._left.setdefault(trial.trial_id, set()).add(trial.phone)
        moved = replace(trial, phone=lane.phone)
        lane.waiting.append(moved)
        lane.waiting.sort(key=lambda one: one.position)
        return moved

    def came_late(self, trial: Planned, outcome: Measured) -> Planned | None:
        """A phone that a trial had left measured it after all. The trial if it waits elsewhere, and does so no longer;
        None if it runs there: the late result then counts unless that one measures too."""
        for lane in (self._lanes[name] for name in trial.pool if name in self._lanes):
            for at, one in enumerate(lane.waiting):
                if one.trial_id == trial.trial_id:
                    return lane.waiting.pop(at)
        self._late[trial.trial_id] = outcome
        return None

    def known_of(self, trial: Planned) -> Measured | None:
        """What came late of a trial, if anything."""
        return self._late.get(trial.trial_id)
