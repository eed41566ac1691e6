"""Read `.ort` files: ORT's flatbuffer, by the schema's own generated reader that ships with onnxruntime.

Chosen over saving the file again as ONNX: that costs a session, and loses the saved runtime optimizations. The reader
checks no bounds, so damage shows as the errors of `struct` and numpy; all of them come out as ValueError.
"""

from __future__ import annotations

import hashlib
import importlib
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from orchestrator.variants.graph import ELEMENT_TYPES, Attribute, Constant, Graph, Node, Port, Record

FILE_ID = b"ORTM"
_FILE_ID_AT = 4
_SMALL_INTS = 64
_DAMAGE = (struct.error, IndexError, TypeError, AttributeError, UnicodeDecodeError, OverflowError, MemoryError)

_Read = TypeVar("_Read")
(_FLOAT, _INT, _STRING, _TENSOR, _GRAPH, _FLOATS, _INTS, _STRINGS, _TENSORS, _GRAPHS) = range(1, 11)
_DIM_VALUE, _DIM_PARAM = 1, 2
_TENSOR_TYPE = 1


@dataclass(frozen=True, slots=True)
class OrtFile:
    """What an `.ort` file says. `opsets` maps a domain (empty: ai.onnx) to its version."""

    ort_format: int
    ir_version: int
    opsets: Mapping[str, int]
    graph: Graph


def is_ort(head: bytes) -> bool:
    """Whether a file that begins with `head` (8 bytes or more) is ORT format: its file identifier is `ORTM`."""
    return head[_FILE_ID_AT : _FILE_ID_AT + len(FILE_ID)] == FILE_ID


def read_ort_format(data: Any) -> int:
    """The format version of an `.ort` file's bytes. Raises ValueError where it is none or damaged."""
    return _guarded(lambda: int(_text(_session(data).OrtVersion())))


def read_ort(data: Any) -> OrtFile:
    """Read an `.ort` file's bytes (or a memory map of them). Raises ValueError where it is none or damaged."""
    return _guarded(lambda: _read(data))


def tensor_types(data: Any) -> set[str]:
    """Element types of the main graph's tensors (`float16`); those that are no tensors left out. Raises ValueError."""
    return _guarded(lambda: _tensor_types(_session(data).Model().Graph()))


def _tensor_types(table: Any) -> set[str]:
    types = {_text(arg.Name()): arg for arg in _each(table, "NodeArgs")}
    held = {ELEMENT_TYPES.get(item.DataType(), "") for item in _each(table, "Initializers")}
    return (held | {_port(name, types).element_type for name in types}) - {""}


def _guarded(read: Callable[[], _Read]) -> _Read:
    try:
        return read()
    except _DAMAGE as error:
        raise ValueError(f"damaged or cut off: {error}") from error


def _session(data: Any) -> Any:
    if not is_ort(data[: _FILE_ID_AT + len(FILE_ID)]):
        raise ValueError("not an ORT format file")
    importlib.import_module("onnxruntime.tools.ort_format_model")  # puts the generated reader's folder on sys.path
    reader: Any = importlib.import_module("ort_flatbuffers_py.fbs.InferenceSession")
    return reader.InferenceSession.GetRootAs(data, 0)


def _read(data: Any) -> OrtFile:
    session = _session(data)
    model = session.Model()
    opsets = {_text(item.Domain()): int(item.Version()) for item in _each(model, "OpsetImport")}
    return OrtFile(int(_text(session.OrtVersion())), int(model.IrVersion()), opsets, _graph(model.Graph()))


def _each(table: Any, field: str) -> Iterator[Any]:
    item = getattr(table, field)
    return (item(position) for position in range(getattr(table, f"{field}Length")()))


def _text(raw: bytes | None) -> str:
    return "" if raw is None else raw.decode()


def _texts(table: Any, field: str) -> tuple[str, ...]:
    return tuple(_text(raw) for raw in _each(table, field))


def _graph(table: Any) -> Graph:
    types = {_text(arg.Name()): arg for arg in _each(table, "NodeArgs")}
    constants = {_text(item.Name()): _constant(item) for item in _each(table, "Initializers")}
    constants |= {_text(item.Values().Name()): _sparse(item) for item in _each(table, "SparseInitializers")}
    tables = list(_each(table, "Nodes"))
    at = {node.Index(): position for position, node in enumerate(tables)}
    return Graph(
        inputs=tuple(_port(name, types) for name in _texts(table, "Inputs")),
        outputs=tuple(_port(name, types) for name in _texts(table, "Outputs")),
        initializers=constants,
        nodes=tuple(_node(node) for node in tables),
        records=tuple(_records(table.RuntimeOptimizations(), at)),
    )


