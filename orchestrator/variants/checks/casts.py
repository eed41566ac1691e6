"""Pure: a graph without the Casts that onnxruntime's CPU provider needs for half precision.

It puts them in when a session is made, after the execution providers were asked. NNAPI sees the operators in half
precision, so they are taken out again before its rules are asked.
"""

from __future__ import annotations

from dataclasses import replace

from android_runner.nnapi.graph import Graph, Node, Value

PREFIX = "InsertedPrecisionFreeCast_"
"""Nodes and tensors that `core/optimizer/insert_cast_transformer.cc` makes."""
_FLOAT, _FLOAT16 = 1, 10


def without_inserted_casts(graph: Graph) -> Graph:
    """The graph as it was before; the same where there are none."""
    if not any(node.name.startswith(PREFIX) for node in graph.nodes):
        return graph
    kept = tuple(_plain(node) for node in graph.nodes if not node.name.startswith(PREFIX))
    values = {name: value for name, value in graph.values.items() if not name.startswith(PREFIX)}
    for name, value in graph.values.items():
        if name.startswith(PREFIX):
            plain = name.removeprefix(PREFIX)
            values.setdefault(plain, Value(plain, _FLOAT16, value.dims, value.constant))
    nodes = []
    for node in kept:
        nodes.append(_in_half(node, values))
    return replace(graph, nodes=tuple(nodes), values=values)


def _plain(node: Node) -> Node:
    names = {"inputs": node.inputs, "outputs": node.outputs, "implicit": node.implicit}
    return replace(node, **{key: tuple(name.removeprefix(PREFIX) for name in one) for key, one in names.items()})  # type: ignore[arg-type]


def _in_half(node: Node, values: dict[str, Value]) -> Node:
    """A node that mixes both precisions got float32 because a Cast to half and back again fell away."""
    if node.op_type == "Cast" or not any(_type(values, name) == _FLOAT16 for name in (*node.inputs, *node.outputs)):
        return node
    inputs = []
    for name in node.inputs:
        half = f"{name} as float16"
        if _type(values, name) == _FLOAT and not values[name].constant:
            values[half] = replace(values[name], name=half, elem_type=_FLOAT16)
            inputs.append(half)
        else:
            inputs.append(name)
    return replace(node, inputs=tuple(inputs))


def _type(values: dict[str, Value], name: str) -> int:
    return values[name].elem_type if name in values else 0
