"""Pure: which operators form a quantized group, and with what types.

After `core/optimizer/qdq_transformer/selectors_actions/qdq_selectors.cc` and the operator lists in `shared/utils.cc`
beside it, ONNX Runtime 1.21, with the selectors' defaults, as execution providers use them.
"""

from __future__ import annotations

from collections.abc import Callable

from android_runner.nnapi.case import INT8, INT32
from android_runner.nnapi.qdq_selection import Selection, has_constant_scalars

_COPYING = (
    "Gather", "GatherElements", "Reshape", "Expand", "Flatten", "Transpose", "MaxPool", "Resize", "Squeeze",
    "Unsqueeze", "Tile",
)  # fmt: skip
_UNARY = (
    "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LeakyRelu", "ReduceMean", "ReduceMin", "ReduceMax",
    "ReduceProd", "ReduceSum", "Relu", "Gelu", "Elu", "HardSigmoid", "HardSwish", "Sigmoid", "Slice", "LogSoftmax",
    "Softmax", "Sqrt", "Atan", "Asin", "Sin", "Cos", "Sign", "Tanh", "Exp", "Log", "LRN", "Ceil", "Floor", "Round",
    "Abs", "Neg", "DepthToSpace", "SpaceToDepth", "Clip", "LpNormalization",
)  # fmt: skip
VERSIONS: dict[str, tuple[int, ...]] = {"MaxPool": (12,)}
"""Operators that form a group in these versions only."""


def _copying(one: Selection) -> bool:
    return one.clip is None and one.has_nodes(1) and one.type_in(0) == one.type_out() and one.is_pair()


def _index(one: Selection) -> bool:
    if one.clip is not None or len(one.before) != 1 or not one.can_be():
        return False
    return has_constant_scalars(one.graph, one.graph.nodes[one.before[0]])


def _unary(one: Selection) -> bool:
    return one.has_nodes(1) and one.type_in(0) == one.type_out()


def _binary(one: Selection) -> bool:
    return one.has_nodes() and len(one.before) == 2 and one.type_in(0) == one.type_in(1) == one.type_out()


def _variadic(one: Selection) -> bool:
    if not one.has_nodes() or not one.before:
        return False
    kinds = {one.type_in(at) for at in range(len(one.before))} | {one.type_out(at) for at in range(len(one.after))}
    return len(kinds) == 1


def _split(one: Selection) -> bool:
    if one.clip is not None or not one.has_nodes(1):
        return False
    return all(one.type_out(at) == one.type_in(0) for at in range(len(one.after)))


def _conv(one: Selection) -> bool:
    if not one.has_nodes() or len(one.before) < 2 or one.type_in(0) != one.type_out():
        return False
    if one.type_in(0) == INT8 != one.type_in(1):
        return False
    return len(one.before) != 3 or one.type_in(2) == INT32


def _matmul(one: Selection) -> bool:
    if len(one.before) != 2 or one.type_in(0) == INT8 != one.type_in(1):
        return False
    return bool(one.after) and one.has_nodes() and one.type_in(0) == one.type_out()


def _gemm(one: Selection) -> bool:
    if not one.has_nodes(after_optional=True) or len(one.before) < 2 or one.type_in(0) == INT8 != one.type_in(1):
        return False
    if one.after and one.type_in(0) != one.type_out():
        return False
    return len(one.before) < 3 or (one.node.attributes.get("beta", 1.0) == 1.0 and one.type_in(2) == INT32)


def _normalization(one: Selection) -> bool:
    if not one.has_nodes() or one.type_in(0) != one.type_out():
        return False
    return len(one.before) < 3 or one.type_in(2) == INT32


def _batch_normalization(one: Selection) -> bool:
    return one.has_nodes(3) and one.type_in(0) == one.type_out() and not (one.type_in(0) == INT8 != one.type_in(1))


def _comparison(one: Selection) -> bool:
    return one.has_nodes(after_optional=True) and len(one.before) == 2 and one.type_in(0) == one.type_in(1)


def _where(one: Selection) -> bool:
    return one.has_nodes(2) and one.type_in(0) == one.type_in(1) == one.type_out()


def _pad(one: Selection) -> bool:
    if not one.before or len(one.before) > 2 or not one.has_nodes(len(one.before)):
        return False
    return all(one.type_in(at) == one.type_out() for at in range(len(one.before)))


def _top_k(one: Selection) -> bool:
    if one.clip is not None or len(one.before) != 1 or len(one.after) != 1 or not one.can_be():
        return False
    return one.type_in(0) == one.type_out() and one.is_pair()


KINDS: dict[str, Callable[[Selection], bool]] = {
    **dict.fromkeys(_COPYING, _copying),
    **dict.fromkeys(("ArgMax", "ArgMin"), _index),
    **dict.fromkeys(_UNARY, _unary),
    **dict.fromkeys(("Add", "Div", "Mul", "Pow", "Sub", "PRelu", "GridSample"), _binary),
    **dict.fromkeys(("Concat", "Max", "Min"), _variadic),
    "Split": _split,
    **dict.fromkeys(("Conv", "ConvTranspose"), _conv),
    "MatMul": _matmul,
    "Gemm": _gemm,
    **dict.fromkeys(("InstanceNormalization", "LayerNormalization"), _normalization),
    "BatchNormalization": _batch_normalization,
    **dict.fromkeys(("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"), _comparison),
    "Where": _where,
    "Pad": _pad,
    "TopK": _top_k,
}
"""By operator: whether a selection is a group."""
