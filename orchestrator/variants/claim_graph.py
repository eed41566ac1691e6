"""A variant as NNAPI's claim rules look at it: nodes and shapes, as the phone's runtime has them when it asks.

For `.onnx` that is the graph after the optimizations of level basic, for `.ort` the graph as it is. The shapes come
from a session that has every tensor as an output; nothing is run.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from android_runner.nnapi.casts import rename_casts_below, without_inserted_casts
from android_runner.nnapi.from_onnx import graph_of
from android_runner.nnapi.graph import Graph
from android_runner.nnapi.shapes import expose_all, name_graphs, types_of
from android_runner.ort import ModelFormat
from orchestrator.errors import VariantError
from orchestrator.variants.converter import converter_version, runtime_errors, runtime_words
from orchestrator.variants.read_onnx import bring_inside, external_tensors, parse
from orchestrator.variants.sessions import session

MAX_BYTES = 2**31 - 2**20
"""What a protobuf message may have, and some room for names."""


def claim_graph(path: Path, format_: ModelFormat, custom_ops: Sequence[str] = ()) -> Graph:
    """The graph of a variant's file, with libraries of the custom operators that it may have.

    Raises VariantError where onnxruntime refuses it, or it is over 2 GB.
    """
    try:
        graph = graph_of_plain(plain_model(path, format_, custom_ops), path.resolve().parent, custom_ops)
        return as_asked(graph, format_)
    except runtime_errors() as error:
        raise VariantError(f"{path.name}: onnxruntime {converter_version()}: {runtime_words(error)}") from error


def written_graph(path: Path, format_: ModelFormat, custom_ops: Sequence[str] = ()) -> Graph:
    """The graph as the file has it, every attribute with its value, whether it is said or ONNX's default; no types.

    Raises VariantError where it can't be read.
    """
    import onnx  # noqa: PLC0415 - a third of a second

    try:
        is_onnx = format_ is ModelFormat.ONNX
        model = onnx.load(str(path), load_external_data=False) if is_onnx else plain_model(path, format_, custom_ops)
        _say_defaults(model, onnx.defs)
        return graph_of(model, {})
    except runtime_errors() as error:
        raise VariantError(f"{path.name}: {runtime_words(error)}") from error


def _say_defaults(model: Any, known: Any) -> None:
    """onnxruntime writes defaults out where it has touched a node, exporters do not: so all are said."""
    versions = {"" if item.domain == "ai.onnx" else item.domain: item.version for item in model.opset_import}
    for node in model.graph.node:
        domain = "" if node.domain == "ai.onnx" else node.domain
        try:
            schema = known.get_schema(node.op_type, versions.get(domain, 1), domain)
        except known.SchemaError:  # not ONNX's, or of a later version: onnxruntime has its own LayerNormalization
            continue
        said = {item.name for item in node.attribute}
        node.attribute.extend(
            item.default_value
            for name, item in schema.attributes.items()
            if name not in said and item.default_value.type
        )


def plain_model(path: Path, format_: ModelFormat, custom_ops: Sequence[str] = ()) -> Any:
    """The ModelProto that the claim is about. What lies in files of its own stays there.

    Raises VariantError where it is over 2 GB, onnxruntime's own errors (`converter.runtime_errors`) where it refuses,
    OSError where there is no room.
    """
    import onnx  # noqa: PLC0415 - a third of a second

    size_bytes = _whole_bytes(path) if format_ is ModelFormat.ONNX else 0
    if size_bytes >= MAX_BYTES:  # loading it would take as much memory, for nothing
        raise VariantError(f"{path.name}: {size_bytes} bytes; NNAPI's claim is told of models below 2 GB only")
    level = "ORT_ENABLE_BASIC" if format_ is ModelFormat.ONNX else "ORT_DISABLE_ALL"
    with tempfile.TemporaryDirectory(prefix="orch-graph-") as folder:
        plain = Path(folder) / "plain.onnx"
        try:
            session(str(path), custom_ops, level, save_as=plain)
        except runtime_errors() as error:
            if shutil.disk_usage(folder).free < path.stat().st_size:  # onnxruntime has no word for it
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder) from error
            raise
        plain_bytes = plain.stat().st_size
        model = onnx.load(plain, load_external_data=False)
    name_graphs(model.graph)
    rename_casts_below(model.graph)
    if plain_bytes >= MAX_BYTES:
        raise VariantError(f"{path.name}: {plain_bytes} bytes; NNAPI's claim is told of models below 2 GB only")
    return model


def as_asked(graph: Graph, format_: ModelFormat) -> Graph:
    """A plain model's graph as NNAPI is asked about it: of an `.onnx` before the CPU's Casts around half precision are
    put in; in an `.ort` they lie in the file."""
    return without_inserted_casts(graph) if format_ is ModelFormat.ONNX else graph


def _whole_bytes(path: Path) -> int:
    """The size of an .onnx with its external data. Raises OSError, ValueError."""
    data = path.read_bytes()
    outside = {one.location for one in external_tensors(parse(data))}
    return len(data) + sum((path.resolve().parent / location).stat().st_size for location in outside)


def graph_of_plain(model: Any, folder: Path, custom_ops: Sequence[str] = ()) -> Graph:
    """A ModelProto as NNAPI's claim rules look at it, all shapes told by onnxruntime; `folder` is where its external
    data lies. Raises as `plain_model` does.
    """
    whole = type(model)()
    whole.CopyFrom(model)
    bring_inside(whole, folder)
    expose_all(whole)
    if whole.ByteSize() >= MAX_BYTES:
        raise VariantError(f"{whole.ByteSize()} bytes; NNAPI's claim is told of models below 2 GB only")
    return graph_of(model, types_of(session(whole.SerializeToString(), custom_ops).get_outputs()))
