"""Pure: a `Graph` out of an ONNX model. Nothing here imports onnx: a model is any object with a ModelProto's fields."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from typing import Any

from android_runner.nnapi.graph import MAX_ELEMENTS, AttributeValue, Graph, Node, Value
from android_runner.nnapi.shapes import Types
from android_runner.nnapi.since import since_version

_FLOAT, _INT, _STRING, _TENSOR, _GRAPH, _FLOATS, _INTS, _STRINGS, _TENSORS, _GRAPHS = range(1, 11)
"""`AttributeProto.AttributeType`."""
_FORMATS = {1: "f", 2: "B", 3: "b", 4: "H", 5: "h", 6: "i", 7: "q", 9: "?", 10: "e", 11: "d", 12: "I", 13: "Q"}
"""`struct` letters for elements in `raw_data`, by `TensorProto.DataType`."""
_FIELDS = {1: "float_data", 7: "int64_data", 11: "double_data", 12: "uint64_data", 13: "uint64_data"}
"""Fields for elements that are not raw; the other types use `int32_data`."""
_EXTERNAL = 1
OVERRIDABLE_FROM_IR = 4


def graph_of(model: Any, types: Types) -> Graph:
    """The main graph of a ModelProto, as ONNX Runtime has it before it asks an execution provider.

    `types` are those of the nodes' outputs (`shapes.types_of`); inputs and initializers are read from the model.
    Constant nodes become constants, as at loading, so they are not among the nodes: `node_positions` tells where each
    stands in the model. From IR version 4 on an initializer that is also a graph input can be overridden and is no
    constant. Raises ValueError where the graph has a cycle.
    """
    graph = model.graph
    opsets = {item.domain: item.version for item in model.opset_import}
    opset = max(opsets.get("", 0), opsets.get("ai.onnx", 0))
    positions = node_positions(model)
    overridable = overridable_names(model)
    values = {name: Value(name, elem_type, dims) for name, (elem_type, dims) in types.items()}
    values |= {value.name: _declared(value) for value in graph.input}
    constants = [_tensor(tensor.name, tensor, overridable) for tensor in graph.initializer]
    constants += [_constant(node) for node in graph.node if _is_constant(node)]
    values |= {value.name: value for value in constants}
    return Graph(
        nodes=tuple(_node(graph.node[at], opset) for at in positions),
        values=values,
        inputs=tuple(value.name for value in graph.input if not values[value.name].constant),
        outputs=tuple(value.name for value in graph.output),
        opset=opset,
    )


def overridable_names(model: Any) -> set[str]:
    """Names under which an initializer can be overridden: the graph's inputs, from IR version 4 on."""
    return {value.name for value in model.graph.input} if model.ir_version >= OVERRIDABLE_FROM_IR else set()


def node_positions(model: Any) -> tuple[int, ...]:
    """For each node of `graph_of(model, …).nodes` its index in `model.graph.node`: topological order, kept where the
    model's own is one, without Constant nodes. Raises ValueError where the graph has a cycle."""
    nodes = model.graph.node
    made_by = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    needs = [{made_by[name] for name in (*node.input, *used_below(node)) if name in made_by} for node in nodes]
    order: list[int] = []
    placed: set[int] = set()
    for start in range(len(nodes)):
        _place(start, needs, order, placed)
    return tuple(at for at in order if not _is_constant(nodes[at]))


def _place(start: int, needs: Sequence[set[int]], order: list[int], placed: set[int]) -> None:
    """Append `start` to `order` behind all that it needs."""
    stack, entered = [start], set[int]()
    while stack:
        at = stack[-1]
        missing = sorted(needs[at] - placed)
        if at in placed or not missing:
            stack.pop()
            if at not in placed:
                placed.add(at)
                order.append(at)
        elif at in entered:
            raise ValueError("the graph has a cycle")
        else:
            entered.add(at)
            stack.extend(reversed(missing))


def _is_constant(node: Any) -> bool:
    return node.op_type == "Constant" and node.domain in ("", "ai.onnx")


