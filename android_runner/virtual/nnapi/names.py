"""Pure: how tensors are named across a graph, its partitions and the sub-graphs of its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def outer_names(node: Any) -> Iterator[str]:
    """Names that the sub-graphs of a node (If, Loop, Scan) take from outside: its implicit inputs."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield from _free_names(attribute.g)
        for graph in attribute.graphs:
            yield from _free_names(graph)


def _free_names(graph: Any) -> Iterator[str]:
    own = {item.name for item in (*graph.input, *graph.initializer)}
    own |= {sparse.values.name for sparse in graph.sparse_initializer}
    for node in graph.node:
        own.update(node.output)
    for node in graph.node:
        for name in (*node.input, *outer_names(node)):
            if name and name not in own:
                yield name
    for item in graph.output:
        if item.name not in own:
            yield item.name


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
