"""What tests of steps share: doing a step in this process, running a model, asking NNAPI's rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from android_runner.nnapi.placement import Placement
from orchestrator.variants.steps.apply import Bench, apply_steps
from tests.unit.nnapi import placed

DTYPES = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 11: np.float64}


def copied(model: Any) -> Any:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made


def stepped(model: Any, step: str, scratch: Path, *samples: Path) -> Any:
    """The model after one step, the one that is given left as it is."""
    return apply_steps(copied(model), (step,), Bench(scratch=scratch, samples=samples))


def session(model: Any, level: str = "ORT_DISABLE_ALL") -> Any:
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.intra_op_num_threads = 1
    source = model if isinstance(model, str) else model.SerializeToString()
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def feeds(model: Any, seed: int = 0) -> dict[str, Any]:
    """Seeded values for the inputs that have no initializer."""
    rng = np.random.default_rng(seed)
    held = {tensor.name for tensor in model.graph.initializer}
    made = {}
    for value in model.graph.input:
        if value.name not in held:
            kind = value.type.tensor_type
            shape = [dim.dim_value for dim in kind.shape.dim]
            drawn = rng.standard_normal(shape) * 2 if kind.elem_type in (1, 11) else rng.integers(0, 2, shape)
            made[value.name] = np.asarray(drawn).astype(DTYPES[kind.elem_type])
    return made


def outputs(model: Any, given: dict[str, Any]) -> list[Any]:
    return list(session(model).run(None, given))


def worst_error(one: Any, other: Any, seeds: int = 3) -> float:
    """The largest error of any output, over the largest magnitude there, both models run as they are."""
    worst = 0.0
    for seed in range(seeds):
        given = feeds(one, seed)
        for ours, theirs in zip(outputs(other, given), outputs(one, given), strict=True):
            assert ours.shape == theirs.shape
            assert ours.dtype == theirs.dtype
            scale = max(float(np.abs(theirs).max()), 1e-6)
            worst = max(worst, float(np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max()) / scale)
    return worst


def claimed(model: Any, api_level: int = 30) -> Placement:
    """What NNAPI takes of a model after level basic."""
    return placed.placed(placed.graph(placed.optimized(model.SerializeToString(), "basic")), api_level)


def held(model: Any, name: str) -> Any:
    """An initializer's values."""
    return numpy_helper.to_array(next(tensor for tensor in model.graph.initializer if tensor.name == name))
