"""Pure: which pairs of A and B have rounds enough, by what their common rounds say so far.

The rule, its looks and what it promises are `orchestrator.measure.sequential`'s.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from orchestrator.farm.protocol import Planned
from orchestrator.measure.sequential import Finding, Looks, pair_logs
from orchestrator.outcome import Measured, Outcome
from orchestrator.plan.case import Purpose, Side

_Place = tuple[str, str]
"""A phone and a pair."""


class Pairs:
    """The p50 of every valid round so far, in seconds, by phone and pair, side and round."""

    def __init__(self, looks: Looks | None) -> None:
        self.looks = looks
        self._rounds: dict[_Place, dict[Side, dict[int, float]]] = {}
        self._alone: set[tuple[_Place, int]] = set()

    def learn(self, trial: Planned, outcome: Outcome) -> None:
        """Take a timed trial's end in. What a phone says is no figure if it is not above 0 and finite."""
        if self.looks is None or trial.purpose is not Purpose.TIME or trial.side is None:
            return
        place = trial.phone, trial.pair
        figures = outcome.figures if isinstance(outcome, Measured) else None
        if figures is not None and 0.0 < figures.p50_s < math.inf:
            self._rounds.setdefault(place, {}).setdefault(trial.side, {})[trial.round] = figures.p50_s
        else:
            self._alone.add((place, trial.round))

    def needless(self, open_trials: Iterable[Planned]) -> dict[str, str]:
        """Of a phone's open trials those that nothing needs any more, by id, with why: their pair is decided, or the
        other side has no figure in their round."""
        if self.looks is None:
            return {}
        timed = [trial for trial in open_trials if trial.purpose is Purpose.TIME and trial.side is not None]
        decided = {place: self._why_decided(place) for place in {(trial.phone, trial.pair) for trial in timed}}
        found = {}
        for trial in timed:
            place = trial.phone, trial.pair
            if why := decided[place]:
                found[trial.trial_id] = why
            elif (place, trial.round) in self._alone:
                found[trial.trial_id] = "the other side has no figure in this round"
        return found

    def _why_decided(self, place: _Place) -> str:
        """Why a pair needs no further round; "" as long as it does."""
        assert self.looks is not None
        sides = self._rounds.get(place, {})
        told = self.looks.decide(pair_logs(sides.get(Side.A, {}), sides.get(Side.B, {})))
        if not told.resolved or told.interval is None:
            return ""
        what = "within" if told.finding is Finding.SAME else "beyond"
        return f"{told.interval.n} pairs decide: {what} ± {self.looks.delta:.1%}"
