"""Pure: claim rules of matrix products, and of what commonly follows them.

After `builders/impl/{gemm,softmax,reduction,quantizelinear,dequantizelinear}_op_builder.cc` and
`IsSupportedBatchMatMul` in `builders/op_builder_helpers.cc`, `core/providers/nnapi/nnapi_builtin`, ONNX Runtime 1.21.
"""

from __future__ import annotations

from android_runner.nnapi.case import Case, Why, constant, float_input, input_rank, not_checked
from android_runner.nnapi.levels import LEVEL_2, LEVEL_3
from android_runner.nnapi.quantized import binary_types, fixed_output, is_quantized, quantized_io

PRODUCTS = ("Gemm", "MatMul", "QLinearMatMul")


def product_io(case: Case) -> Why | None:
    """float32; uint8 by uint8 or int8 where it is quantized."""
    if not is_quantized(case):
        return float_input(case)
    return binary_types(case) or quantized_io(case, (0, 1))


def product_opset(case: Case) -> int:
    """Gemm from opset 7 on."""
    return 7 if case.op == "Gemm" else 1


def product(case: Case) -> Why | None:
    """2-D by 2-D with a constant B (Gemm also with transB), or batches of MatMul."""
    a, b = case.dims(0), case.dims(1)
    if a is None or b is None:
        return Why("dynamic-shape", f"an input of {case.op} has no known rank")
    if len(a) > 2 and len(b) > 2:
        return _batch(case, a, b)
    if len(a) != 2 or len(b) != 2:
        return Why("rank", f"{case.op} takes 2-D by 2-D, this is {len(a)}-D by {len(b)}-D")
    if case.op != "Gemm":
        return constant(case, 1, "B")
    why = _gemm(case, b)
    if why is None and case.unit.is_qdq and case.count > 2:
        return constant(case, 2, "the bias")
    return why


def _batch(case: Case, a: tuple[int, ...], b: tuple[int, ...]) -> Why | None:
    if case.level < LEVEL_3:
        return Why("api-level", f"a batch of {case.op} needs API 29, this is {case.level}")
    if case.op != "MatMul" or case.unit.is_qdq:
        return Why("rank", "only MatMul of float32 is taken with more than 2 dimensions")
    if len(a) != len(b) or a[:-2] != b[:-2]:
        return Why("shape", "both sides of a batch of MatMul must have the same leading dimensions")
    return None


def _gemm(case: Case, b: tuple[int, ...]) -> Why | None:
    if case.integer("transA", 0) != 0:
        return Why("attribute", "Gemm is not taken with transA")
    for name in ("alpha", "beta"):
        if case.number(name, 1.0) != 1.0:
            return Why("attribute", f"Gemm is taken with {name} = 1 only")
    trans_b = case.integer("transB", 0)
    if trans_b == 0:
        why = constant(case, 1, "without transB, B")
        if why:
            return why
    return _gemm_bias(case, b[1] if trans_b == 0 else b[0]) if case.count == 3 else None


def _gemm_bias(case: Case, wanted: int) -> Why | None:
    """C is a vector, or from level 2 on one with ones before it (`GetGemmBiasSize`)."""
    c = case.dims(2)
    if c is None:
        return Why("dynamic-shape", "C of Gemm has no known shape")
    if not c:
        return Why("rank", "C of Gemm must not be a scalar")
    if len(c) != 1 and case.level < LEVEL_2:
        return Why("api-level", f"C of Gemm with {len(c)} dimensions needs API 28, this is {case.level}")
    if any(dim != 1 for dim in c[:-1]):
        return Why("shape", "C of Gemm must be a vector, or have only ones before its last dimension")
    if c[-1] != wanted:
        return Why("shape", f"C of Gemm must have {wanted} elements, this has {c[-1]}")
    return None


def softmax_io(case: Case) -> Why | None:
    """float32, or uint8 with NNAPI's own output scale."""
    if not is_quantized(case):
        return float_input(case)
    return quantized_io(case, (0,)) or fixed_output(case)


def softmax(case: Case) -> Why | None:
    """At most 4-D; on API 28 only 2-D or 4-D on the last axis. Below opset 13 it is always made 2-D.

    The C++ has an axis of 1 where none is given, but ONNX Runtime writes ONNX's default, -1, into the node before.
    """
    if case.node.since_version < 13:
        return None
    why = input_rank(case, 0, 4)
    if why or case.level >= LEVEL_3:
        return why
    rank = len(case.dims() or ())
    if rank not in (2, 4):
        return Why("rank", f"on API {case.level} Softmax takes 2-D or 4-D input, this is {rank}-D")
    if rank == 4 and case.behind_layout:
        return not_checked("attribute", f"the layout pass may turn Softmax's axis, which counts on API {case.level}")
    axis = case.integer("axis", -1)
    if axis % rank != rank - 1:
        return Why("attribute", f"on API {case.level} Softmax works on the last axis only, this is {axis}")
    return None


def reduce_mean(case: Case) -> Why | None:
    """1-D to 4-D, constant axes, no noop_with_empty_axes."""
    why = input_rank(case, 1, 4)
    if why is None and case.has_input(1):
        why = constant(case, 1, "axes")
    if why is None and case.node.since_version >= 18 and case.integer("noop_with_empty_axes", 0) != 0:
        return Why("attribute", "ReduceMean is not taken with noop_with_empty_axes")
    return why


def quantize_io(case: Case) -> Why | None:
    """A uint8 output with one constant scale."""
    return quantized_io(case, ())


def dequantize_io(case: Case) -> Why | None:
    """A uint8 input with one constant scale."""
    return quantized_io(case, (0,), ())
