"""A row of the speed table, and how its line reads."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One promise: `goal` and `figure` in words, whether it is met, and what was compared with what."""

    name: str
    goal: str
    figure: str
    met: bool
    detail: str = ""

    def lines(self) -> str:
        """The row for people: one line of verdict, the detail under it."""
        head = f"{self.name:13} {'met   ' if self.met else 'MISSED'}  {self.figure}   (goal {self.goal})"
        return head + "".join(f"\n    {line}" for line in self.detail.splitlines())


def spread(values_s: Sequence[float]) -> str:
    """Seconds as median and range: `2.01 s [1.98, 2.10]`, ms below a second."""
    scale, unit, digits = (1.0, "s", 2) if statistics.median(values_s) >= 1 else (1000.0, "ms", 1)
    low, middle, high = (x * scale for x in (min(values_s), statistics.median(values_s), max(values_s)))
    return f"{middle:.{digits}f} {unit} [{low:.{digits}f}, {high:.{digits}f}]"
