"""Pure: claim rules of operators that move, cut and join.

After `builders/impl/{reshape,flatten,squeeze,unsqueeze,transpose,concat,split,slice,pad,gather}_op_builder.cc` in
`core/providers/nnapi/nnapi_builtin`, ONNX Runtime 1.21.
"""

from __future__ import annotations

import math

from android_runner.nnapi.case import (
    INT32,
    Case,
    Why,
    constant,
    float_input,
    float_or_uint8_input,
    input_rank,
    not_checked,
)
from android_runner.nnapi.levels import LEVEL_3
from android_runner.nnapi.quantized import is_quantized, quantized_io, same_as_first


def reshape_io(case: Case) -> Why | None:
    """float32, or uint8 between DequantizeLinear and QuantizeLinear."""
    return quantized_io(case, (0,)) if is_quantized(case) else float_input(case)


def reshape(case: Case) -> Why | None:
    """1-D to 4-D input, a constant shape; a 0 in it stands for a dimension of the input."""
    why = constant(case, 1, "the new shape") or input_rank(case, 1, 4)
    if why:
        return why
    dims, wanted = case.dims() or (), case.input(1).elements
    if wanted is None:
        return not_checked("constant-input", "the new shape of Reshape can't be read")
    for at, dim in enumerate(wanted):
        if dim == 0 and at < len(dims) and dims[at] == 0:
            return Why("shape", "Reshape keeps a dimension that is 0")
        if dim == 0 and case.integer("allowzero", 0) == 1:
            return Why("attribute", "Reshape to a dimension of 0 is not taken (allowzero)")
    return None


def flatten(case: Case) -> Why | None:
    """1-D to 4-D, and not 0 on both sides of the axis."""
    why = input_rank(case, 1, 4)
    if why:
        return why
    dims, axis = case.dims() or (), case.integer("axis", 1)
    axis += len(dims) if axis < 0 else 0
    if math.prod(dims[:axis]) == 0 and math.prod(dims[axis:]) == 0:
        return Why("shape", "Flatten of an input with 0 on both sides of the axis is not taken")
    return None


def squeeze(case: Case) -> Why | None:
    """Squeeze and Unsqueeze: 1-D to 4-D, constant axes."""
    why = input_rank(case, 1, 4)
    if why is None and case.node.since_version > 12 and case.count > 1:
        return constant(case, 1, "axes")
    return why


def moving_io(case: Case) -> Why | None:
    """Transpose: float32 or uint8."""
    why = float_or_uint8_input(case)
    return why if why or not is_quantized(case) else quantized_io(case, (0,))


def concat_io(case: Case) -> Why | None:
    """float32 or uint8; quantized ones share one scale below API 29."""
    why = float_or_uint8_input(case)
    if why or not is_quantized(case):
        return why
    why = quantized_io(case, tuple(range(case.count)))
    if why is None and case.level < LEVEL_3:
        return same_as_first(case, (*case.unit.inputs[1:], *case.unit.outputs[:1]))
    return why


def one_to_four(case: Case) -> Why | None:
    """1-D to 4-D: Transpose, Concat."""
    return input_rank(case, 1, 4)


def split(case: Case) -> Why | None:
    """Into equal parts, from constants."""
    dims = case.dims()
    if not dims:
        return Why("rank", "Split of a scalar is not taken")
    axis = case.integer("axis", 0)
    if not -len(dims) <= axis < len(dims):
        return Why("attribute", f"Split along axis {axis} of {len(dims)}")
    size = dims[axis]
    return _split_sizes(case, size) if case.has_input(1) else _split_count(case, size)


def _split_sizes(case: Case, size: int) -> Why | None:
    why = constant(case, 1, "split")
    if why:
        return why
    parts = case.input(1).elements
    if parts is None:
        return not_checked("constant-input", "the sizes of Split can't be read")
    if sum(parts) != size:
        return Why("shape", f"the sizes of Split add up to {sum(parts)}, not to {size}")
    return None if len(set(parts)) <= 1 else Why("shape", "Split is taken into equal parts only")


def _split_count(case: Case, size: int) -> Why | None:
    count = len(case.unit.outputs)
    if case.node.since_version >= 18:
        if "num_outputs" not in case.node.attributes:
            return Why("attribute", "Split has neither sizes nor num_outputs")
        if case.integer("num_outputs", 0) != count or count > size:
            return Why("attribute", "num_outputs of Split does not fit its outputs")
    return None if size % count == 0 else Why("shape", f"Split of {size} into {count} is not into equal parts")


def slice_(case: Case) -> Why | None:
    """At most 4-D, no empty dimension, constants."""
    why = input_rank(case, 0, 4) or _no_zero(case)
    for at, what in enumerate(("starts", "ends", "axes", "steps"), start=1):
        if why is None and (at < 3 or at < case.count):
            why = constant(case, at, what)
    return why


def pad(case: Case) -> Why | None:
    """1-D to 4-D, mode constant, constant pads that are not negative."""
    why = input_rank(case, 1, 4) or _no_zero(case)
    if why:
        return why
    mode = case.text("mode", "constant")
    if mode != "constant":
        return Why("attribute", f"Pad is taken in mode constant only, this is {mode}")
    why = constant(case, 1, "pads")
    if why:
        return why
    pads = case.input(1).elements
    if pads is None:
        return not_checked("constant-input", "pads of Pad can't be read")
    if any(one < 0 for one in pads):
        return Why("attribute", "Pad that cuts away (negative pads) is not taken")
    return constant(case, 2, "constant_value") if case.count > 2 else None


def gather(case: Case) -> Why | None:
    """1-D to 4-D, no empty dimension; indices are int32 or constant."""
    why = input_rank(case, 1, 4) or _no_zero(case)
    if why is None and case.input(1).elem_type != INT32:
        return constant(case, 1, "the indices (which are not int32)")
    return why


def _no_zero(case: Case) -> Why | None:
    return Why("shape", f"{case.op} of an empty tensor is not taken") if 0 in (case.dims() or ()) else None
