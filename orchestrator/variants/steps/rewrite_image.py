"""Rewrites of operators on images.

NNAPI's execution provider has no builder for these, or takes only some forms (`android_runner.nnapi.ops_spatial`):
pooling without `ceil_mode` and `count_include_pad`, 2-D convolution, DepthToSpace in mode DCR, nearest Resize with
asymmetric coordinates and floor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from orchestrator.variants.steps.site import Site

_MAX_KERNEL = 1 << 20


def whole_pool(site: Site) -> bool:
    """Pooling with `ceil_mode`: without, and with so much padding behind that as much comes out. Padding counts
    neither for a maximum nor, with `count_include_pad` 0, for an average."""
    dims, out = site.dims(), site.output_dims()
    kernel = site.attribute("kernel_shape", ())
    plain = site.attribute("auto_pad", "NOTSET") == "NOTSET" and set(site.attribute("dilations", (1,))) == {1}
    if not site.attribute("ceil_mode", 0) or site.attribute("count_include_pad", 0) or not plain:
        return False
    if dims is None or out is None or len(dims) != 4 or len(kernel) != 2 or len(site.node.output) != 1:
        return False
    strides, pads = site.attribute("strides", (1, 1)), list(site.attribute("pads", (0, 0, 0, 0)))
    for at in range(2):
        covered = (out[2 + at] - 1) * strides[at] + kernel[at]
        pads[2 + at] = max(pads[2 + at], covered - dims[2 + at] - pads[at])
        comes_out = (dims[2 + at] + pads[at] + pads[2 + at] - kernel[at]) // strides[at] + 1
        if comes_out != out[2 + at] or pads[2 + at] >= kernel[at]:
            return False
    site.put(site.node.op_type, site.input(0), gives=0, kernel_shape=kernel, strides=strides, pads=pads)
    return True


def counted_padding(site: Site) -> bool:
    """AveragePool with `count_include_pad`: without, times the share of each window that is no padding.

    Pad before the pool would do, but onnxruntime's level basic takes that back.
    """
    import numpy as np  # noqa: PLC0415

    dims, out = site.dims(), site.output_dims()
    kernel = site.attribute("kernel_shape", ())
    plain = site.attribute("auto_pad", "NOTSET") == "NOTSET" and set(site.attribute("dilations", (1,))) == {1}
    if not site.attribute("count_include_pad", 0) or site.attribute("ceil_mode", 0) or not plain:
        return False
    if dims is None or out is None or len(dims) != 4 or len(kernel) != 2 or not site.is_float():
        return False
    strides, pads = site.attribute("strides", (1, 1)), site.attribute("pads", (0, 0, 0, 0))
    shares = []
    for at in range(2):
        starts = np.arange(out[2 + at]) * strides[at] - pads[at]
        inside = np.minimum(starts + kernel[at], dims[2 + at]) - np.maximum(starts, 0)
        shares.append(inside / kernel[at])
    share = site.constant(np.outer(*shares).reshape(1, 1, *out[2:]))
    value = site.put("AveragePool", site.input(0), kernel_shape=kernel, strides=strides, pads=pads)
    site.put("Mul", value, share, gives=0)
    return True


def space_to_depth(site: Site) -> bool:
    """SpaceToDepth: a convolution that picks each pixel of a block into a channel of its own."""
    import numpy as np  # noqa: PLC0415

    dims, block = site.dims(), site.attribute("blocksize", 0)
    if dims is None or len(dims) != 4 or not block or not site.is_float():
        return False
    channels = dims[1]
    if (channels * block * block) ** 2 > _MAX_KERNEL:
        return False
    kernel = np.zeros((block, block, channels, channels, block, block), np.float32)
    for row in range(block):
        for column in range(block):
            for channel in range(channels):
                kernel[row, column, channel, channel, row, column] = 1
    weight = site.constant(kernel.reshape(-1, channels, block, block))
    site.put("Conv", site.input(0), weight, gives=0, kernel_shape=[block, block], strides=[block, block])
    return True


def column_depth(site: Site) -> bool:
    """DepthToSpace in mode CRD: the channels in DCR's order first."""
    dims, block = site.dims(), site.attribute("blocksize", 0)
    if site.attribute("mode", "DCR") != "CRD" or dims is None or len(dims) != 4 or not block or not site.is_float():
        return False
    made = dims[1] // (block * block)
    order = [channel * block * block + spot for spot in range(block * block) for channel in range(made)]
    sorted_ = site.put("Gather", site.input(0), site.constant(order, "int64"), axis=1)
    site.put("DepthToSpace", sorted_, gives=0, blocksize=block, mode="DCR")
    return True


