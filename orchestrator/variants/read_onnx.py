"""Read `.onnx` files into `graph.Graph`, and find where they keep external data."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from orchestrator.errors import Problem
from orchestrator.variants.graph import ELEMENT_TYPES, Attribute, Constant, Graph, Node, Port
from orchestrator.variants.naming import shown
from orchestrator.variants.read_ort import small_ints

_SMALL_BYTES = 1024
_EXTERNAL = 1


@dataclass(frozen=True, slots=True)
class External:
    """Where a tensor's bytes lie outside the model: a location below its folder, offset and length (None: to the end)
    in bytes."""

    tensor: str
    location: str
    offset: int
    length: int | None


def parse(data: bytes) -> Any:
    """`data` as a ModelProto. Raises ValueError where it is none, or cut off."""
    import onnx  # noqa: PLC0415  a quarter of a second, only where a model is really read
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # noqa: PLC0415

    try:
        proto = onnx.load_model_from_string(data)
    except DecodeError as error:
        raise ValueError(f"not an ONNX model, or cut off ({error})") from error
    if not proto.HasField("graph") or not (proto.graph.node or proto.graph.output):
        raise ValueError("not an ONNX model: it has no graph")
    if not proto.opset_import:
        raise ValueError("it imports no opset: cut off, or not an ONNX model")
    return proto


def opsets_of(proto: Any) -> dict[str, int]:
    """Version by domain; `ai.onnx` is the empty domain."""
    return {"" if item.domain == "ai.onnx" else item.domain: int(item.version) for item in proto.opset_import}


def external_tensors(proto: Any) -> tuple[External, ...]:
    """Every tensor that is kept outside: initializers and attributes, sub-graphs included. Raises ValueError where a
    reference can't be read."""
    return tuple(_external(tensor) for tensor in outside_tensors(proto))


def outside_tensors(proto: Any) -> Iterator[Any]:
    """The TensorProtos whose bytes lie outside the model."""
    return (tensor for tensor in _tensors(proto.graph) if tensor.data_location == _EXTERNAL)


def bring_inside(proto: Any, folder: Path) -> None:
    """Put what lies outside into the model. onnx's own function refuses files that have a second link, as files of
    builds have here. Raises OSError, ValueError where data is cut off."""
    for tensor in list(outside_tensors(proto)):
        item = _external(tensor)
        with (folder / item.location).open("rb") as stream:
            stream.seek(item.offset)
            data = stream.read(-1 if item.length is None else item.length)
        if item.length is not None and len(data) < item.length:
            raise ValueError(f"external data of {shown(tensor.name)} is cut off")
        tensor.raw_data = data
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")


def load_whole(path: Path) -> Any:
    """The ModelProto of a file, with what lies outside brought inside. Raises as `parse` and `bring_inside`."""
    proto = parse(path.read_bytes())
    bring_inside(proto, path.resolve().parent)
    return proto


def fix_dims(proto: Any, dims: Sequence[tuple[str, int]]) -> None:
    """Put numbers in place of dynamic dimensions, in the whole graph for named ones, in the inputs for `INPUT.AXIS`."""
    numbers = dict(dims)
    for value in proto.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            key = f"{value.name}.{axis}"
            if _dim(dim) is None and key in numbers:
                dim.dim_value = numbers[key]
    for value in _values(proto.graph):
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.dim_param in numbers and dim.HasField("dim_param"):
                dim.dim_value = numbers[dim.dim_param]


def _values(graph: Any) -> Iterator[Any]:
    yield from (*graph.input, *graph.output, *graph.value_info)
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _values(inner)


def _external(tensor: Any) -> External:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    length = entries.get("length")
    found = External(
        tensor.name, entries.get("location", ""), int(entries.get("offset") or 0), None if not length else int(length)
    )
    if found.offset < 0 or (found.length or 0) < 0:
        raise ValueError(f"external data of {shown(tensor.name)}: negative offset or length")
    return found


