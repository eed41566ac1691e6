"""Pure: where the nodes of a graph stand in a drawing: in rows from inputs to outputs, beside what they come from.

A node's row is one below the lowest of those whose outputs it takes. In a row nodes stand in the order of the mean
place of what they come from (the barycentre rule of Sugiyama, Tagawa and Toda, 1981, one pass downwards).
"""

from __future__ import annotations

from collections.abc import Sequence


def places(after: Sequence[Sequence[int]]) -> list[tuple[float, int]]:
    """(column, row) of each node, a column being as wide as a node. `after`: for each node the indices of those whose
    outputs it takes, all of them smaller than its own; others are left out."""
    known = [[one for one in own if 0 <= one < at] for at, own in enumerate(after)]
    rows: list[int] = []
    for own in known:
        rows.append(1 + max((rows[one] for one in own), default=-1))
    columns = [0.0] * len(known)
    for row in range(max(rows, default=-1) + 1):
        members = [at for at, its in enumerate(rows) if its == row]
        wished = {at: _mean([columns[one] for one in known[at]]) for at in members}
        free = -float("inf")
        members.sort(key=lambda at: (wished[at], at))
        spread = (len(members) - 1) / 2
        for at in members:
            columns[at] = max(free, wished[at] - (spread if len({wished[one] for one in members}) == 1 else 0.0))
            free = columns[at] + 1.0
    least = min(columns, default=0.0)
    return [(column - least, row) for column, row in zip(columns, rows, strict=True)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
