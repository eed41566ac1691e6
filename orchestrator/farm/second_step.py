"""Pure: where a provider's second step pays, by what the first step measured of a model on a phone.

The mobile tuning guide goes on with NNAPI where it "yields equivalent or better performance" than the CPU, and says to
leave NNAPI alone where it does not; the same holds the other way round for what tunes the CPU.
"""

from __future__ import annotations

import math
import statistics

from android_runner.ort import ExecutionProvider
from orchestrator.farm.protocol import Planned
from orchestrator.outcome import Measured, Outcome

PAYS_WITHIN = 1.05
"""What is slower by no more than this factor is "equivalent": few rounds on a phone tell no smaller difference surely,
and a second step wins more than that or is not worth its time."""

_Place = tuple[str, str]
"""A phone, or the first of a pool of phones, and a model."""


class FirstStep:
    """What the first step measured, by phone and model: the p50s of each provider's cases in seconds."""

    def __init__(self) -> None:
        self._p50s_s: dict[tuple[_Place, ExecutionProvider], dict[str, list[float]]] = {}
        self._begun: set[tuple[_Place, ExecutionProvider]] = set()

    def learn(self, trial: Planned, outcome: Outcome) -> None:
        """Take a trial's end in. What a phone says is no figure if it is not above 0 and finite."""
        if not isinstance(outcome, Measured):
            return
        place = trial.place
        if trial.where_pays is not None:
            self._begun.add((place, trial.where_pays))
        elif trial.shows is not None and outcome.figures is not None and 0.0 < outcome.figures.p50_s < math.inf:
            cases = self._p50s_s.setdefault((place, trial.shows), {})
            cases.setdefault(trial.case_id, []).append(outcome.figures.p50_s)

    def why_not(self, trial: Planned) -> str:
        """Why the second step that a trial belongs to does not pay; "" where it does, and for one of the first step.

        Asked when the first step is over. A second step that has measured anything was begun, and goes on.
        """
        place, provider = trial.place, trial.where_pays
        if provider is None or (place, provider) in self._begun:
            return ""
        own_s = self._best_s(place, provider)
        if own_s is None:
            return f"nothing was measured with {provider.in_words} in the first step"
        others_s = {other: self._best_s(place, other) for other in ExecutionProvider if other is not provider}
        measured = [(best_s, other.in_words) for other, best_s in others_s.items() if best_s is not None]
        if not measured or own_s <= PAYS_WITHIN * min(measured)[0]:
            return ""
        fastest_s, fastest = min(measured)
        ratio = f"{own_s / fastest_s:.2f}"
        return f"{provider.in_words} was not as fast as {fastest} in the first step ({ratio}× its p50)"

    def _best_s(self, place: _Place, provider: ExecutionProvider) -> float | None:
        """The least of the cases' median p50s."""
        cases = self._p50s_s.get((place, provider), {})
        return min((statistics.median(p50s_s) for p50s_s in cases.values()), default=None)