def _node(node: Any, opset: int) -> Node:
    return Node(
        name=node.name,
        op_type=node.op_type,
        domain="" if node.domain == "ai.onnx" else node.domain,
        since_version=since_version(node.op_type, node.domain, opset),
        inputs=tuple(node.input),
        outputs=tuple(node.output),
        attributes={item.name: value for item in node.attribute if (value := _attribute(item)) is not None},
        implicit=tuple(used_below(node)),
        has_subgraph=any(True for item in node.attribute for _ in _graphs_of(item)),
    )


def _attribute(item: Any) -> AttributeValue | None:
    """A number, text, or several; None for tensors, graphs and kinds that this doesn't know."""
    readers: dict[int, Any] = {
        _FLOAT: lambda: float(item.f),
        _INT: lambda: int(item.i),
        _STRING: lambda: _text(item.s),
        _FLOATS: lambda: tuple(item.floats),
        _INTS: lambda: tuple(item.ints),
        _STRINGS: lambda: tuple(map(_text, item.strings)),
    }
    reader = readers.get(item.type)
    return None if reader is None else reader()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _graphs_of(item: Any) -> Iterable[Any]:
    if item.type == _GRAPH:
        yield item.g
    elif item.type == _GRAPHS:
        yield from item.graphs


def used_below(node: Any) -> list[str]:
    """Names that a node's sub-graphs take from outside, each once, in order of use."""
    used: dict[str, None] = {}
    for item in node.attribute:
        for graph in _graphs_of(item):
            own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
            own |= {sparse.values.name for sparse in graph.sparse_initializer}
            own |= {name for inner in graph.node for name in inner.output}
            inside = [name for inner in graph.node for name in (*inner.input, *used_below(inner))]
            inside += [value.name for value in graph.output]
            used |= dict.fromkeys(name for name in inside if name and name not in own)
    return list(used)


def _declared(value: Any) -> Value:
    """A graph input as the model declares it."""
    if not value.type.HasField("tensor_type"):
        return Value(value.name)
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return Value(value.name, tensor.elem_type)
    dims = tuple(int(dim.dim_value) if dim.HasField("dim_value") else -1 for dim in tensor.shape.dim)
    return Value(value.name, tensor.elem_type, dims)


def _tensor(name: str, tensor: Any, overridable: set[str]) -> Value:
    external = tensor.data_location == _EXTERNAL
    is_constant = name not in overridable
    elements = _elements(tensor) if is_constant and not external else None
    return Value(name, tensor.data_type, tuple(tensor.dims), is_constant, elements, external)


def _elements(tensor: Any) -> tuple[int | float, ...] | None:
    """The elements in order; None for large tensors, other types, and those whose length does not fit."""
    count = math.prod(tensor.dims)
    letter = _FORMATS.get(tensor.data_type)
    if letter is None or not 0 <= count <= MAX_ELEMENTS:
        return None
    if tensor.raw_data:
        whole = struct.calcsize(f"<{count}{letter}") == len(tensor.raw_data)
        return struct.unpack(f"<{count}{letter}", tensor.raw_data) if whole else None
    listed = tuple(getattr(tensor, _FIELDS.get(tensor.data_type, "int32_data")))
    if tensor.data_type == 10:  # float16 is listed as its bits
        listed = tuple(struct.unpack("<e", struct.pack("<H", bits & 0xFFFF))[0] for bits in listed)
    return listed if len(listed) == count else None


def _constant(node: Any) -> Value:
    """The value that a Constant node holds; without type where it is text or sparse."""
    name = node.output[0]
    for item in node.attribute:
        if item.type == _TENSOR:
            return _tensor(name, item.t, set())
        if item.type in (_FLOAT, _INT):
            number = item.f if item.type == _FLOAT else item.i
            return Value(name, 1 if item.type == _FLOAT else 7, (), True, (number,))
        if item.type in (_FLOATS, _INTS):
            numbers = tuple(item.floats if item.type == _FLOATS else item.ints)
            kept = numbers if len(numbers) <= MAX_ELEMENTS else None
            return Value(name, 1 if item.type == _FLOATS else 7, (len(numbers),), True, kept)
    return Value(name, constant=True)
