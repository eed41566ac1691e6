"""Read a model from disk: is it one, can it be used, and what does it want.

All that can be known to be wrong is told before a phone is touched, as UsageError with the file, what and the mend.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from android_runner.ort import ModelFormat, OrtVersion, readable_ort_formats
from orchestrator.digest import digest_of, digest_of_file
from orchestrator.errors import Problem, UsageError
from orchestrator.variants.dims import resolve_dims
from orchestrator.variants.feeds import Feed, feeds_of
from orchestrator.variants.graph import Graph, Port, count_operators, graph_digest
from orchestrator.variants.naming import clean_name, shown
from orchestrator.variants.recipe import Model, Tensor
from orchestrator.variants.rules import MAX_BYTES, require_readable

_SURE_OPSET, _SURE_IR = 22, 10
"""Every onnxruntime that this project installs (>= 1.21) takes these; above, it is asked."""
_EXPORT_AGAIN = "export or copy the model again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A model and what building it and feeding it need to know. `external`: locations of its external data."""

    model: Model
    operators: tuple[tuple[str, int], ...]
    graph_digest: str
    feeds: tuple[Feed, ...]
    external: tuple[str, ...]


class Remembers(Protocol):
    """What keeps inspections: `shelf.Shelf`."""

    def inspect(self, path: Path, reader: OrtVersion | None = None) -> Inspection:
        """`inspect_model`, from memory where the file has not changed."""


def load_model(
    path: Path,
    *,
    dims: Mapping[str, int] | None = None,
    reader: OrtVersion | None = None,
    shelf: Remembers | None = None,
) -> Model:
    """The model at `path`, remembered by `shelf` where one is given.

    `reader` is the version of the binary that is to run it, where that is known; with `dims` it is also checked that
    they fix every dynamic dimension. Raises UsageError for what is missing, empty, cut off, no model, not readable by
    onnxruntime here or by `reader`, keeps data outside its folder, or has dimensions left open.
    """
    model = (inspect_model(path, reader) if shelf is None else shelf.inspect(path, reader)).model
    if dims is not None:
        resolve_dims(model, dims)
    return model


def inspect_model(path: Path, reader: OrtVersion | None = None) -> Inspection:
    """`load_model` with everything that was learned on the way. Raises UsageError."""
    where = shown(path)
    data = _bytes_of(path, where)
    found = _inspect_ort(path, where, data) if _is_ort(data) else _inspect_onnx(path, where, data)
    if reader is not None:
        require_readable(found.model, reader)
    return found


def _is_ort(data: bytes) -> bool:
    return data[4:8] == b"ORTM"


def _bytes_of(path: Path, where: str) -> bytes:
    try:
        if path.is_dir():
            raise UsageError(Problem(where, "is a folder, not a model", "name the .onnx or .ort file in it"))
        if not path.exists():
            raise UsageError(Problem(where, "no such file", "check the path"))
        if not path.is_file():
            raise UsageError(Problem(where, "is no regular file", "name an .onnx or .ort file"))
        size = path.stat().st_size
        if size == 0:
            raise UsageError(Problem(where, "the file is empty", _EXPORT_AGAIN))
        if size > MAX_BYTES:
            raise UsageError(Problem(where, "over 2 GB, no runtime loads it", "save its weights as external data"))
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise UsageError(Problem(where, f"can't be read: {error}", "check the path and its permissions")) from error


def _inspect_ort(path: Path, where: str, data: bytes) -> Inspection:
    from orchestrator.variants.read_ort import read_ort, read_ort_format  # noqa: PLC0415

    try:
        version = read_ort_format(data)
        newest = max(readable_ort_formats(_installed()))
        if version > newest:
            raise UsageError(
                Problem(
                    where,
                    f"ORT format {version} was made for a newer runtime than onnxruntime {_installed()} here",
                    "convert it with an older onnxruntime, or start from the .onnx",
                )
            )
        file = read_ort(data)
        digest = graph_digest(file.graph, ModelFormat.ORT, file.opsets)
    except ValueError as error:
        raise UsageError(Problem(where, f"not a readable .ort file: {error}", _EXPORT_AGAIN)) from error
    model = Model(
        name=clean_name(path.stem),
        path=path,
        format=ModelFormat.ORT,
        digest=hashlib.sha256(data).hexdigest(),
        ir_version=file.ir_version,
        opset=file.opsets.get("", 0),
        inputs=_tensors(where, _given(file.graph)),
        outputs=_tensors(where, file.graph.outputs, need_shape=False),
        node_count=len(file.graph.nodes),
        size_bytes=len(data),
        ort_format=file.ort_format,
    )
    feeds = feeds_of(file.graph, {})
    return Inspection(model=model, operators=count_operators(file.graph), graph_digest=digest, feeds=feeds, external=())


