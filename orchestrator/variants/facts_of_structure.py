"""Read from a ModelProto what its nodes tell: graphs within nodes, moves between layouts, half precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.variants.checks.facts import SubGraph

_FLOAT16, _BFLOAT16 = 10, 16
_TO_NHWC, _TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)
_IMAGE_OPERATORS = frozenset((
    "AveragePool", "Conv", "ConvTranspose", "DepthToSpace", "GlobalAveragePool", "GlobalMaxPool", "MaxPool", "Resize",
    "SpaceToDepth", "Upsample", "QLinearConv", "FusedConv",
))  # fmt: skip


def _graphs(item: Any) -> Iterator[Any]:
    if item.HasField("g"):
        yield item.g
    yield from item.graphs


def _every_node(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for item in node.attribute:
            for inner in _graphs(item):
                yield from _every_node(inner)


def subgraphs_of(model: Any) -> tuple[SubGraph, ...]:
    """The nodes of the main graph that hold graphs."""
    found = []
    for node in model.graph.node:
        count = sum(1 for item in node.attribute for inner in _graphs(item) for _ in _every_node(inner))
        if any(True for item in node.attribute for _ in _graphs(item)):
            found.append(SubGraph(node=node.name or node.op_type, operator=node.op_type, nodes=count))
    return tuple(found)


def labels_of(model: Any) -> tuple[str, ...]:
    """Every node's operator, `com.microsoft:FusedConv`, sub-graphs included."""
    return tuple(
        node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}:{node.op_type}"
        for node in _every_node(model.graph)
    )


def layout_moves(model: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Transposes between NCHW and NHWC in the main graph, and those of them at its inputs and outputs.

    Only where the graph has operators that work on images: attention turns its axes in the same way.
    """
    if _IMAGE_OPERATORS.isdisjoint(node.op_type for node in model.graph.node):
        return (), ()
    given = {value.name for value in model.graph.input}
    asked = {value.name for value in model.graph.output}
    every, border = [], []
    for node in model.graph.node:
        if node.op_type != "Transpose":
            continue
        orders = [tuple(item.ints) for item in node.attribute if item.name == "perm"]
        if not {_TO_NHWC, _TO_NCHW}.isdisjoint(orders):
            name = node.name or f"Transpose → {node.output[0]}"
            every.append(name)
            if node.input[0] in given or node.output[0] in asked:
                border.append(name)
    return tuple(every), tuple(border)


def half_tensors(model: Any) -> tuple[str, ...]:
    """Names of float16 and bfloat16 tensors as far as the file says: weights, inputs, outputs, what Casts make."""
    graph = model.graph
    names = [tensor.name for tensor in graph.initializer if tensor.data_type in (_FLOAT16, _BFLOAT16)]
    names += [
        value.name
        for value in (*graph.input, *graph.output, *graph.value_info)
        if value.type.tensor_type.elem_type in (_FLOAT16, _BFLOAT16)
    ]
    for node in graph.node:
        for item in node.attribute:
            casts = node.op_type == "Cast" and item.name == "to" and item.i in (_FLOAT16, _BFLOAT16)
            holds = node.op_type == "Constant" and item.name == "value" and item.t.data_type in (_FLOAT16, _BFLOAT16)
            if casts or holds:
                names.append(node.output[0])
    return tuple(dict.fromkeys(names))


def overridable(model: Any) -> tuple[str, ...]:
    """Initializers that are graph inputs too and can be overridden: from IR version 4 on."""
    if model.ir_version < 4:
        return ()
    given = {value.name for value in model.graph.input}
    return tuple(tensor.name for tensor in model.graph.initializer if tensor.name in given)