def _tensors(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    for node in graph.node:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            for inner in (attribute.g, *attribute.graphs):
                yield from _tensors(inner)


def external_problems(where: str, folder: Path, tensors: tuple[External, ...]) -> Iterator[Problem]:
    """What is wrong with external data: it must lie below the model's folder, links resolved, and be long enough."""
    by_location: dict[str, int] = {}
    for item in tensors:
        end = item.offset + (item.length or 0)
        by_location[item.location] = max(by_location.get(item.location, 0), end)
    home = folder.resolve()
    for location, needed_bytes in by_location.items():
        place = f"{where}, external data {shown(location) or '(no location)'}"
        target = folder / location
        if not location or _leaves(location) or not target.resolve().is_relative_to(home):
            yield Problem(place, "leaves the model's folder", "put the file beside the model and save the model again")
        elif not target.is_file():
            yield Problem(place, "no such file", "copy it beside the model")
        elif target.stat().st_size < needed_bytes:
            yield Problem(
                place, f"has {target.stat().st_size} bytes, {needed_bytes} are needed: cut off", "copy it again"
            )


def _leaves(location: str) -> bool:
    """Absolute in either system's way, or with `..`; `\\` counts as a separator as other readers do."""
    windows = PureWindowsPath(location)
    return PurePosixPath(location).is_absolute() or bool(windows.anchor) or ".." in windows.parts or "\0" in location


def read_onnx(proto: Any, folder: Path) -> Graph:
    """The model's graph; `folder` is where its external data lies. Raises ValueError, OSError."""
    return _graph(proto.graph, folder)


def _graph(proto: Any, folder: Path) -> Graph:
    constants = {tensor.name: _constant(tensor, folder) for tensor in proto.initializer}
    for sparse in proto.sparse_initializer:
        values, indices = _constant(sparse.values, folder), _constant(sparse.indices, folder)
        mark = hashlib.sha256(f"{values.digest} {indices.digest}".encode()).hexdigest()
        constants[sparse.values.name] = Constant(f"sparse {values.element_type}", tuple(sparse.dims), mark)
    return Graph(
        inputs=tuple(port_of(item) for item in proto.input),
        outputs=tuple(port_of(item) for item in proto.output),
        initializers=constants,
        nodes=tuple(_node(node, folder) for node in proto.node),
    )


def port_of(value: Any) -> Port:
    """A ValueInfoProto as a port; its type stays empty where it is no tensor."""
    if value.type.WhichOneof("value") != "tensor_type":
        return Port(value.name, "", None)
    tensor = value.type.tensor_type
    shape = tuple(_dim(dim) for dim in tensor.shape.dim) if tensor.HasField("shape") else None
    return Port(value.name, ELEMENT_TYPES.get(tensor.elem_type, ""), shape)


def _dim(dim: Any) -> int | str | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value) if dim.dim_value > 0 else None  # exporters write -1 and 0 for "not known"
    return dim.dim_param or None


def _node(node: Any, folder: Path) -> Node:
    return Node(
        domain="" if node.domain == "ai.onnx" else node.domain,
        operator=node.op_type,
        version=0,
        inputs=tuple(node.input),
        outputs=tuple(node.output),
        attributes=tuple(_attribute(attribute, folder) for attribute in node.attribute),
    )


_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    "FLOAT": lambda a: float(a.f),
    "INT": lambda a: int(a.i),
    "STRING": lambda a: bytes(a.s),
    "FLOATS": lambda a: tuple(float(item) for item in a.floats),
    "INTS": lambda a: tuple(int(item) for item in a.ints),
    "STRINGS": lambda a: tuple(bytes(item) for item in a.strings),
}


def _attribute(attribute: Any, folder: Path) -> Attribute:
    kind = int(attribute.type)
    name = attribute.AttributeType.Name(kind)
    value: Any
    if name in _PLAIN:
        value = _PLAIN[name](attribute)
    elif name == "TENSOR":
        value = _constant(attribute.t, folder)
    elif name == "TENSORS":
        value = tuple(_constant(tensor, folder) for tensor in attribute.tensors)
    elif name == "GRAPH":
        value = _graph(attribute.g, folder)
    elif name == "GRAPHS":
        value = tuple(_graph(graph, folder) for graph in attribute.graphs)
    else:
        value = attribute.SerializeToString(deterministic=True)
    return Attribute(attribute.name, kind, value)


def _constant(tensor: Any, folder: Path) -> Constant:
    element_type = ELEMENT_TYPES.get(tensor.data_type, str(tensor.data_type))
    dims = tuple(int(dim) for dim in tensor.dims)
    if tensor.data_location == _EXTERNAL:
        return Constant(element_type, dims, _outside_digest(_external(tensor), folder))
    if element_type == "string":
        return Constant(element_type, dims, hashlib.sha256(repr(list(tensor.string_data)).encode()).hexdigest())
    raw = tensor.raw_data if tensor.HasField("raw_data") else _packed(tensor)
    ints = small_ints(element_type, raw) if len(raw) <= _SMALL_BYTES else None
    return Constant(element_type, dims, hashlib.sha256(raw).hexdigest(), ints)


def _packed(tensor: Any) -> bytes:
    """Elements kept in typed fields, as the raw bytes they would be."""
    from onnx import numpy_helper  # noqa: PLC0415

    return bytes(numpy_helper.to_array(tensor).tobytes())


def _outside_digest(item: External, folder: Path) -> str:
    hasher = hashlib.sha256()
    with (folder / item.location).open("rb") as stream:
        stream.seek(item.offset)
        left = item.length
        while left is None or left > 0:
            chunk = stream.read(1 << 20 if left is None else min(left, 1 << 20))
            if not chunk:
                break
            hasher.update(chunk)
            left = None if left is None else left - len(chunk)
    return hasher.hexdigest()
