"""Pure: how tensors are named across a graph, its partitions and the sub-graphs of its nodes."""

from __future__ import annotations

from typing import Any


def all_names(graph: Any) -> set[str]:
    """Every name used in a graph and below it."""
    found = {item.name for item in (*graph.input, *graph.output, *graph.initializer, *graph.value_info)}
    for node in graph.node:
        found.add(node.name)
        found.update(node.input)
        found.update(node.output)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= all_names(attribute.g)
            for below in attribute.graphs:
                found |= all_names(below)
    return found


class Namer:
    """Gives out names that nobody has."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken

    def fresh(self, wanted: str) -> str:
        """`wanted`, lengthened until nobody has it."""
        while wanted in self._taken:
            wanted += "_"
        self._taken.add(wanted)
        return wanted
