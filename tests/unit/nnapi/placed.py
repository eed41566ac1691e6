"""From a model's bytes to its placement: optimized by ONNX Runtime, all shapes asked of it, then the claim rules."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from android_runner.nnapi.claim import claim
from android_runner.nnapi.from_onnx import graph_of
from android_runner.nnapi.graph import Graph
from android_runner.nnapi.placement import Placement
from android_runner.nnapi.shapes import expose_all, types_of
from android_runner.nnapi.target import NnapiTarget
from android_runner.ort import NnapiFlag
from orchestrator.variants import samples

LIGHT = ("shufflenet", "resnet50", "densenet121", "inception_v2")
_LEVELS = {"basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED", "disable": "ORT_DISABLE_ALL"}


def optimized(data: bytes, level: str) -> Any:
    """The model as ONNX Runtime saves it at a level, for any machine."""
    with TemporaryDirectory() as folder:
        saved = Path(folder) / "model.onnx"
        _session(data, level, saved)
        return onnx.load_model(str(saved))


def _session(data: bytes, level: str, saved: Path | None = None) -> Any:
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, _LEVELS[level])
    options.intra_op_num_threads = 1
    if saved is not None:
        options.optimized_model_filepath = str(saved)
    return onnxruntime.InferenceSession(
        data, options, providers=["CPUExecutionProvider"], disabled_optimizers=["NchwcTransformer"]
    )


def graph(model: Any) -> Graph:
    """The graph with all shapes, nothing run."""
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    expose_all(exposed)
    return graph_of(model, types_of(_session(exposed.SerializeToString(), "disable").get_outputs()))


@cache
def known(name: str, level: str) -> Graph:
    """One of the samples or of the onnx package's light models, with seeded weights, at a level."""
    return graph(known_model(name, level))


@cache
def known_model(name: str, level: str) -> Any:
    """`known` as ModelProto: not to be changed."""
    made = {"mnist": samples.mnist, "squeezenet": samples.squeezenet}
    return optimized(made[name]() if name in made else seeded(name), level)


def seeded(name: str) -> bytes:
    """A light model of the onnx package, its ConstantOfShape weights replaced by seeded ones."""
    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"
    model: Any = onnx.load_model(str(path))
    graph = model.graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    filled = {n.output[0]: held[n.input[0]].tolist() for n in graph.node if n.op_type == "ConstantOfShape"}
    rng = np.random.default_rng(0)
    fresh = [
        numpy_helper.from_array((rng.random(shape, np.float32) + 0.1) / max(1, int(np.prod(shape[1:]))), weight)
        for weight, shape in filled.items()
    ]
    kept = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    constants = [*(tensor for tensor in graph.initializer if not tensor.name.endswith("__SHAPE")), *fresh]
    given = [value for value in graph.input if value.name not in held]
    for field, items in (("node", kept), ("initializer", constants), ("input", given)):
        del getattr(graph, field)[:]
        getattr(graph, field).extend(items)
    model.ir_version = 7
    return bytes(model.SerializeToString())


def placed(graph: Graph, api_level: int, *flags: str) -> Placement:
    """The placement on a phone whose devices nobody knows."""
    return claim(graph, NnapiTarget(api_level=api_level, flags=frozenset(map(NnapiFlag, flags))))


def told(graph: Graph, placement: Placement) -> list[list[str]]:
    """The operators of each partition."""
    return [[graph.nodes[at].op_type for at in partition.nodes] for partition in placement.partitions]
