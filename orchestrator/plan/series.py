"""Pure: how a long series is cut: `--sustained MINUTES` of one case, as processes that follow each other at once.

A process tells no time of day, and its phone's vitals stand around it, so the series' points are as far apart as its
processes are long: the least that still has a median to speak of, and few enough to be stored and shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

POINTS = 60
"""Processes of a series, where they are not too short or too long for it."""
MIN_PROCESS_S = 0.5
MAX_PROCESS_S = 10.0
MAX_MINUTES = 120.0


@dataclass(frozen=True, slots=True)
class Series:
    """A long series of one case: so many processes, each as many iterations as took `process_s` when it was cool.

    What slows down takes longer, so the whole takes its minutes on a phone that loses nothing, and more on others.
    """

    processes: int
    process_s: float

    def iterations(self, per_iteration_s: float) -> int:
        """Iterations of each of its processes."""
        return max(1, math.ceil(self.process_s / max(per_iteration_s, 1e-7)))

    @property
    def took_s(self) -> float:
        """Seconds of inference on a phone that stays cool."""
        return self.processes * self.process_s


def series_for(minutes: float) -> Series:
    """The series of so many minutes, above 0."""
    process_s = min(max(minutes * 60 / POINTS, MIN_PROCESS_S), MAX_PROCESS_S)
    return Series(processes=max(1, math.ceil(minutes * 60 / process_s)), process_s=process_s)
