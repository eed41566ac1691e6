"""Pure: claim rules of operators on images: convolution, pooling, normalization, resizing.

After `builders/impl/{conv,pool,batchnorm,LRN,depthtospace,resize}_op_builder.cc` in
`core/providers/nnapi/nnapi_builtin`, ONNX Runtime 1.21.
"""

from __future__ import annotations

from android_runner.nnapi.case import (
    UINT8,
    Case,
    Why,
    constant,
    float_input,
    float_or_uint8_input,
    input_rank,
    not_checked,
)
from android_runner.nnapi.levels import LEVEL_2, LEVEL_3, LEVEL_4
from android_runner.nnapi.quantized import binary_types, is_quantized, quantized_io, same_as_first

POOLS = ("AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool", "QLinearAveragePool")
_ONES = (1, 1)


def image_level(case: Case) -> int:
    """Convolution and pooling: level 2, in NCHW level 3."""
    return LEVEL_3 if case.nchw else LEVEL_2


def conv_io(case: Case) -> Why | None:
    """float32; uint8 by uint8 or int8 where it is quantized."""
    if not is_quantized(case):
        return float_input(case)
    return binary_types(case) or quantized_io(case, (0, 1))


def conv(case: Case) -> Why | None:
    """2-D, constant weight; dilations from API 29 on, not with groups."""
    if is_quantized(case) and case.node.domain == "com.microsoft":
        return Why("domain", "com.microsoft:QLinearConv is not taken, only that of ONNX")
    why = constant(case, 1, "the weight")
    if why:
        return why
    weight = case.dims(1) or ()
    if len(weight) != 4:
        return Why("rank", f"only 2-D convolution: its weight is 4-D, this is {len(weight)}-D")
    if case.integers("dilations", _ONES) != _ONES:
        if case.integer("group", 1) != 1 and weight[1] != 1:
            return Why("attribute", "dilations of a grouped convolution are not taken")
        if case.level < LEVEL_3:
            return Why("api-level", f"dilations of {case.op} need API 29, this is {case.level}")
    if is_quantized(case) and case.count > 2:
        return constant(case, 2, "the bias")
    return None


def pool_io(case: Case) -> Why | None:
    """float32; MaxPool also uint8; quantized AveragePool uint8 on both sides."""
    if is_quantized(case):
        return quantized_io(case, (0,)) or float_or_uint8_input(case)
    return float_or_uint8_input(case) if case.op == "MaxPool" else float_input(case)


def pool(case: Case) -> Why | None:
    """4-D input; no dilations, no ceil_mode, no counted padding, no indices."""
    why = input_rank(case, 4, 4)
    if why or case.op.startswith("Global"):
        return why
    for name in ("count_include_pad", "storage_order", "ceil_mode"):
        if case.integer(name, 0) == 1:
            return Why("attribute", f"{case.op} is not taken with {name} = 1")
    if len(case.integers("kernel_shape", _ONES)) != 2:
        return Why("rank", "only 2-D pooling")
    if case.integers("dilations", _ONES) != _ONES:
        return Why("attribute", "dilations of pooling are not taken")
    if len(case.unit.outputs) != 1:
        return Why("attribute", "MaxPool with indices as second output is not taken")
    return same_as_first(case, case.unit.outputs) if is_quantized(case) else None


def batch_normalization(case: Case) -> Why | None:
    """At most 4-D, one output, constants."""
    if len(case.unit.outputs) != 1:
        return Why("attribute", "BatchNormalization with more than one output is for training")
    why = input_rank(case, 0, 4)
    if why:
        return why
    if case.integer("spatial", 1) != 1:
        return Why("attribute", "BatchNormalization is not taken with spatial = 0")
    for at, what in enumerate(("the scale", "B", "the mean", "the variance"), start=1):
        why = constant(case, at, what)
        if why:
            return why
    return None


def four_d(case: Case) -> Why | None:
    """4-D input: LRN."""
    return input_rank(case, 4, 4)


def depth_to_space(case: Case) -> Why | None:
    """4-D, mode DCR; in NCHW from API 29 on."""
    why = input_rank(case, 4, 4)
    if why:
        return why
    if case.nchw and case.level < LEVEL_3:
        return Why("api-level", f"DepthToSpace in NCHW needs API 29, this is {case.level}")
    if case.node.since_version >= 11 and case.text("mode", "DCR") != "DCR":
        return Why("attribute", "DepthToSpace is taken in mode DCR only")
    return None


