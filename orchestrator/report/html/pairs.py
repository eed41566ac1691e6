"""Pure: a model's graph before and after a recipe, side by side, as JSON that the page's script draws.

A run keeps graphs where a case asks for NNAPI. Nodes are the same where name and operator are; twins are drawn once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.report.html.drawing import MAX_DRAWN_NODES, drawn
from orchestrator.report.lines import shown
from orchestrator.report.source import Row, names, text, whole
from orchestrator.report.summary import ModelSummary, VariantRow


@dataclass(frozen=True, slots=True)
class GraphPair:
    """What a link names and opens: `id` in the page, `name` of the recipes, `data` for the script."""

    id: str
    name: str
    data: dict[str, object]


def graph_pairs(model: ModelSummary, nodes: Sequence[Row]) -> list[GraphPair]:
    """The source beside each graph that a recipe made of it; none where graphs were not kept, or can't be drawn."""
    rows = {one.variant: _rows(one, nodes) for one in model.variants}
    source = next((one for one in model.variants if one.recipe == "onnx" and rows[one.variant]), None)
    if source is None:
        return []
    groups: dict[str, list[VariantRow]] = {}
    for one in model.variants:
        if one is not source and rows[one.variant]:
            groups.setdefault(one.graph_digest or one.variant, []).append(one)
    return [
        _pair(model.model, source, group, rows[source.variant], rows[group[0].variant]) for group in groups.values()
    ]


def _rows(variant: VariantRow, nodes: Sequence[Row]) -> list[Row]:
    """The nodes of one variant, as NNAPI without flags is asked about them at the run's highest API level."""
    own = [row for row in nodes if text(row, "variant") == variant.variant and not names(row, "nnapi_flags")]
    level = max((whole(row, "api_level") or 0 for row in own), default=0)
    found = [row for row in own if (whole(row, "api_level") or 0) == level]
    return found if len(found) <= MAX_DRAWN_NODES else []


def _pair(
    model: str, source: VariantRow, group: Sequence[VariantRow], before: Sequence[Row], after: Sequence[Row]
) -> GraphPair:
    name = " = ".join(dict.fromkeys(one.recipe for one in group))
    return GraphPair(
        id=shown(f"{model}/{group[0].variant[:16]}"),
        name=shown(name),
        data={
            "title": shown(f"{model}: {source.recipe} → {name}"),
            "sides": [
                {"name": shown(f"before: {source.recipe}"), "nodes": _marked(before, after)},
                {"name": shown(f"after: {name}"), "nodes": _marked(after, before)},
            ],
        },
    )


def _marked(rows: Sequence[Row], others: Sequence[Row]) -> list[dict[str, object]]:
    """A side as it is drawn; `own` are nodes that the other side has not."""
    there = {(text(row, "name"), text(row, "operator")) for row in others}
    return [
        {**node, "own": (text(row, "name"), text(row, "operator")) not in there}
        for node, row in zip(drawn(rows), rows, strict=True)
    ]
