"""The graph digest sees what the runtime would run, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from orchestrator.variants.graph import Attribute, Constant, Graph, Node, Port, Record, count_operators, graph_digest
from orchestrator.variants.read_onnx import read_onnx
from tests.unit.variants import nets

X, Y = Port("x", "float32", (1,)), Port("y", "float32", (1,))


def node(operator: str, inputs: list[str], outputs: list[str], *attributes: Attribute) -> Node:
    return Node("", operator, 1, tuple(inputs), tuple(outputs), attributes)


def digest(nodes: list[Node], constants: dict[str, Constant] | None = None, **fields: Any) -> str:
    return graph_digest(Graph((X,), (Y,), constants or {}, tuple(nodes), **fields), "ort", {"": 13})


CHAIN = [node("Conv", ["x", "w"], ["a"]), node("Relu", ["a"], ["b"]), node("Add", ["b", "a"], ["y"])]
W = {"w": Constant("float32", (2,), "00")}


def test_names_and_order_do_not_count() -> None:
    other = [node("Add", ["q", "p"], ["y"]), node("Relu", ["p"], ["q"]), node("Conv", ["x", "v"], ["p"])]
    assert digest(CHAIN, W) == digest(other, {"v": W["w"]})


@pytest.mark.parametrize(
    "changed",
    [
        digest([CHAIN[0], CHAIN[1], node("Add", ["a", "b"], ["y"])], W),
        digest([CHAIN[0], CHAIN[1], node("Sub", ["b", "a"], ["y"])], W),
        digest([CHAIN[0], node("Relu", ["a"], ["b"], Attribute("alpha", 1, 0.5)), CHAIN[2]], W),
        digest(CHAIN, {"w": Constant("float32", (2,), "01")}),
        digest(CHAIN, {"w": Constant("float32", (1, 2), "00")}),
        digest(CHAIN, W, records=(Record("Fusion", "act", (0, 1), ()),)),
        digest([*CHAIN, node("Relu", ["a"], ["dead"])], W),
        graph_digest(Graph((X,), (Y,), W, tuple(CHAIN)), "onnx", {"": 13}),
        graph_digest(Graph((X,), (Y,), W, tuple(CHAIN)), "ort", {"": 14}),
        graph_digest(Graph((Port("z", "float32", (1,)),), (Y,), W, tuple(CHAIN)), "ort", {"": 13}),
    ],
    ids=["edge", "operator", "attribute", "weights", "shape", "record", "extra", "format", "opset", "input-name"],
)
def test_everything_else_counts(changed: str) -> None:
    assert changed != digest(CHAIN, W)


def test_records_count_by_node_not_by_position() -> None:
    moved = [CHAIN[1], CHAIN[0], CHAIN[2]]
    first = digest(CHAIN, W, records=(Record("Fusion", "act", (0, None, 1), (2,)),))
    assert first == digest(moved, W, records=(Record("Fusion", "act", (1, None, 0), (2,)),))
    assert first != digest(CHAIN, W, records=(Record("Fusion", "act", (1, None, 0), (2,)),))


def test_a_sub_graph_s_own_input_is_not_the_outer_one() -> None:
    def looping(reads: str) -> str:
        body = Graph((Port("i", "int64", ()),), (Port("o", "float32", ()),), {}, (node("Neg", [reads], ["o"]),))
        return digest([node("Loop", ["x"], ["y"], Attribute("body", 5, body))])

    assert looping("i") != looping("x")


def test_a_cycle_is_an_error() -> None:
    with pytest.raises(ValueError, match="cycle"):
        digest([node("A", ["b"], ["a"]), node("B", ["a"], ["b"])])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_renaming_and_reordering_keeps_the_digest(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    wires = ["x"]
    nodes = []
    for at in range(count):
        inputs = data.draw(st.lists(st.sampled_from(wires), min_size=1, max_size=3))
        nodes.append(node(data.draw(st.sampled_from("PQR")), inputs, [f"v{at}"]))
        wires.append(f"v{at}")
    nodes.append(node("Out", [wires[-1]], ["y"]))
    fresh = data.draw(st.permutations([f"n{at}" for at in range(count)]))
    names = {f"v{at}": fresh[at] for at in range(count)} | {"x": "x", "y": "y"}
    renamed = [node(n.operator, [names[i] for i in n.inputs], [names[o] for o in n.outputs]) for n in nodes]
    assert digest(nodes) == digest(data.draw(st.permutations(renamed)))


def test_operators_are_counted_with_their_domain_and_in_sub_graphs(tmp_path: Path) -> None:
    proto = nets.branching()
    proto.graph.node.append(helper.make_node("FusedConv", ["x"], ["z"], domain="com.microsoft"))
    counts = dict(count_operators(read_onnx(proto, tmp_path)))
    assert counts == {"If": 1, "Relu": 1, "Neg": 1, "com.microsoft:FusedConv": 1}
