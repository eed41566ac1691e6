"""Whole models: the MNIST story, the light CNNs, and ONNX Runtime's own checker beside the claim rules."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import helper
from onnxruntime.tools.mobile_helpers.usability_checker import check_nnapi_partitions

from android_runner.nnapi.graph import Graph
from android_runner.nnapi.placement import Placement
from orchestrator.variants import samples
from tests.unit.nnapi import placed

_WHOLE = ["Conv", "Relu", "MaxPool", "Conv", "Relu", "MaxPool", "Reshape", "Gemm"]


@pytest.mark.parametrize(
    ("level", "api_level", "flags", "partitions"),
    [
        ("basic", 34, (), [_WHOLE]),
        ("basic", 28, (), [_WHOLE]),
        ("basic", 28, ("fp16",), [_WHOLE]),
        ("basic", 29, ("nchw",), [_WHOLE]),
        ("basic", 28, ("nchw",), [["Relu"], ["Relu"], ["Reshape", "Gemm"]]),
        ("basic", 27, (), [["Relu"], ["Relu"]]),
        ("extended", 34, (), [["MaxPool"], ["MaxPool", "Reshape", "Gemm"]]),
        ("extended", 28, (), [["MaxPool"], ["MaxPool", "Reshape", "Gemm"]]),
        ("extended", 28, ("nchw",), [["Reshape", "Gemm"]]),
        ("extended", 27, (), []),
        ("basic", 26, (), []),
    ],
)
def test_mnist(level: str, api_level: int, flags: tuple[str, ...], partitions: list[list[str]]) -> None:
    graph = placed.known("mnist", level)
    found = placed.placed(graph, api_level, *flags)
    assert placed.told(graph, found) == partitions
    assert found.claimed_count + len(found.refused) + len(found.dropped) == len(graph.nodes)
    assert found.feature_level == (1000007 if api_level == 34 else api_level)


def test_mnist_at_api_27_says_why() -> None:
    graph = placed.known("mnist", "basic")
    found = placed.placed(graph, 27)
    assert {graph.nodes[one.node].op_type: one.reason for one in found.refused} == {
        "Conv": "Conv needs API 28, this is 27",
        "MaxPool": "MaxPool needs API 28, this is 27",
        "Gemm": "C of Gemm with 2 dimensions needs API 28, this is 27",
    }
    assert [(graph.nodes[one.node].op_type, one.rule) for one in found.dropped] == [("Reshape", "lone-node")]


def _mnist_of_opset(opset: int) -> Graph:
    model: Any = onnx.load_model_from_string(samples.mnist())
    model.opset_import[0].version = opset
    model.ir_version = 10
    return placed.graph(placed.optimized(model.SerializeToString(), "basic"))


@pytest.mark.parametrize("api_level", [28, 34])
def test_opset_22_keeps_convolutions_on_the_cpu(api_level: int) -> None:
    graph = _mnist_of_opset(22)
    found = placed.placed(graph, api_level)
    assert placed.told(graph, found) == [["Relu"], ["Relu"], ["Reshape", "Gemm"]]
    assert {one.rule for one in found.refused} == {"opset"}
    assert placed.told(_mnist_of_opset(21), placed.placed(_mnist_of_opset(21), api_level)) == [_WHOLE]


def test_opset_23_gets_nothing_but_in_nchw() -> None:
    graph = _mnist_of_opset(23)
    assert placed.placed(graph, 34).partitions == ()
    assert "opset 23" in placed.placed(graph, 34).problem
    assert placed.placed(graph, 34, "nchw").problem == ""
    assert placed.placed(graph, 34, "nchw").partitions


def _mnist_with_inputs(ir_version: int) -> Any:
    """MNIST with its initializers among the graph's inputs, as older exporters wrote it."""
    model: Any = onnx.load_model_from_string(samples.mnist())
    for tensor in model.graph.initializer:
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    model.ir_version = ir_version
    return placed.optimized(model.SerializeToString(), "basic")


def test_initializers_that_can_be_overridden_keep_convolutions_on_the_cpu() -> None:
    at_3, at_7 = (placed.graph(_mnist_with_inputs(version)) for version in (3, 7))
    assert placed.told(at_3, placed.placed(at_3, 34)) == [_WHOLE]
    found = placed.placed(at_7, 34)
    refused = {at_7.nodes[one.node].op_type: one.rule for one in found.refused}
    assert refused == {
        "Conv": "constant-input",
        "Reshape": "constant-input",
        "MatMul": "dynamic-shape",  # behind a Reshape whose target may change
        "Add": "dynamic-shape",
    }
    assert placed.told(at_7, found) == [["Add", "Relu", "MaxPool"], ["Add", "Relu", "MaxPool"]]
    assert "Parameter5" in at_7.inputs


