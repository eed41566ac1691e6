"""Pure: how many multiply-adds a node of a graph costs, from the shapes of its tensors.

Counted as in the usual tables of networks (MACs): convolutions, matrix products, nothing else. Other operators cost
memory traffic, not arithmetic, so a share of multiply-adds says nothing of them.
"""

from __future__ import annotations

from math import prod

from android_runner.nnapi.graph import Graph, Node

_CONVOLUTIONS = frozenset(("Conv", "FusedConv", "QLinearConv", "ConvInteger", "NhwcFusedConv"))
_PRODUCTS = frozenset(("MatMul", "FusedMatMul", "MatMulInteger", "QLinearMatMul", "Gemm", "FusedGemm", "QGemm"))
_WEIGHT_AT = {"QLinearConv": 3, "QLinearMatMul": 3, "QGemm": 3}


def multiply_adds(graph: Graph, node: Node) -> int | None:
    """Multiply-adds of one run of `node`; 0 for operators without any, None where a shape is not known."""
    if node.op_type in _CONVOLUTIONS:
        return _convolution(graph, node, node.outputs[:1])
    if node.op_type == "ConvTranspose":
        return _convolution(graph, node, node.inputs[:1])
    if node.op_type in _PRODUCTS:
        return _product(graph, node)
    return 0


def _convolution(graph: Graph, node: Node, positions: tuple[str, ...]) -> int | None:
    """Each position (of the output; of the input where it is transposed) meets one filter: weight (M, C/group, k…)."""
    at = _WEIGHT_AT.get(node.op_type, 1)
    if len(node.inputs) <= at or not positions:
        return None
    weight, value = graph.value(node.inputs[at]), graph.value(positions[0])
    if not weight.fixed or not value.fixed or weight.dims is None or value.dims is None:
        return None
    return prod(value.dims) * prod(weight.dims[1:])


def _product(graph: Graph, node: Node) -> int | None:
    """Each element of the output sums over the common dimension."""
    left = graph.value(node.inputs[0]) if node.inputs else None
    result = graph.value(node.outputs[0]) if node.outputs else None
    if left is None or result is None or not left.fixed or not result.fixed or not left.dims or result.dims is None:
        return None
    turned = bool(node.attributes.get("transA", 0)) and len(left.dims) > 1
    return prod(result.dims) * (left.dims[-2] if turned else left.dims[-1])