def flat_conv(site: Site) -> bool:
    """1-D convolution: the same in an image one pixel high."""
    dims, out, weight = site.dims(), site.output_dims(), site.array(1)
    if dims is None or out is None or weight is None or len(dims) != 3 or not site.is_float():
        return False
    image = site.reshaped(site.input(0), (dims[0], dims[1], 1, dims[2]))
    kernel = site.constant(weight.reshape(*weight.shape[:2], 1, weight.shape[2]))
    bias = [site.input(2)] if site.input(2) else []
    pads = site.attribute("pads")
    done = site.put(
        "Conv",
        image,
        kernel,
        *bias,
        kernel_shape=[1, weight.shape[2]],
        strides=_with_one(site.attribute("strides")),
        dilations=_with_one(site.attribute("dilations")),
        pads=None if pads is None else [0, pads[0], 0, pads[1]],
        group=site.attribute("group"),
        auto_pad=site.attribute("auto_pad"),
    )
    site.reshaped(done, out, gives=0)
    return True


def _with_one(numbers: Sequence[int] | None) -> list[int] | None:
    return None if numbers is None else [1, *numbers]


def nearest(site: Site) -> bool:
    """Nearest Resize by whole factors from the pixels' middles: the same pixels as by asymmetric and floor."""
    dims, out = site.dims(), site.output_dims()
    middle = site.attribute("coordinate_transformation_mode", "half_pixel") in ("half_pixel", "pytorch_half_pixel")
    rounded = site.attribute("nearest_mode", "round_prefer_floor").startswith("round_prefer")
    if not middle or not rounded or site.attribute("mode", "nearest") != "nearest":
        return False
    if dims is None or out is None or len(dims) != 4 or not site.is_float(0):
        return False
    if any(large % small for small, large in zip(dims, out, strict=True)):
        return False
    scales = site.constant([large // small for small, large in zip(dims, out, strict=True)])
    site.put(
        "Resize", site.input(0), "", scales, gives=0,
        mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor",
    )  # fmt: skip
    return True


def axes_of(site: Site) -> tuple[int, ...] | None:
    """The axes that a Reduce operator works on, none negative; None where they are not known."""
    dims, array = site.dims(), site.array(1)
    if dims is None or (site.input(1) and array is None):
        return None
    axes = tuple(int(axis) for axis in array) if array is not None else site.attribute("axes", ())
    if not axes and site.attribute("noop_with_empty_axes", 0):
        return None
    return tuple(sorted(axis % len(dims) for axis in axes)) or tuple(range(len(dims)))


def extreme(site: Site) -> bool:
    """ReduceMax and ReduceMin over height and width: GlobalMaxPool, of the negative for the least."""
    dims, out = site.dims(), site.output_dims()
    if dims is None or out is None or len(dims) != 4 or axes_of(site) != (2, 3) or not site.is_float(0):
        return False
    least, keeps = site.node.op_type == "ReduceMin", len(out) == 4
    value = site.put("Neg", site.input(0)) if least else site.input(0)
    value = site.put("GlobalMaxPool", value, gives=0 if keeps and not least else None)
    if least:
        value = site.put("Neg", value, gives=0 if keeps else None)
    if not keeps:
        site.reshaped(value, out, gives=0)
    return True


def total(site: Site) -> bool:
    """ReduceSum, ReduceSumSquare and ReduceL2: the mean times the number of elements."""
    dims, axes = site.dims(), axes_of(site)
    if dims is None or axes is None or not 1 <= len(dims) <= 4 or not site.is_float(0):
        return False
    number, keep = math.prod(dims[axis] for axis in axes), bool(site.attribute("keepdims", 1))
    if not keep and len(axes) == len(dims):
        return False
    squared = site.node.op_type != "ReduceSum"
    value = site.put("Mul", site.input(0), site.input(0)) if squared else site.input(0)
    is_root = site.node.op_type == "ReduceL2"
    value = site.put("Mul", site.mean(value, axes, keep=keep), site.constant(number), gives=None if is_root else 0)
    if is_root:
        site.put("Sqrt", value, gives=0)
    return True


REWRITES: dict[str, tuple[Callable[[Site], bool], ...]] = {
    "MaxPool": (whole_pool,),
    "AveragePool": (whole_pool, counted_padding),
    "SpaceToDepth": (space_to_depth,),
    "DepthToSpace": (column_depth,),
    "Conv": (flat_conv,),
    "Resize": (nearest,),
    "ReduceMax": (extreme,),
    "ReduceMin": (extreme,),
    "ReduceSum": (total,),
    "ReduceSumSquare": (total,),
    "ReduceL2": (total,),
}
"""By operator, the first that puts anything in the node's place counts."""
