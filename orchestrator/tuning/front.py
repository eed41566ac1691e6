"""Pure: Pareto fronts: cells of which no other is better in all objectives. With one objective: the best.

Figures are logarithms, an array of objectives × cells; less is better.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from orchestrator.tuning.surrogate import Floats


def front_of(logs: Floats, allowed: NDArray[np.bool_] | None = None) -> list[int]:
    """The places of the cells on the front among those that are allowed; of equal ones the first."""
    order = np.lexsort(logs[::-1])
    if len(logs) == 1:
        return [next(int(at) for at in order if allowed is None or allowed[at])]
    found: list[int] = []
    for at in order:
        if (allowed is None or allowed[at]) and not any((logs[:, other] <= logs[:, at]).all() for other in found):
            found.append(int(at))
    return sorted(found)


def possible_fronts(draws: Floats) -> Iterator[list[int]]:
    """The front of each possible truth; `draws` are objectives × draws × cells."""
    if len(draws) == 1:
        yield from ([int(at)] for at in draws[0].argmin(axis=1))
        return
    for number in range(draws.shape[1]):
        yield front_of(draws[:, number, :])


def known_share(draws: Floats, front: list[int], margin: float) -> float:
    """The share of possible truths in which no cell is better than all of `front` by more than `margin` somewhere.

    For each cell there must be one of the front that is, in every objective, at most `margin` above it.
    """
    if len(draws) == 1:
        return float((draws[0][:, front[0]] - draws[0].min(axis=1) <= margin).mean())
    near = np.logical_and.reduce([one[:, :, None] + margin >= one[:, None, front] for one in draws])
    return float(np.logical_and.reduce(np.logical_or.reduce(near, axis=2), axis=1).mean())