def _port(name: str, types: Mapping[str, Any]) -> Port:
    info = types[name].Type() if name in types else None
    if info is None or info.ValueType() != _TENSOR_TYPE:
        return Port(name, "", None)
    value: Any = importlib.import_module("ort_flatbuffers_py.fbs.TensorTypeAndShape").TensorTypeAndShape()
    value.Init(info.Value().Bytes, info.Value().Pos)
    shape = value.Shape()
    dims = None if shape is None else tuple(_dim(dim.Value()) for dim in _each(shape, "Dim"))
    return Port(name, ELEMENT_TYPES.get(value.ElemType(), ""), dims)


def _dim(value: Any) -> int | str | None:
    if value is not None and value.DimType() == _DIM_VALUE and value.DimValue() > 0:
        return int(value.DimValue())
    if value is not None and value.DimType() == _DIM_PARAM:
        return _text(value.DimParam()) or None
    return None


def _constant(tensor: Any) -> Constant:
    dims = tuple(int(dim) for dim in _each(tensor, "Dims"))
    element_type = ELEMENT_TYPES.get(tensor.DataType(), str(tensor.DataType()))
    if tensor.ExternalDataOffset() >= 0:
        raise ValueError("an .ort with external data is not supported")
    if tensor.StringDataLength():
        strings = [bytes(text) for text in _each(tensor, "StringData")]
        return Constant(element_type, dims, hashlib.sha256(repr(strings).encode()).hexdigest())
    raw = tensor.RawDataAsNumpy() if tensor.RawDataLength() else b""
    return Constant(element_type, dims, hashlib.sha256(raw).hexdigest(), small_ints(element_type, bytes(raw[:1024])))


def small_ints(element_type: str, raw: bytes) -> tuple[int, ...] | None:
    """The values of an int32 or int64 tensor of at most 64 elements, given its little-endian bytes; else None."""
    code, width = {"int32": ("i", 4), "int64": ("q", 8)}.get(element_type, ("", 1))
    if not code or len(raw) % width or len(raw) > _SMALL_INTS * width:
        return None
    return struct.unpack(f"<{len(raw) // width}{code}", raw)


def _sparse(tensor: Any) -> Constant:
    values, indices = _constant(tensor.Values()), _constant(tensor.Indices())
    mark = hashlib.sha256(f"{values.digest} {indices.digest}".encode()).hexdigest()
    return Constant(f"sparse {values.element_type}", tuple(int(dim) for dim in _each(tensor, "Dims")), mark)


def _node(node: Any) -> Node:
    return Node(
        domain=_text(node.Domain()),
        operator=_text(node.OpType()),
        version=int(node.SinceVersion()),
        inputs=_texts(node, "Inputs"),
        outputs=_texts(node, "Outputs"),
        attributes=tuple(_attribute(attribute) for attribute in _each(node, "Attributes")),
    )


_VALUES: Mapping[int, Callable[[Any], Any]] = {
    _FLOAT: lambda a: float(a.F()),
    _INT: lambda a: int(a.I()),
    _STRING: lambda a: bytes(a.S() or b""),
    _TENSOR: lambda a: _constant(a.T()),
    _GRAPH: lambda a: _graph(a.G()),
    _FLOATS: lambda a: tuple(float(item) for item in _each(a, "Floats")),
    _INTS: lambda a: tuple(int(item) for item in _each(a, "Ints")),
    _STRINGS: lambda a: tuple(bytes(item) for item in _each(a, "Strings")),
    _TENSORS: lambda a: tuple(_constant(item) for item in _each(a, "Tensors")),
    _GRAPHS: lambda a: tuple(_graph(item) for item in _each(a, "Graphs")),
}


def _attribute(attribute: Any) -> Attribute:
    kind = int(attribute.Type())
    if kind not in _VALUES:
        raise ValueError(f"attribute of unknown type {kind}")
    return Attribute(_text(attribute.Name()), kind, _VALUES[kind](attribute))


def _records(saved: Any, at: Mapping[int, int]) -> Iterator[Record]:
    for entry in _each(saved, "Records") if saved is not None else ():
        optimizer = _text(entry.OptimizerName())
        for record in _each(entry, "RuntimeOptimizationRecords"):
            chosen = record.NodesToOptimizeIndices()
            yield Record(
                optimizer=optimizer,
                action=_text(record.ActionId()),
                nodes=tuple(at.get(int(index)) for index in _each(chosen, "NodeIndices")),
                rest=(
                    int(chosen.NumInputs()),
                    int(chosen.NumOutputs()),
                    bool(chosen.HasVariadicInput()),
                    bool(chosen.HasVariadicOutput()),
                    int(chosen.NumVariadicInputs()),
                    int(chosen.NumVariadicOutputs()),
                ),
                produced=_texts(record, "ProducedOpIds"),
            )
