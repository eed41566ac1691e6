"""Takes models apart as the virtual phone's NNAPI does, and runs them whole and apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from android_runner.virtual.nnapi.prepare import Description, prepare
from android_runner.virtual.nnapi.request import Request

ACCELERATOR = ("edge", "accelerator", 31, ())
REFERENCE = ("nnapi-reference", "cpu", 31, ())
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Apart:
    """A prepared model beside its original."""

    original: Path
    folder: Path
    description: Description

    @property
    def file(self) -> Path:
        assert self.description.model, self.description
        return self.folder / self.description.model

    @property
    def partitions(self) -> int:
        return len(self.description.partitions)


def take_apart(
    model: Path,
    folder: Path,
    *flags: str,
    api_level: int = 34,
    devices: Sequence[tuple[Any, ...]] = (ACCELERATOR, REFERENCE),
    level: int = 99,
    dims: Mapping[str, int] | None = None,
) -> Apart:
    folder.mkdir(parents=True, exist_ok=True)
    request = Request(
        model=str(model),
        model_hash="7",
        api_level=api_level,
        flags=tuple(f"NNAPI_FLAG_{flag}" for flag in flags),
        devices=tuple((*device, ())[:5] for device in devices),
        level=level,
        dims_by_name=dict(dims or {}),
        dims_by_denotation={},
        config={},
        custom_ops="",
    )
    return Apart(model, folder, prepare(request, folder))


def session(model: Path, *, level: int = 99, profile: Path | None = None, threads: int = 1) -> Any:
    """A session as the stand-in makes it on an ARM phone."""
    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel(level)
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.add_session_config_entry("optimization.disable_specified_optimizers", "NchwcTransformer")
    options.add_session_config_entry("session.enable_saved_runtime_optimizations", "1")
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile)
    return runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def feeds_for(model: Path, seed: int = 5) -> dict[str, Array]:
    """Numbers around zero for every float input, small whole ones for the others."""
    rng = np.random.default_rng(seed)
    fed: dict[str, Array] = {}
    for one in session(model, level=0).get_inputs():
        shape = [dim if isinstance(dim, int) else 1 for dim in one.shape]
        if one.type == "tensor(float)":
            fed[one.name] = rng.standard_normal(shape).astype(np.float32)
        elif one.type == "tensor(bool)":
            fed[one.name] = np.ones(shape, np.bool_)
        else:
            fed[one.name] = rng.integers(0, 3, shape).astype({"tensor(int64)": np.int64}[one.type])
    return fed


def run(model: Path, fed: Mapping[str, Array], *, level: int = 99) -> list[Array]:
    results: list[Array] = session(model, level=level).run(None, dict(fed))
    return results


def convert(model: Path, target: Path, *, level: int, runtime_style: bool = False) -> Path:
    """An ORT-format variant; `level` as perf_test's `-o`."""
    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel(level)
    options.log_severity_level = 3
    options.optimized_model_filepath = str(target)
    options.add_session_config_entry("session.save_model_format", "ORT")
    if runtime_style:
        options.add_session_config_entry("optimization.minimal_build_optimizations", "save")
    runtime.InferenceSession(
        str(model), options, providers=["CPUExecutionProvider"], disabled_optimizers=["NchwcTransformer"]
    )
    return target


def operators(model: Path, level: int, folder: Path) -> list[str]:
    """The operators that run, as a session's trace tells them, bodies included."""
    made = session(model, level=level, profile=folder / "operators")
    made.run(None, feeds_for(model))
    trace = Path(made.end_profiling()).read_text(encoding="utf-8")
    found = [line.partition('"op_name" : "')[2].partition('"')[0] for line in trace.splitlines()]
    return [name for name in found if name]


# --- models ----------------------------------------------------------------------------------------------------------


def value(name: str, shape: Sequence[int | str], kind: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def weights(name: str, *shape: int, seed: int = 1) -> Any:
    scale = (2.0 / max(1, int(np.prod(shape[1:])))) ** 0.5
    return numpy_helper.from_array(
        (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32), name
    )


def save(
    path: Path,
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    constants: Sequence[Any] = (),
    *,
    opset: int = 13,
    ir: int = 7,
) -> Path:
    graph = helper.make_graph(list(nodes), "net", list(inputs), list(outputs), list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
    return path


@cache
def light(name: str) -> bytes:
    """One of the onnx package's light models with seeded weights in place of its constants."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    model: Any = onnx.load_model(str(folder / f"light_{name}.onnx"))
    graph = model.graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    rng = np.random.default_rng(11)
    kept, constants = [], dict(held)
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shape = held[node.input[0]].tolist()
            scale = (2.0 / max(1, int(np.prod(shape[1:])))) ** 0.5
            constants[node.output[0]] = (rng.standard_normal(shape) * scale).astype(np.float32)
        else:
            kept.append(node)
    for node in kept:
        if node.op_type == "BatchNormalization":
            for place, base in zip(node.input[1:], (1.0, 0.0, 0.0, 1.0), strict=True):
                noise = rng.standard_normal(constants[place].shape) * 0.05
                constants[place] = (base + noise).astype(np.float32)
    used = {name for node in kept for name in node.input}
    given = [item for item in graph.input if item.name not in constants]
    made = [numpy_helper.from_array(array, place) for place, array in constants.items() if place in used]
    for field, items in (("node", kept), ("initializer", made), ("input", given)):
        del getattr(graph, field)[:]
        getattr(graph, field).extend(items)
    model.ir_version = 7
    return bytes(model.SerializeToString())


def mnist(path: Path) -> Path:
    """The CNTK-style network: 12 nodes."""
    node = helper.make_node
    same: dict[str, Any] = {"auto_pad": "SAME_UPPER", "kernel_shape": [5, 5]}
    nodes = [
        node("Conv", ["x", "w1"], ["c1"], "conv1", **same),
        node("Add", ["c1", "b1"], ["a1"], "add1"),
        node("Relu", ["a1"], ["r1"], "relu1"),
        node("MaxPool", ["r1"], ["p1"], "pool1", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p1", "w2"], ["c2"], "conv2", **same),
        node("Add", ["c2", "b2"], ["a2"], "add2"),
        node("Relu", ["a2"], ["r2"], "relu2"),
        node("MaxPool", ["r2"], ["p2"], "pool2", kernel_shape=[3, 3], strides=[3, 3]),
        node("Reshape", ["w3", "s3"], ["m3"], "reshape_weights"),
        node("Reshape", ["p2", "s2"], ["f2"], "reshape"),
        node("MatMul", ["f2", "m3"], ["d3"], "matmul"),
        node("Add", ["d3", "b3"], ["y"], "add3"),
    ]
    constants = [
        weights("w1", 8, 1, 5, 5), weights("b1", 8, 1, 1), weights("w2", 16, 8, 5, 5), weights("b2", 16, 1, 1),
        weights("w3", 16, 4, 4, 10), weights("b3", 1, 10),
        numpy_helper.from_array(np.array([1, 256], np.int64), "s2"),
        numpy_helper.from_array(np.array([256, 10], np.int64), "s3"),
    ]  # fmt: skip
    return save(path, nodes, [value("x", [1, 1, 28, 28])], [value("y", [1, 10])], constants)
