"""Pure: what a partition takes and gives, and an order in which partitions and the other nodes can run."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from android_runner.nnapi.from_onnx import used_below


@dataclass(frozen=True, slots=True)
class Border:
    """`inputs` as the execution provider lists them (constants too), `outputs` what others read or the graph gives."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def border(graph: Any, members: Sequence[int]) -> Border:
    """The border of a group of nodes, in the order of `MakeComputeCapability` (`core/providers/partitioning_utils.cc`).

    A group whose values nobody reads gives its last one: a node has to give something.
    """
    inside = set(members)
    read_outside = {item.name for item in graph.output}
    for at, node in enumerate(graph.node):
        if at not in inside:
            read_outside.update(node.input)
        read_outside.update(used_below(node))
    inputs: dict[str, None] = {}
    outputs: dict[str, None] = {}
    produced: set[str] = set()
    last = ""
    for at in members:
        node = graph.node[at]
        inputs.update(dict.fromkeys(name for name in node.input if name and name not in produced))
        given = [name for name in node.output if name]
        produced.update(given)
        last = given[0] if given else last
        outputs.update(dict.fromkeys(name for name in given if name in read_outside))
    return Border(tuple(inputs), tuple(outputs) or (last,))


def running_order(graph: Any, groups: Sequence[Sequence[int]]) -> list[int]:
    """Units in an order that can run: a number ≥ 0 is a node outside of all groups, -1 - k is group k.

    Kahn's algorithm; of the units that can run, the one with the earliest node comes first. Raises ValueError when a
    group and a node need each other, which groups as the execution provider forms them never do.
    """
    unit_of = {at: -1 - number for number, group in enumerate(groups) for at in group}
    unit = [unit_of.get(at, at) for at in range(len(graph.node))]
    producer = {name: unit[at] for at, node in enumerate(graph.node) for name in node.output if name}
    needs: dict[int, set[int]] = {at: set() for at in unit}
    feeds: dict[int, set[int]] = {at: set() for at in unit}
    for at, node in enumerate(graph.node):
        for name in (*node.input, *used_below(node)):
            source = producer.get(name)
            if source is not None and source != unit[at]:
                needs[unit[at]].add(source)
                feeds[source].add(unit[at])
    first: dict[int, int] = {}
    for at, number in enumerate(unit):
        first.setdefault(number, at)
    ready = [(first[number], number) for number, sources in needs.items() if not sources]
    heapq.heapify(ready)
    order = []
    while ready:
        _, number = heapq.heappop(ready)
        order.append(number)
        for target in feeds[number]:
            needs[target].discard(number)
            if not needs[target]:
                heapq.heappush(ready, (first[target], target))
    if len(order) != len(first):
        raise ValueError("a partition and a node outside of it need each other")
    return order