@pytest.mark.parametrize(
    ("name", "basic", "extended", "at_api_27"),
    [
        ("squeezenet", (1, 65, 65), (10, 13, 39), (18, 34)),
        ("shufflenet", (30, 109, 154), (30, 59, 137), (34, 54)),
        ("resnet50", (17, 107, 123), (33, 41, 90), (50, 51)),
        ("densenet121", (1, 491, 491), (59, 373, 432), (121, 365)),
        ("inception_v2", (1, 164, 164), (12, 26, 95), (34, 81)),
    ],
)
def test_light_models(name: str, basic: tuple[int, ...], extended: tuple[int, ...], at_api_27: tuple[int, ...]) -> None:
    def counts(graph: Graph, found: Placement) -> tuple[int, int, int]:
        return len(found.partitions), found.claimed_count, len(graph.nodes)

    for level, expected in (("basic", basic), ("extended", extended)):
        graph = placed.known(name, level)
        for api_level in (28, 29, 34):
            found = placed.placed(graph, api_level)
            assert counts(graph, found) == expected
            assert all(one.checked for one in found.refused)
            assert found.caveat == ""
    graph = placed.known(name, "basic")
    assert counts(graph, placed.placed(graph, 27))[:2] == at_api_27


def test_what_api_27_does_around_batch_normalization_is_not_claimed_to_be_known() -> None:
    graph = placed.known("densenet121", "basic")
    assert placed.placed(graph, 27).caveat.startswith("not checked: the Transposes around BatchNormalization")
    assert placed.placed(graph, 27, "nchw").caveat == ""


def test_sum_is_what_keeps_resnet_apart() -> None:
    graph = placed.known("resnet50", "basic")
    assert {graph.nodes[one.node].op_type for one in placed.placed(graph, 34).refused} == {"Sum"}


DIFFERENCES = {
    "shufflenet": ((14, 141), (30, 109), "the checker has no limit of rank for NNAPI; the EP takes up to 4-D"),
    "mnist opset 22": ((1, 8), (3, 4), "the checker does not look at versions; the EP takes operators up to 21"),
    "mnist IR 7, initializers as inputs": (
        (1, 10),
        (2, 6),
        "the checker does not ask whether a weight or a shape can be overridden; the EP wants constants",
    ),
}
"""Partitions and nodes by ONNX Runtime's checker, by the rules, and why they differ."""


def _by_checker(model: Any, graph: Graph) -> list[set[str]]:
    """The checker's groups, as the nodes' first outputs."""
    informed = onnx.ModelProto()
    informed.CopyFrom(model)
    del informed.graph.value_info[:]
    for name, value in graph.values.items():
        if value.dims is not None and not value.constant:
            informed.graph.value_info.append(helper.make_tensor_value_info(name, value.elem_type, value.dims))
    found = check_nnapi_partitions(informed, require_fixed_input_sizes=True)
    return [{node.output[0] for node in group} for group in found.supported_groups]


def _by_rules(graph: Graph) -> list[set[str]]:
    found = placed.placed(graph, 34)
    return [{graph.nodes[at].outputs[0] for at in partition.nodes} for partition in found.partitions]


def _cases() -> list[str]:
    return ["mnist", "squeezenet", *placed.LIGHT, "mnist opset 22", "mnist IR 7, initializers as inputs"]


@pytest.mark.parametrize("case", _cases())
def test_beside_onnxruntimes_own_checker(case: str) -> None:
    """Equal group by group, or different as the table says."""
    if case == "mnist opset 22":
        data: Any = onnx.load_model_from_string(samples.mnist())
        data.opset_import[0].version, data.ir_version = 22, 10
        model = placed.optimized(data.SerializeToString(), "basic")
    elif case.startswith("mnist IR 7"):
        model = _mnist_with_inputs(7)
    else:
        model = placed.known_model(case, "basic")
    graph = placed.graph(model)
    checker, rules = _by_checker(model, graph), _by_rules(graph)
    if case not in DIFFERENCES:
        assert sorted(map(sorted, checker)) == sorted(map(sorted, rules))
        return
    expected_checker, expected_rules, why = DIFFERENCES[case]
    assert (len(checker), sum(map(len, checker))) == expected_checker, why
    assert (len(rules), sum(map(len, rules))) == expected_rules, why
