"""The canary: one tiny model, always the same, whose time before each round tells how the phone itself drifts.

Six layers of MatMul and Relu on 64 × 64 float32, 3.1 million multiply-adds: well under a millisecond on any phone, and
enough of them that a falling clock shows. Its operators are in every build that runs a network.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from orchestrator.variants.inputs import inputs_for
from orchestrator.variants.inspect import load_model
from orchestrator.variants.recipe import InputSet, Model
from orchestrator.variants.shelf import Shelf

NAME = "canary"
ITERATIONS = 2000
"""The same everywhere: what is compared is a phone with itself."""
_FILE = "canary-1.onnx"
"""Of another name when its bytes change."""
_WIDTH, _LAYERS, _SEED = 64, 6, 5
_IR_VERSION, _OPSET = 6, 11


def canary_bytes() -> bytes:
    """The model as an ONNX file's bytes, the same at each call: input `in` and output `out`, both 64 × 64."""
    import numpy as np  # noqa: PLC0415 - once in a home's life
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415

    values = np.random.default_rng(_SEED).standard_normal((_WIDTH, _WIDTH)) * (2.0 / _WIDTH) ** 0.5
    weights: Any = numpy_helper.from_array(values.astype("<f4"), "weights")
    names = ["in", *(f"layer{number}" for number in range(1, _LAYERS)), "out"]
    nodes = []
    for before, after in itertools.pairwise(names):
        nodes.append(helper.make_node("MatMul", [before, "weights"], [f"{after}_product"], f"{after}_product"))
        nodes.append(helper.make_node("Relu", [f"{after}_product"], [after], after))
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [_WIDTH, _WIDTH]) for name in ("in", "out")]
    graph = helper.make_graph(nodes, NAME, ports[:1], ports[1:], [weights])
    model: Any = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
    return bytes(model.SerializeToString(deterministic=True))


def canary_model(folder: Path, inputs: Path, shelf: Shelf) -> tuple[Model, InputSet]:
    """The model's file in `folder`, written where it is missing, and its inputs. Raises UsageError, OSError."""
    path = folder / _FILE
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_bytes(canary_bytes())
        part.replace(path)
    model = load_model(path, shelf=shelf)
    return model, inputs_for(model, inputs, shelf=shelf)
