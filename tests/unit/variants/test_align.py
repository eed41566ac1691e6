"""Two graphs node by node: fusions, folding, renames, and every node in exactly one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from android_runner.nnapi.graph import Graph, Node, Value
from android_runner.ort import ModelFormat
from orchestrator.variants.align import Change, Step, align
from orchestrator.variants.claim_shelf import GraphWanted, graphs_of
from orchestrator.variants.inspect import load_model
from orchestrator.variants.recipe import Variant
from orchestrator.variants.rules import all_recipes
from orchestrator.variants.samples import ALL, write_samples
from orchestrator.variants.shelf import Shelf, build_variants


def node(op_type: str, reads: str, makes: str, name: str = "", **more: object) -> Node:
    domain = str(more.pop("domain", ""))
    version = int(str(more.pop("version", 1)))
    return Node(name or makes, op_type, domain, version, tuple(reads.split()), tuple(makes.split()), more)  # type: ignore[arg-type]


def graph(*nodes: Node, constants: str = "w v", inputs: str = "x", outputs: str = "y") -> Graph:
    values = {name: Value(name, 1, (2, 2), constant=True) for name in constants.split()}
    return Graph(nodes, values, tuple(inputs.split()), tuple(outputs.split()), 13)


def told(before: Graph, after: Graph) -> list[tuple[str, str, str]]:
    """Each step as its change and both sides' operators."""
    return [
        (step.change.value, "+".join(one.label for one in step.before), "+".join(one.label for one in step.after))
        for step in align(before, after)
    ]


CONV, RELU = node("Conv", "x w", "c"), node("Relu", "c", "r")
FUSED = node("FusedConv", "x w", "r", "c", domain="com.microsoft")
END = node("MaxPool", "r", "y")


def test_a_fused_node_s_output_is_the_last_fused_node_s() -> None:
    assert told(graph(CONV, RELU, END), graph(FUSED, END)) == [
        ("fused", "Conv+Relu", "com.microsoft:FusedConv"),
        ("same", "MaxPool", "MaxPool"),
    ]


def test_the_same_graph_is_the_same() -> None:
    one = graph(CONV, RELU, END)
    assert {step.change for step in align(one, one)} == {Change.SAME}


def test_what_only_constants_go_into_is_folded() -> None:
    before = graph(node("Reshape", "w v", "w2"), node("Add", "w2 v", "w3"), node("MatMul", "x w3", "y"))
    after = graph(node("MatMul", "x w3", "y"), constants="w v w3")
    assert told(before, after) == [("same", "MatMul", "MatMul"), ("folded", "Reshape", ""), ("folded", "Add", "")]
    assert told(before, before) == [("same", op, op) for op in ("Reshape", "Add", "MatMul")]


def test_dropout_and_identity_are_removed_not_fused() -> None:
    before = graph(CONV, node("Dropout", "c", "d"), node("Relu", "d", "r"), node("Identity", "r", "y"))
    after = graph(CONV, node("Relu", "c", "y", "r"))
    assert sorted(told(before, after)) == [
        ("removed", "Dropout", ""),
        ("removed", "Identity", ""),
        ("same", "Conv", "Conv"),
        ("same", "Relu", "Relu"),
    ]


def test_what_is_put_between_is_added() -> None:
    before = graph(CONV, node("Relu", "c", "y"))
    after = graph(CONV, node("Relu", "c", "y"), node("Shape", "x", "s"), outputs="y s")
    assert ("added", "", "Shape") in told(before, after)


def test_nodes_are_known_again_where_every_name_is_another() -> None:
    before = graph(CONV, RELU, END)
    after = graph(
        node("Conv", "image k", "1"),
        node("Relu", "1", "2"),
        node("MaxPool", "2", "3"),
        constants="k v",
        inputs="image",
        outputs="3",
    )
    assert told(before, after) == [("renamed", op, op) for op in ("Conv", "Relu", "MaxPool")]


def test_another_version_or_attribute_is_a_change_of_the_same_node() -> None:
    before = graph(node("Relu", "x", "r", version=6), node("Softmax", "r", "y", axis=1))
    after = graph(node("Relu", "x", "r", version=14), node("Softmax", "r", "y", axis=-1))
    assert told(before, after) == [("changed", "Relu", "Relu"), ("changed", "Softmax", "Softmax")]


def test_layout_s_transposes_stand_with_the_node_that_wants_them() -> None:
    before = graph(
        node("QuantizeLinear", "x", "q"),
        node("DequantizeLinear", "q", "d0"),
        node("Conv", "d0 w", "c", "conv"),
        node("QuantizeLinear", "c", "q1"),
        node("DequantizeLinear", "q1", "d1"),
        node("MaxPool", "d1", "p", "pool"),
        node("QuantizeLinear", "p", "y", "last"),
    )
    after = graph(
        node("QuantizeLinear", "x", "q"),
        node("Transpose", "q", "t0"),
        node("QLinearConv", "t0 w", "c_nhwc", "conv_token_2"),
        node("NhwcMaxPool", "c_nhwc", "p_nhwc", "pool_token_3"),
        node("Transpose", "p_nhwc", "y", "Transpose_token_4"),
    )
    assert told(before, after) == [
        ("same", "QuantizeLinear", "QuantizeLinear"),
        ("fused", "DequantizeLinear+Conv+QuantizeLinear", "Transpose+QLinearConv"),
        ("fused", "DequantizeLinear+MaxPool+QuantizeLinear", "NhwcMaxPool+Transpose"),
    ]


def test_nothing_in_common_is_all_gone_and_all_new() -> None:
    steps = align(graph(node("Relu", "x", "y")), graph(node("Neg", "x", "z"), outputs="z"))
    assert {step.change for step in steps} == {Change.REMOVED, Change.ADDED}


def whole(graph: Graph, steps: tuple[Step, ...], side: str) -> bool:
    """Whether each node is in one step, and only there."""
    listed = [id(one) for step in steps for one in getattr(step, side)]
    return sorted(listed) == sorted(id(one) for one in graph.nodes)


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("resnet50", "inception_v2", "densenet121")])
def test_every_node_of_every_sample_and_recipe_is_in_exactly_one_step(name: str, tmp_path: Path) -> None:
    (path,) = write_samples(tmp_path, [name])
    shelf = Shelf(tmp_path / "shelf")
    model = load_model(path, shelf=shelf)
    variants = [one for one in build_variants([(model, recipe, ()) for recipe in all_recipes()], shelf)]
    built = [one for one in variants if isinstance(one, Variant)]
    assert len(built) == len(variants)
    wanted = [GraphWanted(one.path, one.recipe.format, as_written=True) for one in built]
    source, *graphs = graphs_of([GraphWanted(path, ModelFormat.ONNX, as_written=True), *wanted])
    assert isinstance(source, Graph)
    for variant, other in zip(built, graphs, strict=True):
        assert isinstance(other, Graph), variant.recipe.name
        steps = align(source, other)
        assert whole(source, steps, "before")
        assert whole(other, steps, "after")
        if variant.recipe.name == "onnx":
            assert {step.change for step in steps} == {Change.SAME}
