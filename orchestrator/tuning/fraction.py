"""Pure: the cells to begin with. A fraction of all in which levels, and pairs of levels, come about equally often.

Fractions of factorial designs estimate main effects and two-factor interactions with few cells (G. Box, J. Hunter,
"The 2^(k-p) fractional factorial designs", Technometrics 3, 1961); orthogonal ones exist for products only, and here
cells were merged and dropped. So the fraction is grown: each next cell is the one that shares the fewest levels and
pairs of levels with those chosen already. Two cells that agree in k axes share k levels and k(k - 1)/2 pairs of them;
k² weighs both.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from orchestrator.tuning.space import Space

PER_EFFECT = 4
"""Processes of the fraction for each main effect that is to be estimated."""


def fraction_size(space: Space, trust: float = 0.0) -> int:
    """How many cells to begin with: some for every main effect, never more than there are.

    Fewer with `trust` (0 to 1) in a prior, which says something of the effects already.
    """
    effects = 1 + sum(len(axis.levels) - 1 for axis in space.axes)
    return min(len(space), round(PER_EFFECT * effects * (1.0 - 0.5 * trust)))


def fraction(
    space: Space, size: int, seed: int, without: Collection[int] = (), chosen: Collection[int] = ()
) -> list[int]:
    """`size` cells by number, in the order of their choice; fewer where there are fewer. `without` is never chosen;
    `chosen` are there already."""
    levels = np.array(space.cells, dtype=np.int64).reshape(len(space), len(space.axes))
    chance = np.random.default_rng([seed, 0]).random(len(space))
    score = np.array(chance * 0.5)
    score[list(without)] = np.inf
    for cell in chosen:
        score += (levels == levels[cell]).sum(axis=1) ** 2
        score[cell] = np.inf
    found: list[int] = []
    while len(found) < size and np.isfinite(score.min(initial=np.inf)):
        cell = int(score.argmin())
        found.append(cell)
        score += (levels == levels[cell]).sum(axis=1) ** 2
        score[cell] = np.inf
    return found
