"""Pure: which cases of a run have rounds enough, by the precision that was asked for.

How many rounds a case gets is decided by its first ones (`orchestrator.measure.stopping`): looking again and again
until an interval is narrow enough would make intervals that cover too seldom.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.farm.protocol import Planned
from orchestrator.measure.interval import SECOND_LOOK
from orchestrator.outcome import Measured, Outcome
from orchestrator.plan.case import Purpose

_Place = tuple[str, str]
"""A phone and a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """When a case has rounds enough: `target` is the half-width of its interval as a fraction, `first` the rounds that
    decide, `cap` the rounds that are planned."""

    target: float
    first: int
    cap: int

    def stage(self, trial: Planned) -> int:
        """0: of the rounds whose spread decides first; 1: of those of a noisy case's second look; 2: after both."""
        at = (trial.round - 1) % self.cap
        return (at >= self.first) + (at >= self.first * SECOND_LOOK)


class Enough:
    """The p50 of every valid round so far, in seconds, by phone and model, case and round."""

    def __init__(self, precision: Precision | None) -> None:
        self.precision = precision
        self._rounds: dict[_Place, dict[str, dict[int, float]]] = {}
        self._base: dict[_Place, str] = {}

    def learn(self, trial: Planned, outcome: Outcome) -> None:
        """Take a timed trial's end in. What a phone says is no figure if it is not above 0 and finite."""
        if self.precision is None or trial.purpose is not Purpose.TIME:
            return
        place = trial.phone, trial.model
        if trial.baseline:
            self._base[place] = trial.case_id
        if isinstance(outcome, Measured) and outcome.figures is not None and 0.0 < outcome.figures.p50_s < math.inf:
            self._rounds.setdefault(place, {}).setdefault(trial.case_id, {})[trial.round] = outcome.figures.p50_s

    def needless(self, open_trials: Iterable[Planned]) -> dict[str, str]:
        """Of a phone's open trials those that nothing needs any more, by id, with why.

        The baseline goes on while a case that is still to be decided may need it.
        """
        if self.precision is None:
            return {}
        timed: dict[_Place, list[Planned]] = {}
        for trial in open_trials:
            if trial.purpose is Purpose.TIME:
                timed.setdefault((trial.phone, trial.model), []).append(trial)
        return {name: why for place, trials in timed.items() for name, why in self._of_model(place, trials).items()}

    def _of_model(self, place: _Place, trials: list[Planned]) -> dict[str, str]:
        from orchestrator.measure.interval import stage_of  # noqa: PLC0415
        from orchestrator.measure.stopping import rounds_of_cases  # noqa: PLC0415 - heavy, and only precision needs it

        precision, known = self.precision, self._rounds.get(place, {})
        assert precision is not None
        decided = {case for case, own in known.items() if len(own) >= precision.first}
        if not decided:
            return {}
        base = self._base.get(place)
        needed = rounds_of_cases(known, base, precision.target, first=precision.first, cap=precision.cap)
        if any(trial.case_id not in decided for trial in trials):
            decided.discard(base or "")
        found: dict[str, str] = {}
        for case in decided:
            left = max(0, needed[case] - len(known[case]))
            coming = sorted((trial for trial in trials if trial.case_id == case), key=lambda trial: trial.round)
            why = (
                f"± {precision.target:.1%} by the spread of its first {stage_of(needed[case], precision.first)} rounds"
            )
            found |= {trial.trial_id: why for trial in coming[left:]}
        return found
