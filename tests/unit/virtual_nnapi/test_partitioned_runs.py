"""What runs apart gives what the whole model gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.unit.virtual_nnapi import apart as nets
from tests.unit.virtual_nnapi.apart import Apart, convert, feeds_for, run, save, take_apart, value, weights

_CLOSE = {"rtol": 1e-4, "atol": 1e-5}
make = helper.make_node


def _same(made: Apart, *, level: int = 99) -> None:
    fed = feeds_for(made.original)
    whole, apart = run(made.original, fed, level=level), run(made.file, fed, level=level)
    assert len(whole) == len(apart)
    for expected, got in zip(whole, apart, strict=True):
        np.testing.assert_allclose(got, expected, **_CLOSE)


@pytest.mark.parametrize(("level", "partitions"), [(1, 1), (2, 2)])
def test_mnist(tmp_path: Path, level: int, partitions: int) -> None:
    variant = convert(nets.mnist(tmp_path / "mnist.onnx"), tmp_path / "mnist.ort", level=level)
    made = take_apart(variant, tmp_path / "made")
    assert made.partitions == partitions
    assert made.file.suffix == ".ort"
    _same(made)


@pytest.mark.parametrize(
    ("name", "api_level"),
    [(name, 34) for name in ("squeezenet", "shufflenet", "densenet121", "inception_v2", "resnet50")]
    + [(name, level) for name in ("squeezenet", "shufflenet") for level in (27, 28)],
)
def test_light_networks(tmp_path: Path, name: str, api_level: int) -> None:
    (tmp_path / "net.onnx").write_bytes(nets.light(name))
    variant = convert(tmp_path / "net.onnx", tmp_path / "net.ort", level=1)
    made = take_apart(variant, tmp_path / "made", api_level=api_level)
    assert made.partitions > 0
    _same(made)


def _hostile(path: Path) -> Path:
    """Erf and Sum, which NNAPI does not know, between what it knows; a value of the first part is used by the last."""
    nodes = [
        make("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        make("Relu", ["c"], ["r"], "relu"),
        make("Erf", ["r"], ["e"], "erf"),
        make("Add", ["e", "r"], ["a"], "add"),
        make("Sum", ["a", "r", "e"], ["s"], "sum"),
        make("MaxPool", ["s"], ["y"], "pool", kernel_shape=[2, 2]),
        make("Mul", ["a", "shared"], ["z"], "mul"),
        make("Pow", ["z", "shared"], ["p"], "pow"),
    ]
    outputs = [value("y", [1, 4, 7, 7]), value("a", [1, 4, 8, 8]), value("p", [1, 4, 8, 8])]
    constants = [weights("w", 4, 4, 3, 3), numpy_helper.from_array(np.full((1, 4, 1, 1), 2.0, np.float32), "shared")]
    return save(path, nodes, [value("x", [1, 4, 8, 8])], outputs, constants)


def test_hostile_nodes_in_the_middle(tmp_path: Path) -> None:
    made = take_apart(_hostile(tmp_path / "net.onnx"), tmp_path / "made")
    assert made.partitions >= 2
    assert made.description.rest >= 2
    _same(made)


def test_hostile_nodes_in_ort_format_with_half(tmp_path: Path) -> None:
    variant = convert(_hostile(tmp_path / "net.onnx"), tmp_path / "net.ort", level=2)
    _half_differs(take_apart(variant, tmp_path / "half", "USE_FP16"), 2e-2)


def test_bodies_of_if_and_loop_stay_whole(tmp_path: Path) -> None:
    """Both take values of partitions from outside, by name alone."""
    then = helper.make_graph([make("Add", ["r", "x"], ["t"], "then_add")], "then", [], [value("t", [2, 3])])
    other = helper.make_graph([make("Neg", ["r"], ["o"], "else_neg")], "else", [], [value("o", [2, 3])])
    body = helper.make_graph(
        [
            make("Identity", ["going"], ["going_on"], "keep"),
            make("Add", ["sum", "s"], ["sum_next"], "loop_add"),
            make("Identity", ["sum_next"], ["each"], "emit"),
        ],
        "body",
        [value("at", [], TensorProto.INT64), value("going", [], TensorProto.BOOL), value("sum", [2, 3])],
        [value("going_on", [], TensorProto.BOOL), value("sum_next", [2, 3]), value("each", [2, 3])],
    )
    nodes = [
        make("Relu", ["x"], ["r"], "relu"),
        make("If", ["which"], ["chosen"], "if", then_branch=then, else_branch=other),
        make("Sigmoid", ["chosen"], ["s"], "sigmoid"),
        make("Loop", ["times", "yes", "r"], ["last", "all"], "loop", body=body),
        make("Mul", ["last", "s"], ["y"], "mul"),
    ]
    constants = [
        numpy_helper.from_array(np.array(3, np.int64), "times"),
        numpy_helper.from_array(np.array(True), "yes"),
    ]
    inputs = [value("x", [2, 3]), value("which", [], TensorProto.BOOL)]
    path = save(
        tmp_path / "net.onnx", nodes, inputs, [value("y", [2, 3]), value("all", [3, 2, 3])], constants, opset=16
    )
    made = take_apart(path, tmp_path / "made")
    assert made.partitions >= 2
    assert made.description.rest >= 2
    _same(made)
    _same(take_apart(convert(path, tmp_path / "net.ort", level=1), tmp_path / "of_ort"))


def test_optional_inputs_and_outputs(tmp_path: Path) -> None:
    nodes = [
        make("Clip", ["x", "", "high"], ["c"], "clip_above"),
        make(
            "Resize", ["c", "", "scales"], ["z"], "resize", mode="nearest", coordinate_transformation_mode="asymmetric"
        ),
        make("Relu", ["z"], ["r"], "relu"),
        make("TopK", ["r", "k"], ["unused", "i"], "topk"),
        make("Cast", ["i"], ["y"], "cast", to=TensorProto.FLOAT),
    ]
    constants = [
        numpy_helper.from_array(np.array(0.5, np.float32), "high"),
        numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales"),
        numpy_helper.from_array(np.array([2], np.int64), "k"),
    ]
    path = save(
        tmp_path / "net.onnx",
        nodes,
        [value("x", [1, 2, 4, 4])],
        [value("y", [1, 2, 8, 2]), value("r", [1, 2, 8, 8])],
        constants,
    )
    made = take_apart(path, tmp_path / "made", "USE_NCHW")
    assert made.partitions >= 1
    _same(made)


def test_a_fixed_dimension_reaches_the_claim(tmp_path: Path) -> None:
    path = save(
        tmp_path / "net.onnx",
        [make("Relu", ["x"], ["y"], "relu")],
        [value("x", ["batch", 3])],
        [value("y", ["batch", 3])],
    )
    assert take_apart(path, tmp_path / "free").partitions == 0
    assert take_apart(path, tmp_path / "fixed", dims={"batch": 2}).partitions == 1


@pytest.mark.parametrize("ir", [3, 7])
def test_weights_among_the_inputs(tmp_path: Path, ir: int) -> None:
    """At IR 3 they are constants all the same; from 4 on they may be overridden and must stay so."""
    nodes = [make("Add", ["x", "w"], ["a"], "add"), make("Relu", ["a"], ["y"], "relu")]
    inputs = [value("x", [2, 3]), value("w", [2, 3])]
    path = save(tmp_path / "net.onnx", nodes, inputs, [value("y", [2, 3])], [weights("w", 2, 3)], opset=8, ir=ir)
    made = take_apart(path, tmp_path / "made")
    assert made.partitions == 1
    _same(made)
    names = [one.name for one in nets.session(made.file).get_overridable_initializers()]
    assert ("w" in names) == (ir > 3)


def _half_differs(made: Apart, limit: float) -> None:
    """Half precision shows, and explains the difference: a part in 2¹¹ of each tensor, carried through the layers."""
    fed = feeds_for(made.original)
    for expected, got in zip(run(made.original, fed), run(made.file, fed), strict=True):
        error = np.abs(got - expected).max() / np.abs(expected).max()
        assert 0 < error < limit


@pytest.mark.parametrize("form", ["onnx", "ort"])
def test_half_precision_of_mnist(tmp_path: Path, form: str) -> None:
    model = nets.mnist(tmp_path / "mnist.onnx")
    if form == "ort":
        model = convert(model, tmp_path / "mnist.ort", level=1)
    _half_differs(take_apart(model, tmp_path / "made", "USE_FP16"), 5e-3)


def test_half_precision_of_squeezenet(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(nets.light("squeezenet"))
    _half_differs(take_apart(tmp_path / "net.onnx", tmp_path / "made", "USE_FP16"), 5e-2)


def test_half_precision_needs_api_28(tmp_path: Path) -> None:
    variant = convert(nets.mnist(tmp_path / "mnist.onnx"), tmp_path / "mnist.ort", level=1)
    made = take_apart(variant, tmp_path / "made", "USE_FP16", api_level=27)
    assert made.partitions > 0
    _same(made)


def test_half_precision_is_of_the_claimed_part_alone(tmp_path: Path) -> None:
    """A weight that both sides read is rounded for one of them."""
    nodes = [
        make("Relu", ["x"], ["r"], "relu"),
        make("Add", ["r", "w"], ["y"], "add"),
        make("Erf", ["w2"], ["e"], "erf"),
        make("Sum", ["e", "w", "x"], ["z"], "sum"),
    ]
    inputs = [value("x", [1]), value("w2", [1])]
    third = numpy_helper.from_array(np.array([1 / 3], np.float32), "w")
    path = save(tmp_path / "net.onnx", nodes, inputs, [value("y", [1]), value("z", [1])], [third])
    made = take_apart(path, tmp_path / "made", "USE_FP16")
    zero = np.zeros(1, np.float32)
    taken, left = run(made.file, {"x": zero, "w2": zero})
    assert taken[0] == np.float32(np.float16(1 / 3)) != np.float32(1 / 3)
    assert left[0] == np.float32(1 / 3)


WRONG = ("edge", "accelerator", 31, (), ("NNAPI_FLAG_USE_NCHW",))


def test_a_driver_that_is_wrong_under_a_flag_is_right_without_it(tmp_path: Path) -> None:
    net = _hostile(tmp_path / "net.onnx")
    fed = feeds_for(net)
    right = run(net, fed)
    devices = (WRONG, nets.REFERENCE)
    _same(take_apart(net, tmp_path / "plain", devices=devices))
    spoilt = take_apart(net, tmp_path / "spoilt", "USE_NCHW", devices=devices)
    assert spoilt.partitions >= 2
    given = run(spoilt.file, fed)
    for expected, got in zip(right, given, strict=True):
        assert got.shape == expected.shape
        assert np.isfinite(got).all()
        off = np.abs(got - expected).max() / np.abs(expected).max()
        assert off > 0.2
    _same(take_apart(net, tmp_path / "elsewhere", "USE_NCHW", "CPU_ONLY", devices=devices))
