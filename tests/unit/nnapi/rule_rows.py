"""Graphs out of the corpus of claim rules: a short notation for tensors, and nodes in a row.

`f32 1x3x8x8`, `f32 _x4` (a dimension that is not fixed), `f32 ?` (no known rank), `f32 scalar`; before it `const`,
`over` (an initializer that can be overridden) or `external`; behind it `= 0 6` for the elements.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from android_runner.nnapi.graph import AttributeValue, Graph, Node, Value

CORPUS = Path(__file__).parents[2] / "corpus" / "nnapi_rules"
_TYPES = {"f32": 1, "u8": 2, "i8": 3, "i32": 6, "i64": 7, "bool": 9, "f16": 10}


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of one file of the corpus."""
    return [json.loads(line) for line in (CORPUS / name).read_text().splitlines()]


def value(name: str, notation: str) -> Value:
    """A tensor from its notation."""
    told, _, listed = notation.partition("=")
    words = told.split()
    kind = words.pop(0) if words[0] in ("const", "over", "external") else ""
    elem_type, shape = words
    dims = {"?": None, "scalar": ()}.get(shape, tuple(-1 if dim == "_" else int(dim) for dim in _split(shape)))
    read = float if elem_type.startswith("f") else int
    elements = tuple(read(item) for item in listed.split()) if listed else None
    is_constant = kind in ("const", "external")
    held = elements if is_constant else None
    return Value(name, _TYPES[elem_type], dims, is_constant, held, kind == "external")


def _split(shape: str) -> list[str]:
    return [] if shape in ("?", "scalar") else shape.split("x")


def node(op: str, version: int, inputs: tuple[str, ...], outputs: tuple[str, ...], given: Mapping[str, Any]) -> Node:
    """A node; `op` may carry its domain before a colon."""
    domain, _, op_type = op.rpartition(":")
    attributes: dict[str, AttributeValue] = {
        key: tuple(item) if isinstance(item, list) else item for key, item in given.items()
    }
    return Node(f"n_{'_'.join(outputs)}", op_type, domain, version, inputs, outputs, attributes)


def graph(nodes: list[Node], values: Mapping[str, Value], opset: int = 21) -> Graph:
    """A graph whose inputs are what nobody makes and whose outputs are what nobody uses."""
    made = [name for one in nodes for name in one.outputs]
    used = {name for one in nodes for name in one.inputs}
    every = {name: Value(name, 1, (1, 4)) for name in made} | dict(values)
    return Graph(
        nodes=tuple(nodes),
        values=every,
        inputs=tuple(name for name, item in every.items() if name not in made and not item.constant),
        outputs=tuple(name for name in made if name not in used),
        opset=opset,
    )
