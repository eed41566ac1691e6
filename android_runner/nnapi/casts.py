"""Pure: a graph without the Casts that onnxruntime's CPU provider needs for half precision.

It puts them in when a session is made, after the execution providers were asked
(`core/session/inference_session.cc`, `TransformGraph`). NNAPI sees the operators of an `.onnx` in half precision, so
they are taken out again before its rules are asked. In an `.ort` they lie in the file, and NNAPI does see them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from android_runner.nnapi.graph import Graph, Node, Value
from android_runner.nnapi.since import since_version

PREFIX = "InsertedPrecisionFreeCast_"
"""Nodes and tensors that `core/optimizer/insert_cast_transformer.cc` makes."""
_FLOAT, _FLOAT16 = 1, 10
_WORDS = {_FLOAT: "float32", _FLOAT16: "float16"}


def without_inserted_casts(graph: Graph) -> Graph:
    """The graph as it was before; the same where there are none.

    A Cast of the model's own between two precisions is gone where an inserted one undid it; it is put back, under a
    name of its own.
    """
    return _undone(graph)[0]


def places_without_casts(graph: Graph) -> tuple[int | None, ...]:
    """For each node of `without_inserted_casts(graph)` its index in `graph.nodes`; None for a Cast that was put back,
    which NNAPI never takes."""
    return _undone(graph)[1]


def _undone(graph: Graph) -> tuple[Graph, tuple[int | None, ...]]:
    """The graph as it was before, and where each of its nodes stands now. Names don't tell: nodes need not have any."""
    if not any(node.name.startswith(PREFIX) for node in graph.nodes):
        return graph, tuple(range(len(graph.nodes)))
    values = {name: value for name, value in graph.values.items() if not name.startswith(PREFIX)}
    for name, value in graph.values.items():
        if name.startswith(PREFIX):
            plain = name.removeprefix(PREFIX)
            values.setdefault(plain, Value(plain, _FLOAT16, value.dims, value.constant))
    nodes: list[Node] = []
    places: list[int | None] = []
    for place, node in enumerate(graph.nodes):
        if not node.name.startswith(PREFIX):
            *put_back, itself = _of_one_precision(_plain(node), values, graph.opset)
            nodes += [*put_back, itself]
            places += [*(None for _ in put_back), place]
    return replace(graph, nodes=tuple(nodes), values=values), tuple(places)


def _plain(node: Node) -> Node:
    names = {"inputs": node.inputs, "outputs": node.outputs, "implicit": node.implicit}
    return replace(node, **{key: tuple(name.removeprefix(PREFIX) for name in one) for key, one in names.items()})  # type: ignore[arg-type]


def _of_one_precision(node: Node, values: dict[str, Value], opset: int) -> Iterator[Node]:
    """The node in the precision of its outputs, behind the Casts that bring its inputs to it."""
    types = {_type(values, name) for name in (*node.inputs, *node.outputs)}
    wanted = _FLOAT16 if any(_type(values, name) == _FLOAT16 for name in node.outputs) else _FLOAT
    if node.op_type == "Cast" or not types >= {_FLOAT, _FLOAT16}:
        yield node
        return
    inputs = []
    for name in node.inputs:
        if _type(values, name) not in {_FLOAT, _FLOAT16} - {wanted} or values[name].constant:
            inputs.append(name)  # constants: Resize's scales and the like are float32 in either
            continue
        cast = f"{name} as {_WORDS[wanted]}"
        inputs.append(cast)
        if cast not in values:
            values[cast] = replace(values[name], name=cast, elem_type=wanted)
            yield Node(cast, "Cast", "", since_version("Cast", "", opset), (name,), (cast,), {"to": wanted})
    yield replace(node, inputs=tuple(inputs))


def _type(values: dict[str, Value], name: str) -> int:
    return values[name].elem_type if name in values else 0


def rename_casts_below(graph: Any, taken: frozenset[str] = frozenset()) -> None:
    """Give what inserted Casts make in sub-graphs a name that no graph around it has (`taken`): onnxruntime uses one
    name in both, and refuses the file that it saves with them.

    Changes `graph`, a GraphProto.
    """
    made = taken | {name for node in graph.node for name in node.output if name}
    for node in graph.node:
        for attribute in node.attribute:
            for below in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                twice = {name for one in below.node for name in one.output if name.startswith(PREFIX) and name in made}
                _rename(below, {name: f"{name} in {below.name}" for name in twice})
                rename_casts_below(below, made)


def _rename(graph: Any, names: Mapping[str, str]) -> None:
    for node in graph.node if names else ():
        for words in (node.input, node.output):
            words[:] = [names.get(word, word) for word in words]
        for attribute in node.attribute:
            for below in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                _rename(below, names)
    for value in graph.output if names else ():
        value.name = names.get(value.name, value.name)
