"""Pure: a graph cut into what is claimed as one: single nodes here, quantized groups by `qdq`.

After `core/framework/node_unit.cc` of ONNX Runtime 1.21.
"""

from __future__ import annotations

from android_runner.nnapi.case import Io, Unit
from android_runner.nnapi.graph import Graph, Node

_ONE_QUANTIZED = ("QLinearSigmoid", "QLinearAveragePool")
_TWO_QUANTIZED = ("QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearMul")


def single(graph: Graph, at: int) -> Unit:
    """One node as a unit (`NodeUnit::InitForSingleNode`)."""
    node = graph.nodes[at]
    inputs, outputs = _io_of(node)
    return Unit(at, (at,), inputs, outputs)


def _io_of(node: Node) -> tuple[tuple[Io, ...], tuple[Io, ...]]:
    given = node.inputs

    def quantized(name: str, scale: int) -> Io:
        zero_point = given[scale + 1] if scale + 1 < len(given) else None
        return Io(name, given[scale] if scale < len(given) else "", zero_point)

    first = given[0] if given else ""
    plain = tuple(Io(name) for name in node.outputs)
    result = node.outputs[0] if node.outputs else ""
    if node.op_type == "DequantizeLinear":
        return (quantized(first, 1),), plain
    if node.op_type == "QuantizeLinear":
        return (Io(first),), (quantized(result, 1),)
    if node.op_type in _ONE_QUANTIZED:  # x, its scale and zero point, those of y
        return (quantized(first, 1),), (quantized(result, 3),)
    if node.op_type in _TWO_QUANTIZED:  # a, scale, zero point, b, scale, zero point, those of y, bias
        second = quantized(given[3] if len(given) > 3 else "", 4)
        bias = (Io(given[8]),) if len(given) == 9 else ()
        return (quantized(first, 1), second, *bias), (quantized(result, 6),)
    return tuple(map(Io, given)), plain
