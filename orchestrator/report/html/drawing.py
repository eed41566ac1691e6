"""Pure: a graph's nodes as the page's script draws them."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.report.html.layout import places
from orchestrator.report.lines import shown
from orchestrator.report.source import Row, text, whole

MAX_DRAWN_NODES = 1500
"""A larger graph would be a drawing that nobody can read, and a page that nobody can open."""


def drawn(rows: Sequence[Row]) -> list[dict[str, object]]:
    """A graph's nodes in their places, each with where it should run."""
    after = [indices(row) for row in rows]
    return [
        {
            "operator": shown(text(row, "operator")),
            "name": shown(text(row, "name")),
            "shape": "×".join(str(dim) for dim in indices(row, "shape")),
            "after": own,
            "x": column,
            "y": at,
            "partition": whole(row, "partition"),
            "reason": shown(text(row, "reason")),
        }
        for row, own, (column, at) in zip(rows, after, places(after), strict=True)
    ]


def indices(row: Row, key: str = "after") -> list[int]:
    """A cell that holds whole numbers; others in it are left out."""
    value = row.get(key)
    return [one for one in value if isinstance(one, int)] if isinstance(value, (list, tuple)) else []
