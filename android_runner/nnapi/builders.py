"""Pure: the operators that NNAPI's execution provider has a builder for, and the questions asked of every node.

After `builders/op_builder_factory.cc` and `builders/impl/base_op_builder.{h,cc}` in
`core/providers/nnapi/nnapi_builtin`, ONNX Runtime 1.21. As there, an operator is found by its name alone, whatever its
domain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from android_runner.nnapi import ops_matrix as matrix
from android_runner.nnapi import ops_shape as shape
from android_runner.nnapi import ops_simple as simple
from android_runner.nnapi import ops_spatial as spatial
from android_runner.nnapi.case import Case, Check, Why, float_input, not_checked, passes
from android_runner.nnapi.levels import LEVEL_1, LEVEL_2, LEVEL_3, LEVEL_4

MAX_OPSET = 21
_KNOWN_DOMAINS = ("", "ai.onnx", "com.microsoft")


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """An operator's rules: least feature level, least version of the operator, types of its inputs and outputs, the
    rest; `qdq` whether it is taken between DequantizeLinear and QuantizeLinear."""

    level: int | Callable[[Case], int] = LEVEL_1
    opset: int | Callable[[Case], int] = 1
    io: Check = float_input
    rest: Check = passes
    qdq: bool = False


_UNARY = Builder(level=simple.unary_level, opset=6, io=simple.unary_io, rest=simple.unary)
_BINARY = Builder(level=simple.binary_level, opset=7, io=simple.binary_io, rest=simple.binary)
_POOL = Builder(level=spatial.image_level, io=spatial.pool_io, rest=spatial.pool)
_CONV = Builder(level=spatial.image_level, io=spatial.conv_io, rest=spatial.conv, qdq=True)
_PRODUCT = Builder(opset=matrix.product_opset, io=matrix.product_io, rest=matrix.product, qdq=True)
_MIN_MAX = Builder(level=LEVEL_3, opset=6, rest=simple.min_max)
_BINARY_ANY = Builder(level=simple.binary_level, io=simple.binary_io, rest=simple.binary)
_BINARY_QDQ = Builder(level=simple.binary_level, opset=7, io=simple.binary_io, rest=simple.binary, qdq=True)

BUILDERS: dict[str, Builder] = {
    "BatchNormalization": Builder(opset=7, rest=spatial.batch_normalization),
    "Cast": Builder(level=LEVEL_3, opset=6, rest=simple.cast),
    "Clip": Builder(rest=simple.clip),
    "Concat": Builder(io=shape.concat_io, rest=shape.one_to_four, qdq=True),
    "DepthToSpace": Builder(rest=spatial.depth_to_space),
    "DequantizeLinear": Builder(io=matrix.dequantize_io),
    "Elu": Builder(level=LEVEL_4, opset=6),
    "Flatten": Builder(rest=shape.flatten),
    "Gather": Builder(level=LEVEL_3, rest=shape.gather),
    "Identity": Builder(),
    "LeakyRelu": Builder(opset=6, rest=simple.leaky_relu),
    "LRN": Builder(level=LEVEL_2, rest=spatial.four_d),
    "Pad": Builder(level=LEVEL_3, opset=11, rest=shape.pad),
    "QuantizeLinear": Builder(level=LEVEL_3, io=matrix.quantize_io),
    "Relu": Builder(),
    "Reshape": Builder(opset=5, io=shape.reshape_io, rest=shape.reshape, qdq=True),
    "Resize": Builder(level=spatial.resize_level, opset=11, io=spatial.resize_io, rest=spatial.resize, qdq=True),
    "Slice": Builder(level=LEVEL_2, opset=10, rest=shape.slice_),
    "Softmax": Builder(level=LEVEL_2, io=matrix.softmax_io, rest=matrix.softmax, qdq=True),
    "Split": Builder(level=LEVEL_3, opset=13, rest=shape.split),
    "Squeeze": Builder(level=LEVEL_2, rest=shape.squeeze),
    "Transpose": Builder(level=LEVEL_2, io=shape.moving_io, rest=shape.one_to_four, qdq=True),
    "Unsqueeze": Builder(rest=shape.squeeze),
    "ReduceMean": Builder(level=LEVEL_2, rest=matrix.reduce_mean),
    "Max": _MIN_MAX,
    "Min": _MIN_MAX,
    "Conv": _CONV,
    "QLinearConv": _CONV,
    **dict.fromkeys(matrix.PRODUCTS, _PRODUCT),
    **dict.fromkeys(spatial.POOLS, _POOL),
    "AveragePool": Builder(level=spatial.image_level, io=spatial.pool_io, rest=spatial.pool, qdq=True),
    **dict.fromkeys(simple.UNARY, _UNARY),
    "QLinearSigmoid": Builder(level=simple.unary_level, io=simple.unary_io, rest=simple.unary),
    **dict.fromkeys(simple.BINARY, _BINARY_ANY),
    "Sub": _BINARY,
    "Div": _BINARY,
    "Pow": _BINARY,
    "Add": _BINARY_QDQ,
    "Mul": _BINARY_QDQ,
}


def why_not(case: Case) -> Why | None:
    """Why NNAPI does not take a unit, by the first rule that says no, in the execution provider's order."""
    builder = BUILDERS.get(case.op)
    if builder is None:
        return Why("no-builder", f"NNAPI's execution provider does not know {case.node.label}")
    if case.node.domain not in _KNOWN_DOMAINS:
        return not_checked("domain", f"{case.node.label} is an operator of somebody else")
    return (
        _level(case, builder)
        or _kind(case, builder)
        or _shapes(case)
        or builder.io(case)
        or _external(case)
        or _opset(case, builder)
        or builder.rest(case)
    )


def _level(case: Case, builder: Builder) -> Why | None:
    needed = builder.level if isinstance(builder.level, int) else builder.level(case)
    if needed <= case.level:
        return None
    layout = " in NCHW" if case.nchw and builder.level is spatial.image_level else ""
    return Why("api-level", f"{case.op}{layout} needs API {needed}, this is {case.level}")


def _kind(case: Case, builder: Builder) -> Why | None:
    if builder.qdq or not case.unit.is_qdq:
        return None
    return Why("quantization", f"{case.op} is not taken between DequantizeLinear and QuantizeLinear")


def _shapes(case: Case) -> Why | None:
    for io in case.unit.inputs:
        names = [io.name] if io.name else []
        names += [] if not io.name or io.scale is None else [io.scale]
        names += [] if not io.name or io.zero_point is None else [io.zero_point]
        for name in names:
            value = case.graph.value(name)
            if value.dims is None:
                return Why("dynamic-shape", f"the shape of {name or 'a missing input'} is not known")
            if not value.fixed:
                return Why("dynamic-shape", f"the shape of {name} is not fixed")
    return None


def _external(case: Case) -> Why | None:
    for io in case.unit.inputs:
        for name in (io.name, io.scale, io.zero_point):
            if name and case.graph.value(name).external:
                return Why("external-data", f"{name} lies in a file of its own (external data)")
    return None


def _opset(case: Case, builder: Builder) -> Why | None:
    lowest = builder.opset if isinstance(builder.opset, int) else builder.opset(case)
    version = case.node.since_version
    if lowest <= version <= MAX_OPSET:
        return None
    return Why("opset", f"{case.op} is taken in versions {lowest} to {MAX_OPSET}, this is version {version}")