def _inspect_onnx(path: Path, where: str, data: bytes) -> Inspection:
    from orchestrator.variants import read_onnx  # noqa: PLC0415
    from orchestrator.variants.undeclared import require_declared  # noqa: PLC0415

    folder = path.resolve().parent
    try:
        proto = read_onnx.parse(data)
        outside = read_onnx.external_tensors(proto)
        problems = tuple(read_onnx.external_problems(where, folder, outside))
        if problems:
            raise UsageError(*problems)
        graph = read_onnx.read_onnx(proto, folder)
        opsets = read_onnx.opsets_of(proto)
        digest = graph_digest(graph, ModelFormat.ONNX, opsets)
    except ValueError as error:
        raise UsageError(Problem(where, str(error), _EXPORT_AGAIN)) from error
    require_declared(where, proto)
    _require_runtime_takes(where, int(proto.ir_version), opsets)
    locations = tuple(sorted({item.location for item in outside}))
    sizes = [(folder / location).stat().st_size for location in locations]
    model = Model(
        name=clean_name(path.stem),
        path=path,
        format=ModelFormat.ONNX,
        digest=_digest(hashlib.sha256(data).hexdigest(), folder, locations),
        ir_version=int(proto.ir_version),
        opset=opsets.get("", 0),
        inputs=_tensors(where, _given(graph)),
        outputs=_tensors(where, graph.outputs, need_shape=False),
        node_count=len(graph.nodes),
        size_bytes=len(data) + sum(sizes),
    )
    shapes = {value.name: read_onnx.port_of(value).shape for value in proto.graph.value_info}
    return Inspection(
        model=model,
        operators=count_operators(graph),
        graph_digest=digest,
        feeds=feeds_of(graph, shapes),
        external=locations,
    )


def _digest(own: str, folder: Path, locations: tuple[str, ...]) -> str:
    return digest_of([own, [[name, digest_of_file(folder / name)] for name in locations]]) if locations else own


def _given(graph: Graph) -> tuple[Port, ...]:
    """Inputs that must be fed: those with an initializer need not."""
    return tuple(port for port in graph.inputs if port.name not in graph.initializers)


def _tensors(where: str, ports: tuple[Port, ...], *, need_shape: bool = True) -> tuple[Tensor, ...]:
    problems = []
    for port in ports:
        if not port.element_type:
            what = f"{shown(port.name)} is no tensor of a known type"
            problems.append(Problem(where, what, "only tensors can be fed"))
        elif port.shape is None and need_shape:
            mend = "declare its shape (a dynamic dimension may stay) and save the model again"
            problems.append(Problem(where, f"input {shown(port.name)} does not say how many dimensions it has", mend))
    if problems and need_shape:
        raise UsageError(*problems)
    return tuple(Tensor(name=p.name, element_type=p.element_type, shape=p.shape or ()) for p in ports)


def _installed() -> OrtVersion:
    from orchestrator.variants.converter import converter_version  # noqa: PLC0415

    return OrtVersion.parse(converter_version())


def _require_runtime_takes(where: str, ir_version: int, opsets: dict[str, int]) -> None:
    """Ask onnxruntime with a one-node model of the same IR and opset; it has no call that tells its highest."""
    opset = opsets.get("", 1)
    if opset <= _SURE_OPSET and ir_version <= _SURE_IR:
        return
    from onnx import TensorProto, helper  # noqa: PLC0415

    from orchestrator.variants.converter import runtime, runtime_errors, runtime_words  # noqa: PLC0415

    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", ports[:1], ports[1:])
    probe: Any = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
    try:
        runtime().InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    except runtime_errors() as error:
        what = f"opset {opset}, IR {ir_version}: not supported by onnxruntime {_installed()}: {runtime_words(error)}"
        raise UsageError(Problem(where, what, "export for an older opset, or install a newer onnxruntime")) from error
