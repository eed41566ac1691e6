"""Pure: claim rules of operators that work element by element.

After `builders/impl/{unary,binary,minmax,clip,leakyrelu,cast}_op_builder.cc` in
`core/providers/nnapi/nnapi_builtin`, ONNX Runtime 1.21.
"""

from __future__ import annotations

from android_runner.nnapi.case import FLOAT, INT32, Case, Why, float_input, input_rank, not_checked, type_name
from android_runner.nnapi.graph import Value
from android_runner.nnapi.levels import LEVEL_1, LEVEL_2, LEVEL_3
from android_runner.nnapi.quantized import binary_types, fixed_output, is_quantized, quantized_io

UNARY = ("Abs", "Exp", "Floor", "Log", "Neg", "QLinearSigmoid", "Sigmoid", "Sin", "Sqrt", "Tanh")
BINARY = ("Add", "Div", "Mul", "Pow", "PRelu", "QLinearAdd", "QLinearMul", "Sub")
_LOWEST_FLOAT = -3.4028234663852886e38
_CLIPS = ((0.0, 6.0), (-1.0, 1.0))


def unary_level(case: Case) -> int:
    """The least feature level of a unary operator."""
    return LEVEL_3 if case.op in ("Abs", "Exp", "Log", "Neg", "Sin", "Sqrt") else LEVEL_1


def unary_io(case: Case) -> Why | None:
    """float32, or for QLinearSigmoid uint8 on both sides."""
    return quantized_io(case, (0,)) if is_quantized(case) else float_input(case)


def unary(case: Case) -> Why | None:
    """Sigmoid has 1 to 4 dimensions, the quantized one NNAPI's own output scale."""
    if case.op == "QLinearSigmoid":
        return fixed_output(case)
    return input_rank(case, 1, 4) if case.op == "Sigmoid" else None


def binary_level(case: Case) -> int:
    """The least feature level of a binary operator."""
    if case.op in ("Sub", "Div"):
        return LEVEL_2
    return LEVEL_3 if case.op in ("Pow", "PRelu") else LEVEL_1


def binary_io(case: Case) -> Why | None:
    """float32; both sides of Pow; uint8 where it is quantized."""
    if is_quantized(case):
        return binary_types(case) or quantized_io(case, (0, 1))
    if case.op != "Pow":
        return float_input(case)
    types = case.input(0).elem_type, case.input(1).elem_type
    if types == (FLOAT, FLOAT):
        return None
    return Why("type", f"Pow takes float32 twice, this is {type_name(types[0])} and {type_name(types[1])}")


def binary(case: Case) -> Why | None:
    """Both inputs have at most 4 dimensions."""
    for at in (0, 1):
        dims = case.dims(at)
        if dims is None:
            return Why("dynamic-shape", f"input {at} of {case.op} has no known rank")
        if len(dims) > 4:
            return Why("rank", f"{case.op} takes at most 4-D inputs, input {at} is {len(dims)}-D")
    return None


def min_max(case: Case) -> Why | None:
    """Two inputs exactly."""
    return None if case.count == 2 else Why("inputs", f"{case.op} takes 2 inputs, this has {case.count}")


def leaky_relu(case: Case) -> Why | None:
    """1 to 4 dimensions."""
    return input_rank(case, 1, 4)


def cast(case: Case) -> Why | None:
    """To float32 or int32."""
    to = case.integer("to", 0)
    return None if to in (FLOAT, INT32) else Why("attribute", f"Cast goes to float32 or int32, this to {type_name(to)}")


def clip(case: Case) -> Why | None:
    """Between 0 and 6, or -1 and 1 (NNAPI's RELU6 and RELU1); `GetClipMinMax` in `core/providers/shared/utils`."""
    bounds = [_LOWEST_FLOAT, -_LOWEST_FLOAT]
    if case.node.since_version < 11:
        bounds = [case.number("min", bounds[0]), case.number("max", bounds[1])]
    else:
        for at, name in enumerate(("min", "max")):
            if case.has_input(at + 1):
                found = _bound(case.input(at + 1), name)
                if isinstance(found, Why):
                    return found
                bounds[at] = found
    if tuple(bounds) in _CLIPS:
        return None
    return Why("attribute", f"Clip goes from 0 to 6 or from -1 to 1, this from {bounds[0]:g} to {bounds[1]:g}")


def _bound(value: Value, name: str) -> float | Why:
    if not value.constant:
        return Why("constant-input", f"{name} of Clip must be a constant initializer")
    return float(value.elements[0]) if value.elements else not_checked("attribute", f"{name} of Clip can't be read")
