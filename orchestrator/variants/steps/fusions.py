"""Step `transformer-fusions`: attention, layer normalization and the like, by onnxruntime.transformers."""

from __future__ import annotations

import importlib
from typing import Any

from orchestrator.variants.steps.apply import Bench, NothingToDo

_CONTRIB = "com.microsoft"


def fused(model: Any, _step: str, _bench: Bench) -> Any:
    """The fusions that match by pattern in Python, none of onnxruntime's own levels, for the CPU. The number of heads
    and the width are found in the graph."""
    import onnxruntime.transformers.optimizer  # noqa: F401, PLC0415  puts the folder of the next two on sys.path

    options: Any = importlib.import_module("fusion_options").FusionOptions("bert")
    optimizer: Any = importlib.import_module("onnx_model_bert").BertOnnxModel(model, 0, 0)
    optimizer.disable_shape_inference()  # it needs sympy; without, some fusions of embeddings are left out
    before = _contrib(model)
    optimizer.optimize(options)
    optimizer.topological_sort()
    made = optimizer.model
    if _contrib(made) <= before:
        raise NothingToDo("no pattern of a transformer is in it")
    return made


def _contrib(model: Any) -> int:
    fused_too = ("LayerNormalization", "SkipLayerNormalization")
    return sum(node.domain == _CONTRIB or node.op_type in fused_too for node in model.graph.node)
