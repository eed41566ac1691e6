"""A graph as text and back, and what its nodes cost."""

from __future__ import annotations

import json
import math

import pytest

from android_runner.nnapi.graph import Graph, Node, Value
from android_runner.nnapi.notation import graph_from_text, graph_to_text
from android_runner.nnapi.work import multiply_adds

FLOAT = 1


def value(name: str, *dims: int, constant: bool = False) -> Value:
    return Value(name, FLOAT, dims, constant=constant)


def graph(node: Node, *values: Value) -> Graph:
    return Graph((node,), {one.name: one for one in values}, ("x",), node.outputs, 13)


def test_a_graph_comes_back_as_it_was() -> None:
    node = Node(
        "c", "Clip", "", 13, ("x", "", "hi"), ("y",), {"a": 1, "b": 0.5, "c": "text", "d": (1, 2)}, ("outer",), True
    )
    hi = Value("hi", FLOAT, (), True, (math.inf,))
    weight = Value("w", FLOAT, (2,), True, None, external=True)
    before = graph(node, value("x", 1, -1), hi, weight, Value("y", 0, None))
    assert graph_from_text(graph_to_text(before)) == before


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"nodes": [[1]], "values": [], "opset": 1})])
def test_what_is_no_graph_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no graph of ours"):
        graph_from_text(text)


@pytest.mark.parametrize(
    ("op_type", "attributes", "left", "right", "result", "expected"),
    [
        ("Conv", {}, (1, 3, 8, 8), (16, 3, 3, 3), (1, 16, 6, 6), 16 * 6 * 6 * 3 * 3 * 3),
        ("Conv", {"group": 4}, (1, 4, 8, 8), (4, 1, 3, 3), (1, 4, 6, 6), 4 * 6 * 6 * 9),
        ("ConvTranspose", {}, (1, 4, 5, 5), (4, 2, 3, 3), (1, 2, 7, 7), 4 * 5 * 5 * 2 * 3 * 3),
        ("MatMul", {}, (2, 5, 7), (7, 3), (2, 5, 3), 2 * 5 * 3 * 7),
        ("Gemm", {"transA": 1}, (7, 5), (7, 3), (5, 3), 5 * 3 * 7),
        ("Relu", {}, (1, 3), (1,), (1, 3), 0),
        ("Conv", {}, (1, 3, -1, 8), (16, 3, 3, 3), (1, 16, -1, 6), None),
    ],
)
def test_multiply_adds(
    op_type: str,
    attributes: dict[str, int],
    left: tuple[int, ...],
    right: tuple[int, ...],
    result: tuple[int, ...],
    expected: int | None,
) -> None:
    node = Node("n", op_type, "", 13, ("x", "w"), ("y",), attributes)
    whole = graph(node, value("x", *left), value("w", *right, constant=True), value("y", *result))
    assert multiply_adds(whole, node) == expected
