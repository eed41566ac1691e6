"""What onnxruntime's sessions are asked for, and what they tell: nothing is run.

The settings for ORT format are those of onnxruntime's own converter
(`onnxruntime/tools/convert_onnx_models_to_ort.py`): CPU only, `session.qdqisint8allowed` 0 but for `arm`, and from
`layout` on the NchwcTransformer off but for `amd64`, as its result runs on the converting machine's kind of CPU only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from android_runner.ort import OptimizationLevel, OptimizationStyle, TargetPlatform
from orchestrator.variants.converter import runtime
from orchestrator.variants.recipe import Recipe
from orchestrator.variants.saving import Saving

_LEVELS = {
    OptimizationLevel.DISABLE: "ORT_DISABLE_ALL",
    OptimizationLevel.BASIC: "ORT_ENABLE_BASIC",
    OptimizationLevel.EXTENDED: "ORT_ENABLE_EXTENDED",
    OptimizationLevel.LAYOUT: "ORT_ENABLE_LAYOUT",
    OptimizationLevel.ALL: "ORT_ENABLE_ALL",
}
_HOST_ONLY = {OptimizationLevel.LAYOUT: ("NchwcTransformer",), OptimizationLevel.ALL: ("NchwcTransformer",)}
_NOT_FOR_RUNNING = {"session.disable_prepacking": "1"}
"""Prepared weights are for running."""
_FATAL = 4


def saving_of(source: Path, recipe: Recipe, target: Path) -> Saving:
    """The session that makes `recipe`'s ORT format: the settings of onnxruntime's own converter."""
    level = recipe.level or OptimizationLevel.ALL
    entries = {
        **_NOT_FOR_RUNNING,
        "session.save_model_format": "ORT",
        "session.qdqisint8allowed": "1" if recipe.platform is TargetPlatform.ARM else "0",
    }
    if recipe.style is OptimizationStyle.RUNTIME:
        entries["optimization.minimal_build_optimizations"] = "apply" if recipe.applied else "save"
    nchwc = recipe.platform is TargetPlatform.AMD64
    disabled = () if nchwc else _HOST_ONLY.get(level, ())
    return Saving(source=source, target=target, level=_LEVELS[level], entries=entries, disabled=disabled)


def saving_as_onnx(source: Path, level: OptimizationLevel, target: Path) -> Saving:
    """The session that saves what a level, below layout, makes of a model as ONNX. External data stays outside."""
    entries = {**_NOT_FOR_RUNNING, "session.save_model_format": "ONNX", "session.qdqisint8allowed": "0"}
    return Saving(source=source, target=target, level=_LEVELS[level], entries=entries)


def require_loadable(source: Path, custom_ops: Sequence[str] = ()) -> None:
    """Have onnxruntime make a session of a model as it is. Raises its errors."""
    session(str(source), custom_ops)


def written(model: Any, path: Path) -> Path:
    """Save a ModelProto for a session to load. Raises OSError, and the protobuf package's error above 2 GB."""
    path.write_bytes(model.SerializeToString(deterministic=True))
    return path


def session(
    model: str | bytes, custom_ops: Sequence[str] = (), level: str = "ORT_DISABLE_ALL", save_as: Path | None = None
) -> Any:
    """A session that nothing is run with, of a file or of a ModelProto's bytes, with libraries of custom operators;
    `save_as` has what `level` makes of it, as ONNX. Raises onnxruntime's errors."""
    ort = runtime()
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = 1  # other workers have the other cores
    options.enable_cpu_mem_arena = False
    for key, value in _NOT_FOR_RUNNING.items():
        options.add_session_config_entry(key, value)
    for library in custom_ops:
        options.register_custom_ops_library(library)
    if save_as is not None:
        options.optimized_model_filepath = str(save_as)
        options.add_session_config_entry("session.save_model_format", "ONNX")
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
