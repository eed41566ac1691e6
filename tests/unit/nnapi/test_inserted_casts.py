"""Where nodes stand once the Casts that onnxruntime put in are out again; nodes need not have names."""

from __future__ import annotations

import pytest

from android_runner.nnapi.casts import PREFIX, places_without_casts, without_inserted_casts
from android_runner.nnapi.graph import Graph, Node, Value


def node(op_type: str, source: str, result: str, name: str = "") -> Node:
    return Node(name, op_type, "", 13, (source,), (result,))


def graph(*nodes: Node) -> Graph:
    names = {name for one in nodes for name in (*one.inputs, *one.outputs)}
    values = {name: Value(name, 1 if name.startswith(PREFIX) else 10, (1,)) for name in names}
    return Graph(nodes=nodes, values=values, inputs=("a",), outputs=(nodes[-1].outputs[0],), opset=13)


@pytest.mark.parametrize("name", ["", "the same for all"])
def test_without_casts_every_node_stands_where_it_stood(name: str) -> None:
    plain = graph(node("Relu", "a", "b", name), node("Abs", "b", "c", name), node("Relu", "c", "d", name))
    assert without_inserted_casts(plain) == plain
    assert places_without_casts(plain) == (0, 1, 2)


def test_places_skip_the_casts() -> None:
    cast = graph(
        node("Cast", "a", f"{PREFIX}a", f"{PREFIX}a"),
        node("Relu", f"{PREFIX}a", f"{PREFIX}b"),
        node("Abs", f"{PREFIX}b", f"{PREFIX}c"),
        node("Cast", f"{PREFIX}c", "c", f"{PREFIX}c"),
    )
    assert [one.op_type for one in without_inserted_casts(cast).nodes] == ["Relu", "Abs"]
    assert places_without_casts(cast) == (1, 2)
