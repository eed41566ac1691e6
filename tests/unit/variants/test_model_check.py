"""Every finding of `orch model check`: a net that has it, and a like one that hasn't."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from android_runner.ort import OptimizationLevel, OrtVersion
from orchestrator.errors import UsageError
from orchestrator.variants.checks.facts import ModelFacts
from orchestrator.variants.checks.finding import MAX_PLACES, Finding, Severity
from orchestrator.variants.checks.formats import LARGEST_BYTES, newest_opset
from orchestrator.variants.checks.report import CheckReport
from orchestrator.variants.checks.rules import check
from orchestrator.variants.converter import converter_version, runtime_errors
from orchestrator.variants.facts_of_model import facts_of, mend
from orchestrator.variants.recipe_words import STEP_WORDS, parse_recipe
from orchestrator.variants.samples import mnist
from orchestrator.variants.sessions import require_loadable
from tests.unit.variants import check_nets, nets

Net = Callable[[], Any]
FUSED = OptimizationLevel.EXTENDED


def report_of(model: Any, folder: Path, *, target: str = "", **dims: int) -> CheckReport:
    """The check of a ModelProto, or of a file."""
    path = model if isinstance(model, Path) else nets.save(model, folder / "net.onnx")
    return check(facts_of(path, dims), OrtVersion.parse(target) if target else None)


def the(report: CheckReport, finding_id: str) -> Finding:
    found = [one for one in report.findings if one.id == finding_id]
    assert len(found) == 1, [one.id for one in report.findings]
    return found[0]


def ids(report: CheckReport) -> set[str]:
    return {one.id for one in report.findings}


ROWS: Mapping[str, tuple[Net, Net, Severity, str]] = {
    # id: (a net that has it, a like one that hasn't, severity, a place that is named)
    "initializers-in-inputs": (
        lambda: check_nets.initializers_in_inputs(4), lambda: check_nets.initializers_in_inputs(3), Severity.BLOCKS, "w"
    ),
    "opset-nnapi": (
        lambda: check_nets.chain("Relu", opset=22), lambda: check_nets.chain("Relu", opset=21), Severity.COSTS, "conv"
    ),
    "opset-layout": (
        lambda: check_nets.chain("Relu", opset=23), lambda: check_nets.chain("Relu", opset=22), Severity.BLOCKS, "conv"
    ),
    "nnapi-rewritable": (
        lambda: check_nets.residual("Sum"), lambda: check_nets.residual("Add"), Severity.COSTS, "join"
    ),
    "nnapi-partitions": (
        lambda: check_nets.residual("Sum"), lambda: check_nets.residual("Add"), Severity.COSTS, "join"
    ),
    "int8-activations": (
        lambda: check_nets.quantized(np.int8), lambda: check_nets.quantized(np.uint8), Severity.COSTS, "conv"
    ),
    "dynamic-quantization": (
        check_nets.dynamically_quantized, lambda: check_nets.quantized(np.uint8), Severity.COSTS, "product"
    ),
    "fp16-tensors": (check_nets.half, check_nets.plain, Severity.BLOCKS, "conv"),
    "no-cpu-kernel": (check_nets.without_kernel, check_nets.plain, Severity.BLOCKS, "relu_of_int16"),
    "denormal-weights": (
        lambda: check_nets.with_weights(1e-40, -1e-42), lambda: check_nets.with_weights(1e-37, 0.0), Severity.COSTS,
        "w (2.5 %)",
    ),
    "denormal-prone-weights": (
        lambda: check_nets.with_weights(1e-37), lambda: check_nets.with_weights(1e-30, 0.0), Severity.NOTE, "w"
    ),
    "dynamic-shapes": (
        lambda: check_nets.chain("Relu", shape=("n", 3, 8, 8)), check_nets.plain, Severity.BLOCKS, "n: x axis 0"
    ),
    "shapes-from-data": (check_nets.shapes_from_data, check_nets.plain, Severity.COSTS, "relu"),
    "subgraphs": (nets.branching, check_nets.plain, Severity.COSTS, "if"),
    "layout-transposes": (
        lambda: check_nets.tf_style(undone=False), lambda: check_nets.tf_style(undone=True), Severity.COSTS, "to_nhwc"
    ),
    "branches": (lambda: check_nets.branches(3), lambda: check_nets.branches(1), Severity.NOTE, "branch1"),
    "nnapi-stop-op": (check_nets.boxes, check_nets.plain, Severity.COSTS, "nms"),
    "nnapi-small-share": (check_nets.boxes, check_nets.plain, Severity.COSTS, "nms"),
    "nnapi-none": (nets.branching, check_nets.plain, Severity.BLOCKS, "if"),
    "nnapi-no-builder": (lambda: check_nets.chain("Asinh"), check_nets.plain, Severity.COSTS, "asinh0"),
    "nnapi-type": (lambda: nets.embedding(1), check_nets.plain, Severity.COSTS, "cast"),
    "nnapi-constant-input": (lambda: nets.embedding(1), check_nets.plain, Severity.COSTS, "gather"),
    "nnapi-api-level": (
        check_nets.only_newer, lambda: nets.model_of_opset(13), Severity.COSTS, "elu2"
    ),
    "ort-checker-differs": (
        lambda: check_nets.quantized(np.int8), lambda: check_nets.quantized(np.uint8), Severity.NOTE, ""
    ),
}  # fmt: skip


@pytest.mark.parametrize("finding_id", ROWS)
def test_a_finding_is_there_and_is_not(finding_id: str, tmp_path: Path) -> None:
    has, lacks, severity, place = ROWS[finding_id]
    found = the(report_of(has(), tmp_path), finding_id)
    assert found.severity is severity
    assert not place or place in found.places, found
    assert found.reason
    assert finding_id not in ids(report_of(lacks(), tmp_path))


REMEDIES: Mapping[str, str] = {
    "initializers-in-inputs": "basic+weights-inside",
    "opset-nnapi": "basic+opset=21",
    "nnapi-rewritable": "basic+nnapi-rewrites",
    "int8-activations": "basic+qdq-u8s8",
    "dynamic-quantization": "basic+qdq-u8u8",
    "denormal-weights": "all+flush-denormals",
    "layout-transposes": "basic+no-tf-transposes",
    "nnapi-partitions": "nnapi-aware",
    "nnapi-small-share": "nnapi-aware",
}


@pytest.mark.parametrize("finding_id", REMEDIES)
def test_each_remedy_is_a_command_where_recipes_have_its_words(finding_id: str, tmp_path: Path) -> None:
    command = the(report_of(ROWS[finding_id][0](), tmp_path), finding_id).command
    words = REMEDIES[finding_id]
    step = words.partition("+")[2].partition("=")[0]
    if step and step not in STEP_WORDS:
        assert command == ""
    else:
        assert command.startswith("orch model build ")
        assert f"--recipe {words}" in command
        assert parse_recipe(words).name.startswith(words)


MENDED: Mapping[str, tuple[Net, str]] = {
    "weights inside": (lambda: check_nets.initializers_in_inputs(7), "after that it takes 4 of 4 nodes in one piece"),
    "opset": (lambda: check_nets.chain("Relu", opset=22), "after that it takes 2 of 2 nodes in one piece"),
    "an opset that is too old": (lambda: check_nets.chain("Relu", opset=6), "after that it takes 2 of 2 nodes"),
}


@pytest.mark.parametrize("what", MENDED)
def test_what_the_verdict_promises_was_tried(what: str, tmp_path: Path) -> None:
    make, words = MENDED[what]
    path = nets.save(make(), tmp_path / "net.onnx")
    facts = facts_of(path, {})
    first = check(facts)
    assert first.mended is None
    report = check(replace(facts, mended=mend(path, first.verdict.steps, facts.fixed_dims)))
    assert report.mended is not None
    assert words in report.verdict.text


def test_a_recipe_that_can_not_be_built_is_told(tmp_path: Path) -> None:
    path = nets.save(check_nets.initializers_in_inputs(7), tmp_path / "net.onnx")
    facts = facts_of(path, {})
    failed = mend(path, ("weights-inside", "opset=99"), ())
    assert failed.graph is None
    text = check(replace(facts, mended=failed)).verdict.text
    assert "But the recipe can't be built: opset=99: onnx here knows opsets up to" in text


def test_old_operators_are_to_be_lifted(tmp_path: Path) -> None:
    """BatchNormalization-like rules want version 7 and later; an old model goes up, not down."""
    found = the(report_of(check_nets.chain("Relu", opset=6), tmp_path), "opset-layout")
    assert found.steps == ("opset=13",)


def test_mnist_is_told_as_the_guides_have_it(tmp_path: Path) -> None:
    path = tmp_path / "mnist.onnx"
    path.write_bytes(mnist())
    report = report_of(path, tmp_path)
    assert report.as_is is not None
    taken = [(row.api_level, row.partitions, row.nodes_taken, row.nodes) for row in report.as_is.levels]
    assert taken == [(27, 2, 2, 8), (28, 1, 8, 8), (29, 1, 8, 8), (30, 1, 8, 8)]
    assert {(row.operator, row.possible_at) for row in report.as_is.nodes} == {
        ("Conv", 28), ("MaxPool", 28), ("Gemm", 28), ("Reshape", 28)
    }  # fmt: skip
    assert report.verdict.word == "ready"
    assert "8 of 8 nodes in one piece from API 28 on" in report.verdict.text


def test_fused_operators_are_named_and_onnxruntimes_checker_gives_up(tmp_path: Path) -> None:
    fused = report_of(check_nets.converted(check_nets.chain("Relu", "Sigmoid"), tmp_path / "a", FUSED), tmp_path)
    found = the(fused, "fused-operators")
    assert "FusedConv" in found.reason
    assert found.threads == (9285, 9054)
    assert "does not answer" in the(fused, "ort-checker-differs").reason
    assert fused.verdict.word == "mend"
    basic = report_of(
        check_nets.converted(check_nets.chain("Relu", "Sigmoid"), tmp_path / "b", OptimizationLevel.BASIC), tmp_path
    )
    assert ids(basic) == {"nnapi-api-level"}
    assert basic.verdict.word == "ready"


def test_the_checkers_answer_is_beside_ours(tmp_path: Path) -> None:
    report = report_of(check_nets.quantized(np.int8), tmp_path)
    theirs = next(one for one in report.checker if one.provider == "NNAPI")
    assert (theirs.answer, report.settled and report.settled.answer) == ("YES", "NO")
    assert "int8 activations pass" in the(report, "ort-checker-differs").reason
    assert {one.provider for one in report.checker} == {"NNAPI", "CoreML NeuralNetwork", "CoreML MLProgram"}


def test_open_dimensions_are_tried_with_numbers(tmp_path: Path) -> None:
    model = check_nets.chain("Relu", "Sigmoid", shape=("n", 3, "h", "w"))
    guessed = report_of(model, tmp_path)
    assert guessed.as_is is not None
    assert guessed.fixed is not None
    assert (guessed.as_is.highest.nodes_taken, guessed.fixed.highest.nodes_taken) == (0, 3)
    assert guessed.guessed
    given = report_of(model, tmp_path, n=2, h=10, w=12)
    assert not given.guessed
    assert given.fixed_dims == (("h", 10), ("n", 2), ("w", 12))
    assert the(given, "dynamic-shapes").command.endswith("--dim h=10 --dim n=2 --dim w=12")
    assert the(given, "dynamic-shapes").threads == (11073,)


def test_numbers_that_do_not_fit_are_told(tmp_path: Path) -> None:
    node = check_nets.make("MatMul", ["x", "w"], ["y"], "product")
    ports = [nets.value("x", (1, "c")), nets.value("y", (1, 3))]
    model = nets.model_of([node], ports[:1], ports[1:], [nets.weights("w", 4, 3)])
    assert report_of(model, tmp_path, c=4).fixed is not None
    report = report_of(model, tmp_path, c=5)
    assert report.fixed is None
    assert "could not be tried" in the(report, "dynamic-shapes").reason


def test_external_data_costs_nnapi_its_nodes(tmp_path: Path) -> None:
    outside = report_of(nets.external(tmp_path / "outside"), tmp_path)
    found = the(outside, "external-data")
    assert found.places == ("w",)
    assert found.command.endswith("--recipe basic")
    assert outside.as_is is not None
    assert outside.as_is.highest.nodes_taken == 1
    assert "external-data" not in ids(report_of(nets.conv_relu(), tmp_path))


def test_weights_outside_are_looked_at_too(tmp_path: Path) -> None:
    path = nets.save_external(check_nets.with_weights(1e-40, 1e-41), tmp_path / "net.onnx")
    assert the(report_of(path, tmp_path), "denormal-weights").reason.startswith("2 of 81 ")


def test_open_dimensions_beside_external_data(tmp_path: Path) -> None:
    model = check_nets.chain("Relu", shape=("n", 3, 8, 8))
    report = report_of(nets.save_external(model, tmp_path / "net.onnx"), tmp_path, n=1)
    assert report.fixed is not None
    assert report.fixed.highest.nodes_taken == 1  # the Conv's weight lies outside


def test_half_precision_is_not_taken_though_the_cpu_gets_casts(tmp_path: Path) -> None:
    """onnxruntime puts Casts to float32 around each operator; NNAPI is asked before that."""
    report = report_of(check_nets.half(), tmp_path)
    assert report.as_is is not None
    assert report.as_is.highest.nodes_taken == 0
    assert {row.operator for row in report.as_is.nodes} >= {"Conv", "Relu"}
    assert "Cast" in the(report, "fp16-tensors").reason


def test_every_operator_without_a_kernel_is_found(tmp_path: Path) -> None:
    report = report_of(check_nets.without_kernel(), tmp_path)
    assert the(report, "no-cpu-kernel").count == 1
    assert "Relu of int16" in the(report, "no-cpu-kernel").reason
    assert report.verdict.word == "mend"
    assert report.as_is is None


def test_an_operator_without_a_kernel_within_a_node(tmp_path: Path) -> None:
    assert the(report_of(check_nets.without_kernel_below(), tmp_path), "no-cpu-kernel").places == ("deep",)


def test_a_saved_optimization_as_onnx_is_a_fused_model_too(tmp_path: Path) -> None:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(tmp_path / "fused.onnx")
    ort.InferenceSession(nets.conv_relu().SerializeToString(), options, providers=["CPUExecutionProvider"])
    report = report_of(tmp_path / "fused.onnx", tmp_path)
    assert the(report, "fused-operators").command == "orch model build ORIGINAL.onnx --recipe basic"
    assert report.settled is not None
    assert report.settled.highest.nodes_taken == 0


VERSIONS = [("1.15.1", {"ort-format-converter"}), ("1.16.3", set()), ("1.12.1", {"ort-format-converter"})]


@pytest.mark.parametrize(("target", "expected"), VERSIONS)
def test_what_the_converter_writes_against_the_binary(target: str, expected: set[str], tmp_path: Path) -> None:
    report = report_of(check_nets.plain(), tmp_path, target=target)
    assert ids(report) & {"ort-format-converter", "ort-format", "opset-runtime"} == expected


def test_an_ort_file_against_the_binary(tmp_path: Path) -> None:
    path = check_nets.converted(check_nets.plain(), tmp_path / "a", OptimizationLevel.BASIC)
    assert the(report_of(path, tmp_path, target="1.15.1"), "ort-format").severity is Severity.BLOCKS
    assert "ort-format" not in ids(report_of(path, tmp_path, target="1.16.0"))
    assert "ort-format" not in ids(report_of(path, tmp_path))


def test_an_opset_against_the_binary(tmp_path: Path) -> None:
    model = check_nets.chain("Relu", opset=19)
    found = the(report_of(model, tmp_path, target="1.14.0"), "opset-runtime")
    assert found.steps == ("opset=18",)
    assert "opset-runtime" not in ids(report_of(model, tmp_path, target="1.15.0"))
    assert newest_opset(OrtVersion(1, 99)) is None


def test_the_newest_opset_is_what_this_onnxruntime_loads(tmp_path: Path) -> None:
    newest = newest_opset(OrtVersion.parse(converter_version()))
    assert newest is not None
    require_loadable(nets.save(nets.model_of_opset(newest), tmp_path / "newest.onnx"))
    with pytest.raises(runtime_errors(), match=f"till opset {newest}"):
        require_loadable(nets.save(nets.model_of_opset(newest + 1), tmp_path / "newer.onnx"))


def test_over_2_gb_is_a_finding_of_size_alone() -> None:
    from android_runner.ort import ModelFormat

    facts = ModelFacts(
        name="m", path="m.onnx", format=ModelFormat.ONNX, converter="1.21.0", ir_version=8, opset=17, nodes=3,
        size_bytes=LARGEST_BYTES + 1, external=("w.bin",), external_tensors=("w",), graph_problem="over 2 GB",
    )  # fmt: skip
    report = check(facts)
    assert the(report, "over-2gb").severity is Severity.BLOCKS
    assert the(report, "external-data").command == ""
    assert report.verdict.word == "mend"


def test_few_denormals_are_a_note(tmp_path: Path) -> None:
    model = check_nets.with_weights(1e-40)
    big = nets.weights("more", 4000, 3)
    model.graph.initializer.append(big)
    model.graph.node.append(check_nets.make("MatMul", ["more", "more2"], ["p"], "product"))
    model.graph.initializer.append(nets.weights("more2", 3, 2))
    model.graph.output.append(nets.value("p", (4000, 2)))
    assert the(report_of(model, tmp_path), "denormal-weights").severity is Severity.NOTE


def test_one_command_mends_several_things_in_order(tmp_path: Path) -> None:
    model = check_nets.with_weights(1e-40, 1e-41)
    model.opset_import[0].version = 22
    model.graph.input.append(nets.value("w", (3, 3, 3, 3)))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    report = report_of(model, tmp_path)
    assert "--recipe basic+weights-inside+opset=21+flush-denormals --dim batch=1" in report.verdict.command
    assert [one.severity for one in report.findings] == sorted(
        (one.severity for one in report.findings), key=list(Severity).index
    )


def test_places_are_bounded(tmp_path: Path) -> None:
    report = report_of(check_nets.chain(*["Asinh"] * 20), tmp_path)
    found = the(report, "nnapi-no-builder")
    assert found.count == 20
    assert len(found.places) == MAX_PLACES


UNUSABLE: Mapping[str, tuple[Net, str]] = {
    "cycle": (check_nets.cyclic, "cycle"),
    "undeclared": (check_nets.undeclared, "relu0 takes nowhere, which nothing makes"),
    "custom domain": (check_nets.foreign, "of domain com.example (Relu)"),
    "opset of the future": (lambda: check_nets.chain("Relu", opset=99), "opset 99"),
    "a type that can't be": (lambda: check_nets.chain("Nonsense"), "Nonsense"),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_what_is_no_model_is_refused_with_its_reason(what: str, tmp_path: Path) -> None:
    make, words = UNUSABLE[what]
    with pytest.raises(UsageError) as refused:
        report_of(make(), tmp_path)
    assert words in str(refused.value)


@pytest.mark.parametrize("location", ["../w.bin", "/etc/hostname", "missing.bin"])
def test_external_data_that_can_not_be_had(location: str, tmp_path: Path) -> None:
    path = nets.external(tmp_path / "net", location)
    (tmp_path / "net" / "missing.bin").unlink(missing_ok=True)
    with pytest.raises(UsageError, match=r"external data"):
        report_of(path, tmp_path)


def test_a_cut_off_protobuf(tmp_path: Path) -> None:
    path = tmp_path / "cut.onnx"
    path.write_bytes(check_nets.plain().SerializeToString()[:-40])
    with pytest.raises(UsageError, match=r"not an ONNX model"):
        report_of(path, tmp_path)
