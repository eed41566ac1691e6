"""Pure: what a model does with each of its inputs, as far as invented values must respect it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.variants.graph import Graph, Node, Port

_MAX_FOLLOWED = 64
_PASSES_ON = frozenset(
    ("Identity", "Cast", "Unsqueeze", "Squeeze", "Reshape", "Flatten", "Transpose", "Expand", "Concat", "Slice", "Tile")
)
_STEERING = {
    "Reshape": (1,), "Expand": (1,), "Tile": (1,), "Slice": (1, 2, 3, 4), "Range": (0, 1, 2), "ConstantOfShape": (0,),
    "TopK": (1,), "Pad": (1,), "Resize": (2, 3), "Unsqueeze": (1,), "Squeeze": (1,), "ReduceSum": (1,),
    "Split": (1,), "OneHot": (1,), "Upsample": (1,), "Loop": (0,),
}  # fmt: skip
"""Inputs that decide shapes: no value can be guessed for them."""
_POSITIVE = frozenset(("Log", "Sqrt"))


class Role(StrEnum):
    """How an input is used."""

    VALUE = "value"
    POSITIVE = "positive"
    INDEX = "index"
    MASK = "mask"
    STEERS = "steers"


@dataclass(frozen=True, slots=True)
class Feed:
    """An input's role; `limit` is the first index that is out of range, for INDEX only (None: not known)."""

    name: str
    role: Role
    limit: int | None = None


def feeds_of(graph: Graph, shapes: Mapping[str, tuple[int | str | None, ...] | None]) -> tuple[Feed, ...]:
    """The role of each input that has no initializer, in order. `shapes`: of inner values, where the file tells."""
    known = {name: constant.dims for name, constant in graph.initializers.items()} | dict(shapes)
    readers = _readers(graph)
    given = [port for port in graph.inputs if port.name not in graph.initializers]
    return tuple(_feed(port, readers, known) for port in given)


_Readers = dict[str, list[tuple[Node, int]]]
_Shapes = Mapping[str, "tuple[int | str | None, ...] | None"]


def _readers(graph: Graph) -> _Readers:
    readers: _Readers = {}
    for node in graph.nodes:
        for position, name in enumerate(node.inputs):
            readers.setdefault(name, []).append((node, position))
    return readers


def _feed(port: Port, readers: _Readers, shapes: _Shapes) -> Feed:
    uses = list(_uses(port.name, readers))
    limits = [limit for node, position in uses for limit in _index_limits(node, position, shapes)]
    if limits:
        sizes = [limit for limit in limits if limit is not None]
        return Feed(port.name, Role.INDEX, min(sizes) if sizes else None)
    if "mask" in port.name.lower():
        return Feed(port.name, Role.MASK)
    if any(position in _STEERING.get(node.operator, ()) for node, position in uses):
        return Feed(port.name, Role.STEERS)
    if any(node.operator in _POSITIVE for node, position in uses):
        return Feed(port.name, Role.POSITIVE)
    return Feed(port.name, Role.VALUE)


def _uses(name: str, readers: _Readers) -> Iterator[tuple[Node, int]]:
    """Where a value arrives, also through nodes that only reshape or cast it."""
    waiting, seen = [name], {name}
    while waiting and len(seen) < _MAX_FOLLOWED:
        for node, position in readers.get(waiting.pop(), ()):
            yield node, position
            steers = position in _STEERING.get(node.operator, ())
            onward = node.outputs[0] if node.operator in _PASSES_ON and node.outputs and not steers else ""
            if onward and onward not in seen:
                seen.add(onward)
                waiting.append(onward)


def _index_limits(node: Node, position: int, shapes: _Shapes) -> Iterator[int | None]:
    """The limit, once for each way `node` takes this input as indices."""
    if node.operator in ("Gather", "GatherElements", "ScatterElements") and position == 1:
        yield _size(shapes, node.inputs[0], _axis(node))
    elif node.operator in ("GatherND", "ScatterND") and position == 1:
        dims = [dim for dim in shapes.get(node.inputs[0]) or () if isinstance(dim, int)]
        yield min(dims) if dims else None
    elif node.operator == "OneHot" and position == 0:
        yield None
    elif node.operator == "EmbedLayerNormalization" and position in (0, 1):
        yield _size(shapes, node.inputs[position + 2], 0)


def _axis(node: Node) -> int:
    found = [a.value for a in node.attributes if a.name == "axis"]
    return found[0] if found and isinstance(found[0], int) else 0


def _size(shapes: _Shapes, name: str, axis: int) -> int | None:
    shape = shapes.get(name) or ()
    dim = shape[axis] if -len(shape) <= axis < len(shape) else None
    return dim if isinstance(dim, int) else None
