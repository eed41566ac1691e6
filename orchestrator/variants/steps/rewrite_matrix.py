"""Rewrites of matrix products, of normalizations over an axis, of cutting and turning.

NNAPI's execution provider takes 2-D products by a constant, batches whose leading dimensions are equal
(`android_runner.nnapi.ops_matrix`), Split into equal parts from opset 13 on, Transpose and Reshape of up to four
dimensions (`android_runner.nnapi.ops_shape`), and no normalization but that of batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from orchestrator.variants.steps.site import Site

_SLICE_WITH_INPUTS = 10
_MAX_RANK = 4


def flat_product(site: Site) -> bool:
    """MatMul of more dimensions by a 2-D constant: rows of all of them under each other. By a 2-D value: a batch of
    one."""
    a, b, out = site.dims(0), site.dims(1), site.output_dims()
    if a is None or b is None or out is None or len(b) != 2 or not 2 <= len(a) <= 4 or not site.is_float():
        return False
    if len(a) > 2 and site.array(1) is not None:
        rows = site.reshaped(site.input(0), (math.prod(a[:-1]), a[-1]))
        site.reshaped(site.put("MatMul", rows, site.input(1)), out, gives=0)
        return True
    left = site.reshaped(site.input(0), (1, math.prod(a[:-1]), a[-1]))
    right = site.reshaped(site.input(1), (1, *b))
    site.reshaped(site.put("MatMul", left, right), out, gives=0)
    return True


def plain_gemm(site: Site) -> bool:
    """Gemm with factors, a turned A, a B that is no constant, or a C of another shape than one row: constants are
    changed, a turned A becomes a batch of one (onnxruntime's level basic would turn it back), C is added."""
    a, b, out = site.dims(0), site.dims(1), site.output_dims()
    if a is None or b is None or out is None or len(a) != 2 or len(b) != 2 or not site.is_float():
        return False
    beta, weight = site.attribute("beta", 1.0), site.array(1)
    has_c = bool(site.input(2)) and beta != 0
    gives = None if has_c else 0
    if weight is None or site.attribute("transA", 0):
        value = _batch_of_one(site, a, b, out, gives)
    else:
        turned = weight if site.attribute("transB", 0) else weight.T
        value = site.put(
            "Gemm", site.input(0), site.constant(turned * site.attribute("alpha", 1.0)), gives=gives, transB=1
        )
    if has_c:
        c = site.array(2)
        term = site.constant(c * beta) if c is not None else _times(site, site.input(2), beta)
        site.put("Add", value, term, gives=0)
    return True


def _batch_of_one(site: Site, a: tuple[int, ...], b: tuple[int, ...], out: tuple[int, ...], gives: int | None) -> str:
    sides = []
    for at, dims, turn in ((0, a, "transA"), (1, b, "transB")):
        value = site.reshaped(site.input(at), (1, *dims))
        sides.append(site.put("Transpose", value, perm=[0, 2, 1]) if site.attribute(turn, 0) else value)
    product = site.put("MatMul", *sides)
    return site.reshaped(_times(site, product, site.attribute("alpha", 1.0)), out, gives=gives)


def _times(site: Site, value: str, factor: float) -> str:
    return value if factor == 1 else site.put("Mul", value, site.constant(factor))


def layer_norm(site: Site) -> bool:
    """LayerNormalization: mean, deviation, scale, shift."""
    dims = site.dims()
    if dims is None or not 1 <= len(dims) <= 4 or not site.is_float() or any(site.node.output[1:]):
        return False
    axes = range(site.attribute("axis", -1) % len(dims), len(dims))
    shift = site.input(2) or None
    _normalized(site, axes, site.input(1), shift, site.attribute("epsilon", 1e-5))
    return True


def instance_norm(site: Site) -> bool:
    """InstanceNormalization: the same over height and width, a scale and a shift for each channel."""
    dims, scale, shift = site.dims(), site.array(1), site.array(2)
    if dims is None or not 3 <= len(dims) <= 4 or scale is None or shift is None or not site.is_float():
        return False
    shape = (1, dims[1], *(1 for _ in dims[2:]))
    by_channel = [site.constant(array.reshape(shape)) for array in (scale, shift)]
    _normalized(site, range(2, len(dims)), by_channel[0], by_channel[1], site.attribute("epsilon", 1e-5))
    return True


def _normalized(site: Site, axes: Sequence[int], scale: str, shift: str | None, epsilon: float) -> None:
    centred = site.put("Sub", site.input(0), site.mean(site.input(0), axes, keep=True))
    spread = site.mean(site.put("Mul", centred, centred), axes, keep=True)
    deviation = site.put("Sqrt", site.put("Add", spread, site.constant(epsilon)))
    value = site.put("Mul", site.put("Div", centred, deviation), scale, gives=None if shift else 0)
    if shift:
        site.put("Add", value, shift, gives=0)


def cut_apart(site: Site) -> bool:
    """Split into unequal parts, or in an opset that NNAPI doesn't take it in: a Slice for each."""
    dims, sizes = site.dims(), _sizes(site)
    if not dims or sizes is None or site.opset < _SLICE_WITH_INPUTS or not site.is_float(0):
        return False
    axis = site.attribute("axis", 0) % len(dims)
    if sum(sizes) != dims[axis] or len(sizes) != len(site.node.output):
        return False
    start = 0
    for at, size in enumerate(sizes):
        if site.node.output[at]:
            ends = (site.constant(number, "int64") for number in (start, start + size, axis))
            site.put("Slice", site.input(0), *ends, gives=at)
        start += size
    return True


def _sizes(site: Site) -> list[int] | None:
    array: Any = site.array(1)
    if site.input(1):
        return None if array is None else [int(size) for size in array]
    given = site.attribute("split")
    if given:
        return list(given)
    dims, parts = site.dims() or (), len(site.node.output)
    size = dims[site.attribute("axis", 0) % len(dims)] if dims else 0
    whole = -(-size // parts)
    return [*([whole] * (parts - 1)), size - whole * (parts - 1)]


def fewer_dimensions(site: Site) -> bool:
    """Transpose of more than four dimensions: those that stay side by side are one, those of size 1 are none. This is
    how channels are shuffled."""
    dims, out = site.dims(), site.output_dims()
    perm = site.attribute("perm", tuple(reversed(range(len(dims or ())))))
    if dims is None or out is None or len(dims) <= _MAX_RANK or not site.is_float():
        return False
    runs: list[list[int]] = []
    for axis in (axis for axis in perm if dims[axis] != 1):
        follows = runs and all(dims[between] == 1 for between in range(runs[-1][-1] + 1, axis)) and axis > runs[-1][-1]
        if follows:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    order = sorted(range(len(runs)), key=lambda at: runs[at][0])
    sizes = [math.prod(dims[axis] for axis in runs[at]) for at in order]
    if not 1 <= len(sizes) <= _MAX_RANK:
        return False
    narrow = site.reshaped(site.before_reshapes(0), sizes)
    turned = site.put("Transpose", narrow, perm=[order.index(at) for at in range(len(runs))])
    site.reshaped(turned, out, gives=0)
    return True


def one_reshape(site: Site) -> bool:
    """Reshape of more than four dimensions that a Reshape made: from what that had."""
    source, out = site.before_reshapes(0), site.output_dims()
    if source == site.input(0) or out is None or not site.is_float(0):
        return False
    site.reshaped(source, out, gives=0)
    return True


REWRITES: dict[str, tuple[Callable[[Site], bool], ...]] = {
    "MatMul": (flat_product,),
    "Gemm": (plain_gemm,),
    "LayerNormalization": (layer_norm,),
    "InstanceNormalization": (instance_norm,),
    "Split": (cut_apart,),
    "Transpose": (fewer_dimensions,),
    "Reshape": (one_reshape,),
}
"""By operator."""
