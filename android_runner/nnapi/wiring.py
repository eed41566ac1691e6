"""Pure: which node feeds which, by number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from android_runner.nnapi.graph import Graph


@dataclass(frozen=True, slots=True)
class Edge:
    """A value that goes from `source`'s output `output` to `consumer`'s input `place`; what its sub-graphs use comes
    after its inputs. `source` and `consumer` are indices into `Graph.nodes`."""

    consumer: int
    output: int
    place: int
    source: int


@dataclass(frozen=True, slots=True)
class Wiring:
    """All edges of a graph, by source and by consumer, each in ONNX Runtime's order (`EdgeEndCompare`)."""

    outgoing: tuple[tuple[Edge, ...], ...]
    incoming: tuple[tuple[Edge, ...], ...]

    def downstream(self, starts: Iterable[int]) -> frozenset[int]:
        """Those nodes and all that depend on them."""
        found = set(starts)
        waiting = list(found)
        while waiting:
            fresh = {edge.consumer for edge in self.outgoing[waiting.pop()]} - found
            found |= fresh
            waiting.extend(fresh)
        return frozenset(found)


def wiring_of(graph: Graph) -> Wiring:
    """The edges between nodes: one for each place that a value is used in."""
    made = {name: (at, place) for at, node in enumerate(graph.nodes) for place, name in enumerate(node.outputs) if name}
    outgoing: list[list[Edge]] = [[] for _ in graph.nodes]
    incoming: list[list[Edge]] = [[] for _ in graph.nodes]
    for consumer, node in enumerate(graph.nodes):
        for place, name in enumerate((*node.inputs, *node.implicit)):
            if name in made:
                source, output = made[name]
                edge = Edge(consumer, output, place, source)
                outgoing[source].append(edge)
                incoming[consumer].append(edge)
    order = [tuple(sorted(edges, key=lambda edge: (edge.consumer, edge.output, edge.place))) for edges in outgoing]
    return Wiring(tuple(order), tuple(map(tuple, incoming)))
