"""Check variants by the real onnxruntime: the error of an output as a count, the body the very graph of the variant."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from android_runner.nnapi.claim import claim
from android_runner.nnapi.target import NnapiTarget
from android_runner.ort import ModelFormat
from orchestrator.errors import StoreError, VariantError
from orchestrator.variants.claim_graph import claim_graph
from orchestrator.variants.converter import installed
from orchestrator.variants.decibels import MOST, Difference, OutputError, error_of, tolerance_db, within
from orchestrator.variants.graph import count_operators, graph_digest
from orchestrator.variants.inputs import inputs_for
from orchestrator.variants.inspect import load_model
from orchestrator.variants.read_onnx import parse, read_onnx
from orchestrator.variants.recipe import InputSet, Model, Variant
from orchestrator.variants.rules import all_recipes
from orchestrator.variants.samples import mnist
from orchestrator.variants.shelf import Shelf, build_variants
from orchestrator.variants.tolerance import Precision
from orchestrator.variants.verify_build import CheckJob, build_check, without_tails
from orchestrator.variants.verify_shelf import check_id_of, check_variants, kept_check
from orchestrator.variants.verify_tail import append_tails, free_prefix
from orchestrator.variants.verify_variant import CheckedOutput, CheckVariant
from tests.unit.variants import nets

RUNTIME: Any = onnxruntime


def outputs_of(path: Path | bytes, feeds: Mapping[str, Any], level: str = "ORT_ENABLE_ALL") -> dict[str, Any]:
    options = RUNTIME.SessionOptions()
    options.graph_optimization_level = getattr(RUNTIME.GraphOptimizationLevel, level)
    options.log_severity_level = 4
    model = path if isinstance(path, bytes) else str(path)
    session = RUNTIME.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))


def feeds_of(inputs: InputSet) -> dict[str, Any]:
    tensors = [onnx.TensorProto.FromString((inputs.directory / name).read_bytes()) for name in inputs.files]
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}


# --- the formula ----------------------------------------------------------------------------------------------------


def tailed(expected: np.ndarray[Any, Any], opset: int = 13) -> bytes:
    """y = Identity(x), beside which `expected` stands."""
    kind = helper.np_dtype_to_tensor_dtype(expected.dtype)
    model = nets.model_of(
        [helper.make_node("Identity", ["x"], ["y"])],
        [nets.value("x", expected.shape, kind)],
        [nets.value("y", expected.shape, kind)],
        opset=opset,
    )
    peak = float(np.max(np.abs(expected.astype(np.float64))))
    output = CheckedOutput(name="y", element_type=str(expected.dtype), peak=peak)
    append_tails(model, free_prefix(model), [output], {"y": expected})
    data: bytes = model.SerializeToString()
    return data


def count(expected: np.ndarray[Any, Any], given: np.ndarray[Any, Any], opset: int = 13) -> int:
    found = outputs_of(tailed(expected, opset), {"x": given})
    assert np.array_equal(found["y"], given, equal_nan=expected.dtype.kind == "f")
    error = found["orch_check_0_error"]
    assert error.dtype == np.uint8
    return int(error.shape[0])


@pytest.mark.parametrize("opset", [7, 8, 9, 11, 13, 15, 18, 21, 22])
@pytest.mark.parametrize("off", [1e-6, 1e-4, 1e-3, 1e-2, 0.5, 3.0])
def test_the_count_is_the_error_in_decibels_as_numpy_has_it(opset: int, off: float) -> None:
    dice = np.random.default_rng(7)
    expected = dice.standard_normal((2, 3, 5)).astype(np.float32)
    given = expected + (dice.uniform(-off, off, expected.shape) * np.abs(expected).max()).astype(np.float32)
    wide = expected.astype(np.float64)
    exact = 10 * math.log10(np.abs(wide).max() / np.abs(given.astype(np.float64) - wide).max())
    found = error_of(count(expected, given, opset))
    assert found.difference is Difference.DIFFERS
    assert found.db is not None
    assert found.db <= exact + 1e-9 < found.db + 0.1 + 1e-6


def test_what_is_equal_not_finite_or_beyond_the_scale_reads_as_itself() -> None:
    expected = np.array([1.0, -2.0, 0.5], np.float32)

    def given(value: float) -> OutputError:
        return error_of(count(expected, np.array([1.0, -2.0, value], np.float32)))

    assert given(0.5) == OutputError(Difference.EQUAL)
    for odd in (float("nan"), float("inf"), float("-inf")):
        assert given(odd) == OutputError(Difference.NOT_FINITE)
    assert given(1e30) == OutputError(Difference.DIFFERS, -30.0)
    nothing = np.zeros(4, np.float32)
    assert error_of(count(nothing, nothing)) == OutputError(Difference.EQUAL)
    assert error_of(count(nothing, nothing + np.float32(0.01))) == OutputError(Difference.DIFFERS, 20.0)
    close = np.array([1.0, 1e-20], np.float32)
    assert error_of(count(close, np.array([1.0, 1.1e-20], np.float32))) == OutputError(Difference.DIFFERS, 120.0)


def test_a_nan_is_not_lost_among_many_elements() -> None:
    expected = np.ones((3, 1000), np.float32)
    for at in (0, 1, 999, 1500, 2999):
        given = expected.copy()
        given.flat[at] = np.nan
        assert error_of(count(expected, given)).difference is Difference.NOT_FINITE


@pytest.mark.parametrize("kind", [np.float16, np.float64, np.int64, np.int32, np.uint8, np.int8])
def test_outputs_of_other_types_are_compared_too(kind: type) -> None:
    expected = np.arange(1, 11).astype(kind)
    assert error_of(count(expected, expected)).difference is Difference.EQUAL
    given = expected.copy()
    given[3] += kind(1)
    assert error_of(count(expected, given)) == OutputError(Difference.DIFFERS, 10.0)


def test_a_scalar_is_an_output_as_any() -> None:
    assert error_of(count(np.array(4.0, np.float32), np.array(4.4, np.float32))) == OutputError(Difference.DIFFERS, 9.9)


def test_counts_and_decibels_are_in_order() -> None:
    errors = [error_of(number) for number in range(1, MOST)]
    figures = [error.db for error in errors]
    assert figures == sorted(figures)  # type: ignore[type-var]
    assert not within(error_of(0), -1000.0)
    assert within(error_of(MOST), 1000.0)
    for odd in (-1, MOST + 1):
        with pytest.raises(ValueError, match="bounds"):
            error_of(odd)


def test_the_tolerances_are_those_of_the_host_in_decibels() -> None:
    assert tolerance_db(Precision.FLOAT32) == 40.0
    dice = np.random.default_rng(5)
    for precision, cosine in ((Precision.FLOAT16, 0.999), (Precision.INT8, 0.98)):
        signal = dice.standard_normal(200_000)
        noise = dice.standard_normal(200_000)
        noise *= 10 ** (-tolerance_db(precision) / 10)  # relative to the signal, element by element
        off = signal + noise
        found = signal @ off / math.sqrt((signal @ signal) * (off @ off))
        assert found == pytest.approx(cosine, abs=(1 - cosine) * 0.1)


# --- the builder ----------------------------------------------------------------------------------------------------


class Lab:
    """One model with its inputs, variants and check variants."""

    def __init__(self, path: Path, root: Path) -> None:
        self.shelf = Shelf(root / "shelf")
        self.model: Model = load_model(path, dims={}, shelf=self.shelf)
        self.inputs = inputs_for(self.model, root / "inputs", shelf=self.shelf)

    def variants(self, *names: str) -> list[Variant]:
        recipes = [recipe for recipe in all_recipes() if not names or recipe.name in names]
        found = build_variants([(self.model, recipe, ()) for recipe in recipes], self.shelf)
        assert all(isinstance(one, Variant) for one in found), found
        return [one for one in found if isinstance(one, Variant)]

    def checks(self, variants: Sequence[Variant]) -> dict[str, CheckVariant | VariantError]:
        return check_variants([(one, self.inputs) for one in variants], self.shelf)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    root = tmp_path_factory.mktemp("mnist")
    path = root / "mnist.onnx"
    path.write_bytes(mnist())
    return Lab(path, root)


@pytest.mark.parametrize("name", ["onnx", "basic", "extended", "all", "basic runtime", "all runtime"])
def test_mnist_computes_as_its_check_says(lab: Lab, name: str) -> None:
    (variant,) = lab.variants(name)
    check = lab.checks([variant])[variant.variant_id]
    assert isinstance(check, CheckVariant), check
    feeds = feeds_of(lab.inputs)
    expected = outputs_of(lab.model.path, feeds, "ORT_DISABLE_ALL")["Plus214_Output_0"].astype(np.float64)
    given = outputs_of(check.path, feeds)
    off = np.abs(given["Plus214_Output_0"].astype(np.float64) - expected).max()
    found = error_of(given["orch_check_0_error"].shape[0])
    assert [one.peak for one in check.facts.outputs] == [np.abs(expected).max()]
    if off == 0:
        assert found.difference is Difference.EQUAL
    else:
        assert found.db is not None
        assert found.db <= 10 * math.log10(np.abs(expected).max() / off) < found.db + 0.1
    assert within(found, tolerance_db(check.facts.precision))
    other = outputs_of(check.path, {"Input3": feeds["Input3"] * 1.1})
    assert not within(error_of(other["orch_check_0_error"].shape[0]), tolerance_db(Precision.FLOAT32))


def test_nnapi_takes_of_a_check_variant_what_it_takes_of_the_variant(lab: Lab) -> None:
    variants = lab.variants("onnx", "basic", "extended", "all runtime")
    checks = lab.checks(variants)
    for variant in variants:
        check = checks[variant.variant_id]
        assert isinstance(check, CheckVariant)
        for api_level in (27, 28, 34):
            own, tailed = (
                [
                    [graph.nodes[at].name for at in partition.nodes]
                    for partition in claim(graph, NnapiTarget(api_level=api_level)).partitions
                ]
                for graph in (claim_graph(path, variant.recipe.format) for path in (variant.path, check.path))
            )
            assert own == tailed
            assert own or (variant.recipe.name, api_level) == ("extended", 27)


def test_tails_leave_the_graph_as_it_was(lab: Lab) -> None:
    (variant,) = lab.variants("onnx")
    check = lab.checks([variant])[variant.variant_id]
    assert isinstance(check, CheckVariant)
    graph = read_onnx(parse(check.path.read_bytes()), check.path.parent)
    assert len(graph.nodes) > sum(number for _, number in variant.operators_after)
    bare = without_tails(graph, check.facts.prefix)
    assert count_operators(bare) == variant.operators_after
    source = read_onnx(parse(variant.path.read_bytes()), variant.path.parent)
    assert graph_digest(bare, "x", {}) == graph_digest(source, "x", {})


def test_what_is_on_the_shelf_is_taken_from_it(lab: Lab, tmp_path: Path) -> None:
    (variant,) = lab.variants("basic")
    (check,) = lab.checks([variant]).values()
    assert isinstance(check, CheckVariant)
    stamp = check.path.stat().st_mtime_ns
    assert lab.checks([variant]) == {variant.variant_id: check}
    assert check.path.stat().st_mtime_ns == stamp
    assert kept_check(lab.shelf, check.facts.check_id) == check
    assert check_id_of(variant, replace(lab.inputs, digest="other")) != check.facts.check_id
    with pytest.raises(StoreError, match="run the plan anew"):
        kept_check(Shelf(tmp_path), check.facts.check_id)


def job_for(lab: Lab, variant: Variant) -> CheckJob:
    return CheckJob(
        source=lab.model.path,
        inputs=tuple(lab.inputs.directory / name for name in lab.inputs.files),
        variant=variant.path,
        recipe=variant.recipe,
        converter=installed(),
    )


def refused(model: Any, tmp_path: Path) -> str:
    """Why a net has no check variant."""
    lab = Lab(nets.save(model, tmp_path / "net.onnx"), tmp_path)
    (variant,) = lab.variants("onnx")
    (found,) = lab.checks([variant]).values()
    assert isinstance(found, VariantError), found
    return str(found)


def test_nets_that_can_not_be_checked_say_why(tmp_path: Path) -> None:
    x, node = nets.value("x", (2, 3)), helper.make_node
    log = nets.model_of([node("Sub", ["x", "x"], ["z"]), node("Log", ["z"], ["y"])], [x], [nets.value("y", (2, 3))])
    (tmp_path / "log").mkdir()
    assert "not finite in the source already" in refused(log, tmp_path / "log")
    dice = nets.model_of([node("RandomNormalLike", ["x"], ["y"])], [x], [nets.value("y", (2, 3))])
    (tmp_path / "dice").mkdir()
    assert "random" in refused(dice, tmp_path / "dice")
    empty = nets.model_of([node("Compress", ["x", "none"], ["y"], axis=0)], [x], [nets.value("y", (None, 3))], [
        numpy_helper.from_array(np.array([False, False]), "none")
    ])  # fmt: skip
    (tmp_path / "empty").mkdir()
    assert "has no elements" in refused(empty, tmp_path / "empty")


def test_one_output_without_a_tail_does_not_cost_the_others(tmp_path: Path) -> None:
    node = helper.make_node
    words = numpy_helper.from_array(np.array([b"cat", b"dog"], dtype=object), "words")
    model = nets.model_of(
        [node("ArgMax", ["x"], ["at"], axis=1, keepdims=0), node("Gather", ["words", "at"], ["word"])],
        [nets.value("x", (3, 2))],
        [nets.value("word", (3,), TensorProto.STRING), nets.value("at", (3,), TensorProto.INT64)],
        [words],
    )
    lab = Lab(nets.save(model, tmp_path / "net.onnx"), tmp_path)
    (variant,) = lab.variants("onnx")
    (check,) = lab.checks([variant]).values()
    assert isinstance(check, CheckVariant), check
    assert [(one.name, one.element_type, bool(one.why_not)) for one in check.facts.outputs] == [
        ("word", "object", True),
        ("at", "int64", False),
    ]
    given = outputs_of(check.path, feeds_of(lab.inputs))
    assert list(given) == ["word", "at", "orch_check_1_error"]
    assert error_of(given["orch_check_1_error"].shape[0]).difference is Difference.EQUAL


def test_names_of_a_tail_are_nobodys(tmp_path: Path) -> None:
    model = nets.conv_relu()
    model.graph.node[0].name = "orch_check_0_error"
    lab = Lab(nets.save(model, tmp_path / "net.onnx"), tmp_path)
    (variant,) = lab.variants("onnx")
    (check,) = lab.checks([variant]).values()
    assert isinstance(check, CheckVariant), check
    assert check.facts.prefix == "orch_check__"
    assert "orch_check__0_error" in outputs_of(check.path, feeds_of(lab.inputs))


def test_a_quantized_net_keeps_its_nodes_and_may_be_off_by_more(tmp_path: Path) -> None:
    """Of a DequantizeLinear with two readers onnxruntime makes two: it has one, the tail."""
    lab = Lab(nets.save(nets.quantized(), tmp_path / "net.onnx"), tmp_path)
    variants = lab.variants("onnx", "basic", "all", "all runtime")
    for variant, check in zip(variants, lab.checks(variants).values(), strict=True):
        assert isinstance(check, CheckVariant), (variant.recipe.name, check)
        assert check.facts.precision is Precision.INT8
        given = outputs_of(check.path, feeds_of(lab.inputs))
        assert within(error_of(given["orch_check_0_error"].shape[0]), tolerance_db(Precision.INT8))


def test_external_data_lies_beside_the_check_variant(tmp_path: Path) -> None:
    lab = Lab(nets.external(tmp_path / "net"), tmp_path)
    (variant,) = lab.variants("onnx")
    (check,) = lab.checks([variant]).values()
    assert isinstance(check, CheckVariant), check
    assert [name for name, _ in check.external] == ["weights.bin"]
    given = outputs_of(check.path, feeds_of(lab.inputs))
    assert error_of(given["orch_check_0_error"].shape[0]).db is None


def test_a_body_that_is_another_graph_is_refused(lab: Lab, tmp_path: Path) -> None:
    """Saved again by another recipe than its own, a graph loses the optimizations that it carried."""
    runtime, plain = lab.variants("all runtime")[0], lab.variants("basic runtime")[0]
    for name in ("files", "scratch"):
        (tmp_path / name).mkdir()
    job = replace(job_for(lab, runtime), recipe=plain.recipe)
    with pytest.raises(VariantError, match="another graph"):
        build_check(job, tmp_path / "files", tmp_path / "scratch")


def test_a_source_that_has_changed_is_no_longer_checked(tmp_path: Path) -> None:
    lab = Lab(nets.save(nets.conv_relu(), tmp_path / "net.onnx"), tmp_path)
    (variant,) = lab.variants("basic")
    assert variant.recipe.format is ModelFormat.ORT
    nets.save(nets.quantized(), tmp_path / "net.onnx")
    (found,) = lab.checks([variant]).values()
    assert isinstance(found, VariantError)
    assert "has changed" in str(found)
