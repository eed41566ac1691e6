"""Pure: a graph without its file format, its digest, and how many nodes of each operator it has.

`.ort` bytes differ from process to process for one and the same graph, so identity is taken here: two graphs have one
digest when operators, attributes, edges, initializers, inputs, outputs and recorded runtime optimizations are equal.
Names of nodes and of inner values and the order of nodes don't count; those of the model's inputs and outputs do.
"""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

ELEMENT_TYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool",
    10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16",
    17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4",
    23: "float4e2m1",
}  # fmt: skip
"""`TensorProto.DataType` by number (onnx.proto), which `ort.fbs` shares."""


@dataclass(frozen=True, slots=True)
class Constant:
    """An initializer or a tensor attribute; `digest` is the sha256 of its elements, little-endian. `ints` holds the
    values of small integer tensors (axes, shapes), else None."""

    element_type: str
    dims: tuple[int, ...]
    digest: str
    ints: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Port:
    """A graph's input or output. `element_type` is empty and `shape` None where the file does not say."""

    name: str
    element_type: str
    shape: tuple[int | str | None, ...] | None


Scalar = int | float | bytes


@dataclass(frozen=True, slots=True)
class Attribute:
    """`kind` is the number of `AttributeProto.AttributeType`."""

    name: str
    kind: int
    value: Scalar | Constant | Graph | tuple[Scalar | Constant | Graph, ...]

    def graphs(self) -> tuple[Graph, ...]:
        """The sub-graphs held by this attribute."""
        items = self.value if isinstance(self.value, tuple) else (self.value,)
        return tuple(item for item in items if isinstance(item, Graph))


@dataclass(frozen=True, slots=True)
class Node:
    """One node; a missing optional input is the empty name. `domain` is empty for ai.onnx, `version` 0 if unknown."""

    domain: str
    operator: str
    version: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[Attribute, ...]

    @property
    def label(self) -> str:
        """`Conv`, `com.microsoft:FusedConv`."""
        return f"{self.domain}:{self.operator}" if self.domain else self.operator


@dataclass(frozen=True, slots=True)
class Record:
    """A saved runtime optimization: by which optimizer, which action, on which nodes (positions in `Graph.nodes`, None
    for a slot that is empty); `rest` holds its other fields, which only must be equal; `produced` the operators that
    it puts in, as `com.microsoft:FusedConv:1`."""

    optimizer: str
    action: str
    nodes: tuple[int | None, ...]
    rest: tuple[object, ...]
    produced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph: `initializers` by name, `records` empty but for runtime-style `.ort` files."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    initializers: Mapping[str, Constant]
    nodes: tuple[Node, ...]
    records: tuple[Record, ...] = ()


def graph_digest(graph: Graph, format_name: str, opsets: Mapping[str, int]) -> str:
    """64 hex digits. Formats never share one: `-o` acts on `.onnx` and not on `.ort`. Raises ValueError on a cycle."""
    ports = [[(port.name, port.element_type, port.shape) for port in side] for side in (graph.inputs, graph.outputs)]
    return _mark("model", str(format_name), sorted(opsets.items()), ports, _graph_mark(graph, {}, 0))


def count_operators(graph: Graph) -> tuple[tuple[str, int], ...]:
    """Nodes by operator, those of sub-graphs included, sorted by name."""
    counts = Counter(node.label for inner in _with_subgraphs(graph) for node in inner.nodes)
    return tuple(sorted(counts.items()))


def _with_subgraphs(graph: Graph) -> Iterable[Graph]:
    yield graph
    for node in graph.nodes:
        for attribute in node.attributes:
            for inner in attribute.graphs():
                yield from _with_subgraphs(inner)


def _mark(*parts: object) -> str:
    """A digest of plain data; `repr` of str, bytes, int, None, list and tuple is unambiguous."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _graph_mark(graph: Graph, outer: Mapping[str, str], depth: int) -> str:
    values = dict(outer)
    for position, port in enumerate(graph.inputs):
        values[port.name] = _mark("input", depth, position)
    constants = []
    for name, constant in graph.initializers.items():
        default = _mark("constant", constant.element_type, constant.dims, constant.digest)
        constants.append(default)
        values[name] = _mark("overridable", values[name], default) if name in values else default
    marks = _node_marks(graph, values, depth)
    records = sorted(
        _mark(r.optimizer, r.action, [None if i is None else marks[i] for i in r.nodes], (*r.rest, r.produced))
        for r in graph.records
    )
    outputs = [values.get(port.name, "") for port in graph.outputs]
    return _mark("graph", len(graph.inputs), outputs, sorted(marks), sorted(constants), records)


def _node_marks(graph: Graph, values: dict[str, str], depth: int) -> list[str]:
    """Each node's mark, made from its inputs' marks; fills `values` with the marks of the nodes' outputs."""
    producers = {name: at for at, node in enumerate(graph.nodes) for name in node.outputs if name}
    needs = [
        {producers[name] for name in (*node.inputs, *_free_names(node)) if name in producers} for node in graph.nodes
    ]
    marks = [""] * len(graph.nodes)
    entered: set[int] = set()
    for start in range(len(graph.nodes)):
        stack = [start]
        while stack:
            at = stack[-1]
            waiting = [] if marks[at] else [need for need in needs[at] if not marks[need]]
            if not waiting:
                stack.pop()
                if not marks[at]:
                    marks[at] = _node_mark(graph.nodes[at], values, depth)
                continue
            if at in entered:
                raise ValueError("the graph has a cycle")
            entered.add(at)
            stack.extend(waiting)
    return marks


def _node_mark(node: Node, values: dict[str, str], depth: int) -> str:
    attributes = sorted((a.name, a.kind, _attribute_mark(a, values, depth)) for a in node.attributes)
    inputs = [values.get(name, f"outer {name}") if name else "" for name in node.inputs]
    outputs = [bool(name) for name in node.outputs]
    mark = _mark("node", node.domain, node.operator, node.version, attributes, inputs, outputs)
    for position, name in enumerate(node.outputs):
        if name:
            values[name] = _mark(mark, position)
    return mark


def _attribute_mark(attribute: Attribute, values: Mapping[str, str], depth: int) -> str:
    def one(item: Scalar | Constant | Graph) -> object:
        if isinstance(item, Graph):
            return _graph_mark(item, values, depth + 1)
        if isinstance(item, Constant):
            return (item.element_type, item.dims, item.digest)
        return struct.pack("<f", item) if isinstance(item, float) else item

    value = attribute.value
    return _mark([one(item) for item in value] if isinstance(value, tuple) else one(value))


def _free_names(node: Node) -> set[str]:
    """Names that sub-graphs of a node take from outside."""
    free: set[str] = set()
    for attribute in node.attributes:
        for graph in attribute.graphs():
            used = {port.name for port in graph.outputs}
            own = {port.name for port in graph.inputs} | set(graph.initializers)
            for inner in graph.nodes:
                used |= set(inner.inputs) | _free_names(inner)
                own |= set(inner.outputs)
            free |= used - own
    return free
