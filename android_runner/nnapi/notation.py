"""Pure: a `Graph` as JSON text and back, so that a claim can be made again where the model is not.

`{"opset", "inputs", "outputs", "nodes": [[…]], "values": [[…]]}`, fields in the order of the nouns. Infinities are
written as Python's json does.
"""

from __future__ import annotations

import json
from typing import Any

from android_runner.nnapi.graph import AttributeValue, Graph, Node, Value


def graph_to_text(graph: Graph) -> str:
    """As one line of JSON; the same graph gives the same text."""
    data = {
        "opset": graph.opset,
        "inputs": graph.inputs,
        "outputs": graph.outputs,
        "nodes": [
            [
                node.name, node.op_type, node.domain, node.since_version, node.inputs, node.outputs,
                dict(node.attributes), node.implicit, node.has_subgraph,
            ]
            for node in graph.nodes
        ],
        "values": [
            [one.name, one.elem_type, one.dims, one.constant, one.elements, one.external]
            for one in graph.values.values()
        ],
    }  # fmt: skip
    return json.dumps(data, separators=(",", ":"), sort_keys=True)


def graph_from_text(text: str | bytes) -> Graph:
    """What `graph_to_text` wrote. Raises ValueError for anything else."""
    try:
        data = json.loads(text)
        values = [_value(*row) for row in data["values"]]
        return Graph(
            nodes=tuple(_node(row) for row in data["nodes"]),
            values={value.name: value for value in values},
            inputs=tuple(data["inputs"]),
            outputs=tuple(data["outputs"]),
            opset=int(data["opset"]),
        )
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"no graph of ours: {error!r}") from error


def _value(
    name: str,
    elem_type: int,
    dims: list[int] | None,
    constant: bool,
    elements: list[float] | None,
    external: bool = False,
) -> Value:
    """A field that is added later needs a default: runs keep what was written before."""
    known_dims = None if dims is None else tuple(dims)
    known_elements = None if elements is None else tuple(elements)
    return Value(name, elem_type, known_dims, constant, known_elements, external)


def _node(row: list[Any]) -> Node:
    name, op_type, domain, since_version, inputs, outputs, attributes, implicit, has_subgraph = row
    return Node(
        name=name,
        op_type=op_type,
        domain=domain,
        since_version=since_version,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        attributes={key: _attribute(value) for key, value in attributes.items()},
        implicit=tuple(implicit),
        has_subgraph=has_subgraph,
    )


def _attribute(value: Any) -> AttributeValue:
    return tuple(value) if isinstance(value, list) else value
