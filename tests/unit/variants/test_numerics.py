"""A variant beside its source: figures by hand, tolerances at their edges, and what one per cent in one layer does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from android_runner.ort import ModelFormat
from orchestrator.errors import VariantError
from orchestrator.variants.inputs import inputs_for
from orchestrator.variants.inspect import load_model
from orchestrator.variants.light_nets import weight_names
from orchestrator.variants.numerics import Numerics, Runnable, compare, measured
from orchestrator.variants.samples import write_samples
from orchestrator.variants.tolerance import (
    OutputError,
    Precision,
    Tolerance,
    Verdict,
    looser,
    precision_of,
    problem,
    tolerance,
    verdict,
    within,
)
from tests.unit.variants import nets


def array(*values: float) -> np.ndarray:
    return np.array([values], np.float32)


def numerics(*outputs: OutputError, precision: Precision = Precision.FLOAT32) -> Numerics:
    return Numerics(inputs="i", runtime="1", precision=precision, outputs=outputs)


# --- one output -----------------------------------------------------------------------------------------------------


def test_figures_by_hand() -> None:
    one = measured("y", array(3, -4, 0), array(3, -4.5, 1))
    assert (one.n, one.max_abs, one.max_ref, one.max_rel) == (3, 1.0, 4.0, 0.125)
    assert one.share == 0.25
    assert one.cosine == pytest.approx((9 + 18) / (5 * math.sqrt(9 + 20.25 + 1)))
    assert one.top1_same


def test_top_1_goes_by_rows_of_the_first_axis() -> None:
    two_rows = np.array([[1, 2], [4, 3]], np.float32)
    assert measured("y", two_rows, two_rows * 2).top1_same
    assert measured("y", two_rows, two_rows[:, ::-1]).top1_same is False
    assert measured("y", np.array([[5.0], [6.0]]), np.array([[5.0], [6.0]])).top1_same is None


def test_what_no_number_can_say_is_wrong_at_any_tolerance() -> None:
    for given, words in (
        (np.zeros((1, 2), np.float32), "has shape [1, 2], not [1, 3]"),
        (array(1, math.nan, 3), "is not finite in other places (1 of 3)"),
        (array(1, math.inf, 3), "is not finite in other places (1 of 3)"),
    ):
        one = measured("y", array(1, 2, 3), given)
        assert one.wrong == words
        assert problem(numerics(one), Tolerance(share=1e9)) == f"output y {words}"
    assert measured("y", array(math.inf, 1), array(-math.inf, 1)).wrong
    assert measured("y", np.array(["a"]), np.array(["b"])).wrong == "has another text"


def test_what_is_not_finite_in_both_is_left_out_of_the_figures() -> None:
    one = measured("y", array(math.nan, math.inf, 2), array(math.nan, math.inf, 2))
    assert (one.wrong, one.max_abs, one.max_ref, one.cosine) == ("", 0.0, 2.0, 1.0)


def test_nothing_but_zero_has_nothing_to_be_a_part_of() -> None:
    nothing = array(0, 0)
    assert measured("y", nothing, nothing).cosine == 1.0
    assert within(numerics(measured("y", nothing, nothing)))
    assert within(numerics(measured("y", array(1e-40, 0), nothing)))  # what flushing denormals does
    assert not within(numerics(measured("y", nothing, array(1e-3, 0))))
    assert measured("y", nothing, array(1e-3, 0)).cosine == 0.0


def test_squares_that_overflow_or_vanish_do_not_spoil_the_cosine() -> None:
    for size in (1e300, 1e-300):
        one = measured("y", np.array([[size, 0.0]]), np.array([[size, size]]))
        assert one.cosine == pytest.approx(math.sqrt(0.5))


# --- tolerances -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("precision", "inside", "outside"),
    [
        (Precision.FLOAT32, {"max_abs": 1e-4}, {"max_abs": 1.01e-4}),
        (Precision.FLOAT16, {"cosine": 0.999}, {"cosine": 0.9989}),
        (Precision.INT8, {"cosine": 0.98}, {"cosine": 0.9799}),
    ],
)
def test_the_edges_are_those_that_were_promised(
    precision: Precision, inside: dict[str, float], outside: dict[str, float]
) -> None:
    exact = OutputError(output="y", n=9, max_abs=0.0, max_rel=0.0, max_ref=1.0, cosine=1.0, top1_same=False)
    assert within(numerics(replace(exact, **inside), precision=precision))  # another top-1 is told, never asked
    assert not within(numerics(exact, replace(exact, **outside), precision=precision))


def test_the_least_precise_arithmetic_decides() -> None:
    assert precision_of(["Conv", "Relu"], ["float32", "int64"]) is Precision.FLOAT32
    assert precision_of(["Conv"], ["float32", "float16"]) is Precision.FLOAT16
    for name in ("DequantizeLinear", "com.microsoft:QLinearConv", "MatMulInteger", "com.microsoft:QGemm"):
        assert precision_of(["Conv", name], ["float16"]) is Precision.INT8
    assert looser(Precision.INT8, Precision.FLOAT32) is Precision.INT8
    assert tolerance(Precision.FLOAT32).share == 1e-4


def test_a_verdict_of_each_kind() -> None:
    off = OutputError(output="y", n=1, max_abs=1.0, max_ref=1.0, cosine=0.5)
    assert verdict(numerics()) is Verdict.WITHIN
    assert verdict(replace(numerics(), untouched=True)) is Verdict.SOURCE
    assert verdict(replace(numerics(), unknown="no kernel")) is Verdict.UNKNOWN
    assert verdict(numerics(off)) is Verdict.OUT


# --- sessions -------------------------------------------------------------------------------------------------------


def files_of(path: Path, root: Path) -> list[Path]:
    inputs = inputs_for(load_model(path), root / "inputs", dims={})
    return [inputs.directory / name for name in inputs.files]


def runnable(path: Path) -> Runnable:
    return Runnable(path, ModelFormat.ONNX, ("Conv",))


def with_one_layer_scaled(path: Path, target: Path) -> Iterator[str]:
    """Write the model with 1.01 times the weights of its first, middle and last layer, one after the other."""
    model = onnx.load(path)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    names = list(weight_names(model)) or ["lstm/w"]
    for name in dict.fromkeys((names[0], names[len(names) // 2], names[-1])):
        before = numpy_helper.to_array(tensors[name])
        tensors[name].CopyFrom(numpy_helper.from_array((before * np.float32(1.01)).astype(before.dtype), name))
        nets.save(model, target)
        yield name
        tensors[name].CopyFrom(numpy_helper.from_array(before, name))


@pytest.mark.parametrize(
    "name",
    [
        "mnist",
        "squeezenet",
        "resnet50",
        "shufflenet",
        "densenet121",
        "inception_v1",
        "inception_v2",
        "nhwc",
        "transformer",
        "control_flow",
    ],
)
def test_one_per_cent_in_one_layer_is_out_of_tolerance(name: str, tmp_path: Path) -> None:
    (path,) = write_samples(tmp_path, [name])
    files = files_of(path, tmp_path)
    assert within(compare(runnable(path), runnable(path), files, "i"))
    other = tmp_path / "other.onnx"
    for layer in with_one_layer_scaled(path, other):
        found = compare(runnable(path), runnable(other), files, "i")
        assert verdict(found) is Verdict.OUT, layer
        assert "of its largest value, 0.0001 is allowed" in problem(found)


def test_precision_is_read_from_the_files(tmp_path: Path) -> None:
    half = nets.conv_relu()
    tensor = half.graph.initializer[0]
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
    half.graph.node.insert(0, helper.make_node("Cast", ["x"], ["xh"], "in", to=onnx.TensorProto.FLOAT16))
    half.graph.node[1].input[0] = "xh"
    half.graph.node[2].output[0] = "yh"
    half.graph.node.append(helper.make_node("Cast", ["yh"], ["y"], "out", to=onnx.TensorProto.FLOAT))
    source = nets.save(nets.conv_relu(), tmp_path / "net.onnx")
    variant = nets.save(half, tmp_path / "half.onnx")
    found = compare(runnable(source), runnable(variant), files_of(source, tmp_path), "i")
    assert found.precision is Precision.FLOAT16
    assert verdict(found) is Verdict.WITHIN
    assert found.share is not None
    assert found.share > 1e-5  # as float32 it would hardly pass


def test_a_source_that_is_not_its_own_equal_is_not_compared(tmp_path: Path) -> None:
    noise = helper.make_node("RandomNormalLike", ["x"], ["n"], "noise")
    total = helper.make_node("Add", ["x", "n"], ["y"], "add")
    ports = [nets.value("x", (1, 8))], [nets.value("y", (1, 8))]
    source = nets.save(nets.model_of([noise, total], *ports), tmp_path / "r.onnx")
    noise.input[0] = "z"  # another place among the nodes draws other numbers
    before = helper.make_node("Relu", ["x"], ["z"], "relu")
    variant = nets.save(nets.model_of([before, noise, total], *ports), tmp_path / "s.onnx")
    with pytest.raises(VariantError, match="gives other values in every run"):
        compare(runnable(source), runnable(variant), files_of(source, tmp_path), "i")


def test_a_variant_without_one_of_the_outputs_is_out_of_tolerance(tmp_path: Path) -> None:
    source = nets.save(nets.conv_relu(), tmp_path / "net.onnx")
    other = nets.conv_relu()
    other.graph.node[1].output[0] = other.graph.output[0].name = "z"
    variant = nets.save(other, tmp_path / "other.onnx")
    found = compare(runnable(source), runnable(variant), files_of(source, tmp_path), "i")
    assert problem(found) == "output y is not there"
