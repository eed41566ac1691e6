"""Saves the partitioned graph so that the timed session treats what is left outside as a phone's ONNX Runtime does.

An `.onnx` stays ONNX: the session applies the asked level to the rest. An `.ort` becomes ORT format again, whose loader
optimizes next to nothing; where the original carried saved runtime optimizations, onnxruntime saves them anew, now of
the rest alone, and its own rules on version, key and level decide on replaying them.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import onnx

from android_runner.virtual.nnapi.source import RUNTIME, LoadSettings, session_options


def has_saved_optimizations(path: Path) -> bool:
    """Whether an ORT-format model carries runtime optimizations (table `RuntimeOptimizations` of its main graph)."""
    import_module("onnxruntime.tools.ort_format_model")  # puts the next one's folder on the path
    tables: Any = import_module("ort_flatbuffers_py.fbs.InferenceSession")
    graph = tables.InferenceSession.GetRootAs(path.read_bytes(), 0).Model().Graph()
    records = graph.RuntimeOptimizations()
    return records is not None and records.RecordsLength() > 0


def save(model: onnx.ModelProto, original: Path, settings: LoadSettings, folder: Path) -> Path:
    """Write the model into `folder` in the original's format and return the file."""
    target = folder / f"model{original.suffix}"
    if original.suffix == ".onnx":
        onnx.save(model, str(target))
        return target
    levels = RUNTIME.GraphOptimizationLevel
    records = has_saved_optimizations(original)
    options = session_options(
        LoadSettings(level=0, custom_ops=settings.custom_ops),
        levels.ORT_ENABLE_ALL if records else levels.ORT_DISABLE_ALL,
    )
    options.optimized_model_filepath = str(target)
    options.add_session_config_entry("session.save_model_format", "ORT")
    if records:
        options.add_session_config_entry("optimization.minimal_build_optimizations", "save")
        options.add_session_config_entry("session.qdqisint8allowed", "1")
    RUNTIME.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"], disabled_optimizers=["NchwcTransformer"]
    )
    return target
