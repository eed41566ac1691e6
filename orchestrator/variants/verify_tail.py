"""Puts the tail on an ONNX graph: for each output the nodes that turn its error into a shape.

    Cast(output → double), Cast(expected → double), Sub, Abs, ReduceMax = the largest difference
    + ReduceSum(Abs · 0)                             0, or NaN where anything is not finite, which a maximum may hide
    Less(…, bounds), Cast(→ int64), ReduceSum        how many bounds lie above it (`decibels`)
    ConstantOfShape                                  a tensor of so many bytes; up to opset 8 Tile

NNAPI takes no double, no comparison, no ReduceMax and no shape that depends on data, so all of it stays on the CPU. The
output itself stays an output, so that what produces it is neither fused into the tail nor left out. But where that is a
DequantizeLinear: of one that has two readers onnxruntime makes two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.variants.decibels import bounds
from orchestrator.variants.verify_variant import DIFFERENCE_NODE, ERROR_NODE, CheckedOutput, node_name

PREFIX = "orch_check_"
OLDEST_OPSET = 7
"""Sub takes no `broadcast` from here on, and onnxruntime has no older kernels."""
_CONSTANT_OF_SHAPE_SINCE = 9


def free_prefix(model: Any) -> str:
    """`PREFIX`, lengthened until no name in the main graph begins with it."""
    graph = model.graph
    names = {item.name for item in (*graph.input, *graph.output, *graph.initializer)}
    names |= {name for node in graph.node for name in (node.name, *node.output)}
    prefix = PREFIX
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def append_tails(model: Any, prefix: str, outputs: Sequence[CheckedOutput], expected: Mapping[str, Any]) -> None:
    """Add the tails of the outputs that can have one; `expected` has an array for each of these, by name."""
    opset = max(item.version for item in model.opset_import if item.domain in ("", "ai.onnx"))
    graph = model.graph
    unquantized = {name for node in graph.node if node.op_type == "DequantizeLinear" for name in node.output}
    given = list(zip(graph.output, outputs, strict=True))
    kept = [item for item, one in given if one.why_not or item.name not in unquantized]
    del graph.output[:]
    graph.output.extend(kept)
    for at, output in enumerate(outputs):
        if not output.why_not:
            _append(graph, _Names(prefix, at), output, expected[output.name], opset)


class _Names:
    """The names of one output's tail."""

    def __init__(self, prefix: str, at: int) -> None:
        self._prefix, self._at = prefix, at

    def __call__(self, what: str) -> str:
        return node_name(self._prefix, self._at, what)


def _append(graph: Any, name: _Names, output: CheckedOutput, expected: Any, opset: int) -> None:
    import numpy as np  # noqa: PLC0415
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415

    constants = {
        "expected": np.ascontiguousarray(expected),
        "bounds": np.array(bounds(output.peak), np.float64),
        "nothing": np.zeros((), np.float64),
    }
    shaping: tuple[tuple[str, ...], dict[str, Any]] = (("count",), {"value": helper.make_tensor("", 2, [1], [0])})
    if opset < _CONSTANT_OF_SHAPE_SINCE:
        constants["byte"] = np.zeros(1, np.uint8)
        shaping = (("byte", "count"), {})
    graph.initializer.extend(numpy_helper.from_array(value, name(what)) for what, value in constants.items())
    graph.node.append(
        helper.make_node("Cast", [output.name], [name("given_double")], name("given_double"), to=TensorProto.DOUBLE)
    )
    steps = [
        *_difference(TensorProto.DOUBLE, TensorProto.INT64),
        ("Tile" if "byte" in constants else "ConstantOfShape", ERROR_NODE, *shaping),
    ]
    for operator, what, inputs, attributes in steps:
        graph.node.append(
            helper.make_node(operator, [name(one) for one in inputs], [name(what)], name(what), **attributes)
        )
    graph.output.append(helper.make_tensor_value_info(name(ERROR_NODE), TensorProto.UINT8, [None]))


def _difference(double: int, int64: int) -> Iterator[tuple[str, str, tuple[str, ...], dict[str, Any]]]:
    """Operator, name of node and output, inputs, attributes, in an order that can run."""
    yield "Cast", "expected_double", ("expected",), {"to": double}
    yield "Sub", DIFFERENCE_NODE, ("given_double", "expected_double"), {}
    yield "Abs", "size", (DIFFERENCE_NODE,), {}
    yield "ReduceMax", "largest", ("size",), {"keepdims": 0}
    yield "Mul", "zeros", ("size", "nothing"), {}
    yield "ReduceSum", "nan_or_zero", ("zeros",), {"keepdims": 0}
    yield "Add", "known", ("largest", "nan_or_zero"), {}
    yield "Less", "above", ("known", "bounds"), {}
    yield "Cast", "above_as_int", ("above",), {"to": int64}
    yield "ReduceSum", "count", ("above_as_int",), {"keepdims": 1}
