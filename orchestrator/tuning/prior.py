"""Pure: what is thought to be known of cells before any is tried: predictions, and the device model's history.

Only differences between cells count. A prior is trusted from 0 to 1, and what is measured may bear out another share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from orchestrator.tuning.goal import Objective
from orchestrator.tuning.surrogate import Floats

HISTORY_TRUST, PREDICTION_TRUST = 0.9, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """By objective and cell (by number) a figure above 0, and how far it is trusted; cells may lack it."""

    figures: Mapping[Objective, Mapping[int, float]] = field(default_factory=dict)
    trust: float = 0.0

    def logs(self, objective: Objective, cells: int) -> Floats | None:
        """Logarithms for all cells, those without a figure at the mean; None where nothing is known."""
        known = {
            cell: math.log(value)
            for cell, value in self.figures.get(objective, {}).items()
            if 0.0 < value < math.inf and 0 <= cell < cells
        }
        if not known or self.trust <= 0.0:
            return None
        found = np.full(cells, math.fsum(known.values()) / len(known))
        for cell, log in known.items():
            found[cell] = log
        return found


NO_PRIOR = Prior()
