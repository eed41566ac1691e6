"""Pure: what the execution provider wants of quantized inputs and outputs: uint8, scales and zero points that are
constants, one for a whole tensor but for int8 weights of a convolution.

After `builders/op_builder_helpers.cc` and `builders/helper.cc` in `core/providers/nnapi/nnapi_builtin`, ONNX Runtime
1.21.
"""

from __future__ import annotations

import math

from android_runner.nnapi.case import FLOAT, INT8, UINT8, Case, Io, Why, not_checked, type_name
from android_runner.nnapi.graph import Value
from android_runner.nnapi.levels import LEVEL_3

_CONV = ("Conv", "QLinearConv")
_MATMUL = ("MatMul", "QLinearMatMul")
SOFTMAX_SCALE = 1 / 256
"""NNAPI's fixed output scale of Softmax and Logistic, with zero point 0."""


def is_quantized(case: Case) -> bool:
    """Whether a node works on quantized values: a QLinear operator, or one between DequantizeLinear and
    QuantizeLinear."""
    return case.unit.is_qdq or case.op.startswith("QLinear")


def binary_types(case: Case) -> Why | None:
    """The types of both operands: uint8 twice, or int8 for the second of a convolution or a matrix product."""
    first, second = case.input(0).elem_type, case.input(1).elem_type
    has_weight = case.op in _CONV or case.op in (*_MATMUL, "Gemm")
    if first == UINT8 and (second in (UINT8, INT8) if has_weight else second == first):
        return None
    wanted = "uint8 by uint8 or int8" if has_weight else "uint8 by uint8"
    return Why("type", f"quantized {case.op} takes {wanted}, this is {type_name(first)} by {type_name(second)}")


def quantized_io(case: Case, inputs: tuple[int, ...], outputs: tuple[int, ...] = (0,)) -> Why | None:
    """`IsQuantizedIOSupported` of these inputs, then of these outputs."""
    for ios, wanted, side in ((case.unit.inputs, inputs, "input"), (case.unit.outputs, outputs, "output")):
        for at in wanted:
            why = _one(case, ios, at, side)
            if why:
                return why
    return None


def _one(case: Case, ios: tuple[Io, ...], at: int, side: str) -> Why | None:
    if at >= len(ios):
        return Why("inputs", f"quantized {case.op} has no {side} {at}")
    io = ios[at]
    if io.scale is None:
        return not_checked(
            "quantization", f"{side} {at} of quantized {case.op} has no scale, over which the EP fails with an error"
        )
    value = case.graph.value(io.name)
    is_weight = side == "input" and at == 1 and case.op in (*_CONV, *_MATMUL, "Gemm")
    is_int8_weight = is_weight and value.elem_type == INT8
    if value.elem_type != UINT8 and not is_int8_weight:
        return Why("type", f"{side} {at} of quantized {case.op} must be uint8, this is {type_name(value.elem_type)}")
    if is_int8_weight:
        return _int8_scale(case, io, value) or _int8_zero_point(case, io, value)
    return _whole_tensor(case, io.scale, "scale", at, side) or _whole_tensor(
        case, io.zero_point, "zero point", at, side
    )


def _whole_tensor(case: Case, name: str | None, what: str, at: int, side: str) -> Why | None:
    """One constant for the whole tensor; `name` is None where there may be none."""
    if name is None:
        return None
    value = case.graph.value(name)
    if not value.constant:
        return Why("quantization", f"the {what} of {side} {at} of {case.op} must be a constant initializer")
    if _leading(value) != 1:
        return Why("quantization", f"{case.op} takes no {what} for each channel: only int8 weights of Conv have them")
    return None


def _leading(value: Value) -> int:
    return value.dims[0] if value.dims else 1


def _int8_scale(case: Case, io: Io, weight: Value) -> Why | None:
    scale = case.graph.value(io.scale or "")
    if not scale.constant:
        return Why("quantization", f"the scale of {case.op}'s weight must be a constant initializer")
    if _leading(scale) == 1:
        return None
    if case.op in _MATMUL:
        return Why("quantization", f"{case.op} takes no scale for each channel")
    if case.level < LEVEL_3:
        return Why("api-level", f"a scale for each channel of {case.op} needs API 29, this is {case.level}")
    return _same_channels(case, weight, _leading(scale), "scales")


def _same_channels(case: Case, weight: Value, count: int, what: str) -> Why | None:
    if weight.dims and weight.dims[0] == count:
        return None
    return Why("quantization", f"{case.op} has {count} {what} for a weight of another first dimension")


def _int8_zero_point(case: Case, io: Io, weight: Value) -> Why | None:
    if io.zero_point is None:
        return None
    zero = case.graph.value(io.zero_point)
    if not zero.constant:
        return Why("quantization", f"the zero point of {case.op}'s weight must be a constant initializer")
    if zero.elem_type != INT8:
        return Why("type", f"the zero point of {case.op}'s int8 weight must be int8")
    if _leading(zero) != 1:
        if case.op in _MATMUL:
            return Why("quantization", f"{case.op} takes no zero point for each channel")
        why = _same_channels(case, weight, _leading(zero), "zero points")
        if why:
            return why
    if zero.elements is None:
        return not_checked("quantization", f"the zero points of {case.op}'s weight are too many to read")
    if any(zero.elements):
        return Why("quantization", f"the zero point of {case.op}'s int8 weight must be 0")
    return None


def scale_and_zero_point(case: Case, io: Io) -> tuple[float, int] | None:
    """The first of the constants (`GetQuantizationScaleAndZeroPoint`); None where one can't be read. A zero point is
    read as an unsigned byte, an int8 one too."""
    if io.scale is None:
        return None
    scale = case.graph.value(io.scale)
    if not scale.constant or scale.elem_type != FLOAT or not scale.elements:
        return None
    if io.zero_point is None:
        return float(scale.elements[0]), 0
    zero = case.graph.value(io.zero_point)
    if not zero.constant or not zero.elements:
        return None
    return float(scale.elements[0]), int(zero.elements[0]) & 0xFF


def fixed_output(case: Case) -> Why | None:
    """The output has scale 1/256 and zero point 0, which NNAPI fixes for Softmax and Logistic."""
    found = scale_and_zero_point(case, case.unit.outputs[0])
    if found == (SOFTMAX_SCALE, 0):
        return None
    return Why("quantization", f"NNAPI fixes the output of quantized {case.op} at scale 1/256 and zero point 0")


def same_as_first(case: Case, others: tuple[Io, ...]) -> Why | None:
    """Scale and zero point of `others` equal those of the first input."""
    first = scale_and_zero_point(case, case.unit.inputs[0])
    if first is not None and all(_equal(first, scale_and_zero_point(case, io)) for io in others):
        return None
    return Why("quantization", f"inputs and output of quantized {case.op} must share one scale and zero point")


def _equal(first: tuple[float, int], other: tuple[float, int] | None) -> bool:
    return other is not None and math.isclose(first[0], other[0], rel_tol=0, abs_tol=0) and first[1] == other[1]