def resize_level(case: Case) -> int:
    """Level 2 for uint8, else level 3."""
    return LEVEL_2 if case.input(0).elem_type == UINT8 else LEVEL_3


def resize_io(case: Case) -> Why | None:
    """float32 or uint8."""
    why = float_or_uint8_input(case)
    return why if why or not is_quantized(case) else quantized_io(case, (0,))


def resize(case: Case) -> Why | None:
    """4-D; linear, or nearest with asymmetric and floor; constant scales or sizes that leave N and C alone."""
    return input_rank(case, 4, 4) or _resize_attributes(case) or _resize_target(case)


def _resize_attributes(case: Case) -> Why | None:
    mode = case.text("mode", "nearest")
    if mode not in ("linear", "nearest"):
        return Why("attribute", f"Resize is not taken in mode {mode}")
    if case.integer("exclude_outside", 0) != 0:
        return Why("attribute", "Resize is not taken with exclude_outside")
    transform = case.text("coordinate_transformation_mode", "half_pixel")
    if mode == "linear":
        why = _linear(case, transform)
    elif transform != "asymmetric":
        why = Why("attribute", f"nearest Resize is taken with asymmetric coordinates only, this is {transform}")
    elif case.text("nearest_mode", "round_prefer_floor") != "floor":
        why = Why("attribute", "nearest Resize is taken with nearest_mode floor only")
    else:
        why = None
    return why or _resize_new_attributes(case)


def _linear(case: Case, transform: str) -> Why | None:
    if transform not in ("half_pixel", "align_corners", "asymmetric"):
        return Why("attribute", f"linear Resize is not taken with {transform}")
    if transform != "asymmetric" and case.level < LEVEL_4:
        return Why("api-level", f"linear Resize with {transform} needs API 30, this is {case.level}")
    return None


def _resize_new_attributes(case: Case) -> Why | None:
    if case.node.since_version < 18:
        return None
    if case.integer("antialias", 0) != 0:
        return Why("attribute", "Resize is not taken with antialias")
    if case.integers("axes", ()):
        return Why("attribute", "Resize is not taken with axes")
    if case.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        return Why("attribute", "Resize is taken with keep_aspect_ratio_policy stretch only")
    return None


def _resize_target(case: Case) -> Why | None:
    if case.has_input(2):
        at, what = 2, "scales"
    elif case.has_input(3):
        at, what = 3, "sizes"
    else:
        return Why("constant-input", "scales or sizes of Resize must be given")
    why = constant(case, at, what)
    if why:
        return why
    values, dims = case.input(at).elements, case.dims() or ()
    if values is None or len(values) != 4:
        return not_checked("constant-input", f"{what} of Resize are not four numbers")
    if at == 3:
        is_nchw, why = _sizes(values, dims)
    else:
        is_nchw, why = _scales(values, dims)
    if why is None and is_nchw and case.level <= LEVEL_2:
        return Why("api-level", f"Resize in NCHW needs API 29, this is {case.level}")
    return why


def _scales(scales: tuple[int | float, ...], dims: tuple[int, ...]) -> tuple[bool, Why | None]:
    is_nchw = scales[1] == 1
    channels, height, width = (1, 2, 3) if is_nchw else (3, 1, 2)
    if scales[0] != 1 or scales[channels] != 1:
        return is_nchw, Why("attribute", "Resize of batch or channels is not taken")
    if scales[height] < 1 or scales[width] < 1:
        if dims[height] == 0 or dims[width] == 0:
            return is_nchw, Why("shape", "Resize to a smaller size needs a known height and width")
        if not (_divides(dims[height], scales[height]) and _divides(dims[width], scales[width])):
            return is_nchw, Why("shape", "Resize to a smaller size is taken only where that divides height and width")
    return is_nchw, None


def _divides(size: int, scale: float) -> bool:
    """`ReciprocalIsAFactorOfN`: only below 1, so one side that stays as it is is not taken beside one that shrinks."""
    if not 0 < scale < 1:
        return False
    factor = round(1 / scale)
    return abs(1 / scale - factor) < 1e-4 and size % factor == 0


def _sizes(sizes: tuple[int | float, ...], dims: tuple[int, ...]) -> tuple[bool, Why | None]:
    is_nchw = sizes[1] == dims[1]
    channels = 1 if is_nchw else 3
    if sizes[0] != dims[0] or sizes[channels] != dims[channels]:
        return is_nchw, Why("attribute", "Resize of batch or channels is not taken")
    return is_nchw, None
