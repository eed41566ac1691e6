"""Step `fp16`: half precision inside, inputs and outputs as they were; onnxruntime's own tool does it."""

from __future__ import annotations

import importlib
from typing import Any

from orchestrator.errors import VariantError
from orchestrator.variants.steps.apply import Bench, NothingToDo

_FLOAT, _HALF = 1, 10


def to_half(model: Any, _step: str, _bench: Bench) -> Any:
    """float32 becomes float16 wherever onnxruntime has kernels for it, with Casts at the borders."""
    tool: Any = importlib.import_module("onnxruntime.transformers.float16")
    if not any(tensor.data_type == _FLOAT for tensor in model.graph.initializer):
        raise NothingToDo("no float32 weight to make half as wide")
    if any(node.op_type in ("QuantizeLinear", "DequantizeLinear") for node in model.graph.node):
        raise VariantError("the model is quantized: its scales have to stay in float32")
    made: Any = tool.convert_float_to_float16(model, keep_io_types=True)
    if not any(tensor.data_type == _HALF for tensor in made.graph.initializer):
        raise VariantError("no float32 weight can be changed: they are among the inputs, or feed what stays in float32")
    return made
