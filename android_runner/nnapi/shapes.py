"""Pure: how the shapes of all tensors are had from ONNX Runtime without running anything.

Whoever has it loads the model with every tensor as a graph output (`expose_all`, names alone), at level DISABLE_ALL,
and asks the session's `get_outputs()` (`types_of`). ONNX's own shape inference stops at the first operator that is not
ONNX's; ONNX Runtime's knows its own. Nothing here imports either: a model is any object with a ModelProto's fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from android_runner.nnapi.case import TYPE_NAMES

_RUNTIME_NAMES = {"float32": "float", "float64": "double"}
_NUMBERS = {f"tensor({_RUNTIME_NAMES.get(name, name)})": number for number, name in TYPE_NAMES.items() if number}

Types = Mapping[str, tuple[int, tuple[int, ...] | None]]
"""By name: the number of `TensorProto.DataType` (0: no tensor, or not known) and the dimensions, -1 where one is not
fixed, None where the rank is not known."""


class Described(Protocol):
    """What onnxruntime's `NodeArg` says."""

    @property
    def name(self) -> str:
        """The tensor's name."""

    @property
    def type(self) -> str:
        """`tensor(float)`, `seq(tensor(int64))`."""

    @property
    def shape(self) -> list[Any]:
        """Numbers, names or None; empty for a scalar and also where the rank is not known."""


def expose_all(model: Any) -> tuple[str, ...]:
    """Make every output of every node in the main graph a graph output (by name alone), and give the names added.

    Changes `model`, a ModelProto.
    """
    graph = model.graph
    known = {value.name for value in graph.output}
    added = []
    for node in graph.node:
        for name in node.output:
            if name and name not in known:
                known.add(name)
                added.append(name)
                graph.output.add().name = name
    return tuple(added)


def name_graphs(graph: Any, name: str = "graph") -> None:
    """Give every graph a name that has none: ORT format keeps no names of sub-graphs, ONNX requires them."""
    graph.name = graph.name or name
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                name_graphs(attribute.g, f"{name}_{attribute.name}")
            for below in attribute.graphs:
                name_graphs(below, f"{name}_{attribute.name}")


def types_of(outputs: Iterable[Described]) -> dict[str, tuple[int, tuple[int, ...] | None]]:
    """Type and dimensions of each tensor, from `get_outputs()`.

    ONNX Runtime says the same of a scalar and of an unknown rank; both are given as an unknown rank.
    """
    return {one.name: (_NUMBERS.get(one.type, 0), _dims(one.shape)) for one in outputs}


def _dims(shape: list[Any]) -> tuple[int, ...] | None:
    if not shape:
        return None
    return tuple(dim if isinstance(dim, int) and dim >= 0 else -1 for dim in shape)
