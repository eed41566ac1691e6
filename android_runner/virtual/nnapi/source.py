"""The graph as ONNX Runtime has it when it asks execution providers what they claim, and the types of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as _onnxruntime

from android_runner.nnapi.casts import rename_casts_below
from android_runner.nnapi.shapes import expose_all, name_graphs, types_of

RUNTIME: Any = _onnxruntime
"""onnxruntime, whose names are not exported as a type checker wants them."""
MAX_MODEL_BYTES = (1 << 31) - 1
"""What a protobuf, and so a graph that is put together here, can hold."""
_NOT_FOR_PREPARING = ("session.save_model_format", "optimization.minimal_build_optimizations", "ep.context")
_ERRORS_ONLY = 3


class Unloadable(Exception):
    """ONNX Runtime can't make a session from the model; whoever loads it himself gets the words."""


class TooLarge(Exception):
    """The graph doesn't fit into one protobuf."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """What of a perf_test command line decides on the graph before it is partitioned.

    `level` as perf_test's `-o`; `dims_by_name` and `dims_by_denotation` as `-f` and `-F`; `config` as `-C`.
    """

    level: int
    dims_by_name: Mapping[str, int] = field(default_factory=dict)
    dims_by_denotation: Mapping[str, int] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    custom_ops: str = ""


def session_options(settings: LoadSettings, level: Any) -> Any:
    """Options of a quiet session at an onnxruntime level, with what the command line sets."""
    options = RUNTIME.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = _ERRORS_ONLY
    options.intra_op_num_threads = 1  # other phones may be measuring
    for name, value in settings.dims_by_name.items():
        options.add_free_dimension_override_by_name(name, value)
    for name, value in settings.dims_by_denotation.items():
        options.add_free_dimension_override_by_denotation(name, value)
    for key, text in settings.config.items():
        if not key.startswith(_NOT_FOR_PREPARING):
            options.add_session_config_entry(key, text)
    if settings.custom_ops:
        options.register_custom_ops_library(settings.custom_ops)
    return options


def graph_before_partitioning(path: Path, settings: LoadSettings, scratch: Path) -> onnx.ModelProto:
    """The model as execution providers see it; raises `Unloadable` and `TooLarge`.

    An `.onnx` has gone through the level-1 optimizers by then (unless `-o 0`), an `.ort` is as it was saved
    (`core/session/inference_session.cc`, `core/framework/graph_partitioner.cc`). `scratch` gets a file.
    """
    if _bytes_with_external(path) > MAX_MODEL_BYTES:
        raise TooLarge
    levels = RUNTIME.GraphOptimizationLevel
    basic = path.suffix == ".onnx" and settings.level >= 1
    options = session_options(settings, levels.ORT_ENABLE_BASIC if basic else levels.ORT_DISABLE_ALL)
    saved = scratch / "seen.onnx"
    options.optimized_model_filepath = str(saved)
    options.add_session_config_entry("session.save_model_format", "ONNX")
    try:
        RUNTIME.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise Unloadable(str(error)) from error
    model = onnx.load(str(saved))
    saved.unlink()
    name_graphs(model.graph)
    rename_casts_below(model.graph)
    return model


def _bytes_with_external(path: Path) -> int:
    """Bytes of a model and of what may be its external data: every file beside it whose name begins with its own."""
    beside = (file for file in path.parent.iterdir() if file.name.startswith(path.stem) and file.is_file())
    return sum(file.stat().st_size for file in beside)


def tensor_types(model: onnx.ModelProto, settings: LoadSettings) -> dict[str, tuple[int, tuple[int, ...] | None]]:
    """Element type and dims (-1: unknown) of every tensor of the main graph, from a session that runs nothing."""
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    expose_all(exposed)
    levels = RUNTIME.GraphOptimizationLevel
    options = session_options(settings, levels.ORT_DISABLE_ALL)
    session = RUNTIME.InferenceSession(exposed.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(types_of([*session.get_inputs(), *session.get_overridable_initializers(), *session.get_outputs()]))
