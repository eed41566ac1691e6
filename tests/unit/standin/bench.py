"""The folder in which the recorded commands ran, rebuilt: `perf`, `bin/libonnxruntime.so` and the models in `m/`."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from android_runner.capabilities import CommandDialect
from android_runner.virtual.perf_test.build import build_standin

SEED = 20210


@dataclass(frozen=True)
class Bench:
    """A folder like the phone's, and what to write before a command so that it finds this one."""

    directory: Path

    def fresh(self, target: Path) -> Path:
        """A copy to run in: links to the program, the library and the models."""
        shutil.copytree(self.directory, target, copy_function=os.link)
        return target


def write_models(directory: Path) -> None:
    """The models that the recorded commands name, with seeded weights."""
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(SEED)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array((rng.standard_normal(shape) * 0.1).astype("float32"), name)

    def save(graph: onnx.GraphProto, name: str) -> None:
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, directory / name)

    weights = [
        weight("W1", 8, 1, 5, 5),
        weight("B1", 8),
        weight("W2", 16, 8, 5, 5),
        weight("B2", 16),
        weight("W3", 784, 10),
        weight("B3", 10),
    ]
    convolution = {"kernel_shape": [5, 5], "auto_pad": "SAME_UPPER"}
    pooling = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        helper.make_node("Conv", ["x", "W1", "B1"], ["c1"], name="conv1", **convolution),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
        helper.make_node("MaxPool", ["r1"], ["p1"], name="pool1", **pooling),
        helper.make_node("Conv", ["p1", "W2", "B2"], ["c2"], name="conv2", **convolution),
        helper.make_node("Relu", ["c2"], ["r2"], name="relu2"),
        helper.make_node("MaxPool", ["r2"], ["p2"], name="pool2", **pooling),
        helper.make_node("Flatten", ["p2"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "W3", "B3"], ["y"], name="gemm"),
    ]
    for batch, name in ((1, "mnist.onnx"), ("batch", "mnist_dyn.onnx")):
        ins = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 1, 28, 28])]
        outs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 10])]
        save(helper.make_graph(nodes, "mnist", ins, outs, weights), name)
    shape = numpy_helper.from_array(np.array([-1, 7], dtype="int64"), "shape")
    reshape = helper.make_node("Reshape", ["x", "shape"], ["y"], name="bad_reshape")
    ins = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])]
    outs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 7])]
    save(helper.make_graph([reshape], "runfail", ins, outs, [shape]), "runfail.onnx")
    whole = (directory / "mnist.onnx").read_bytes()
    (directory / "truncated.onnx").write_bytes(whole[: len(whole) // 2])
    (directory / "garbage.ort").write_bytes(rng.integers(0, 256, 4096, dtype="uint8").tobytes())
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(directory / "mnist.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(directory / "mnist.onnx", options, providers=["CPUExecutionProvider"])


def build_bench(
    directory: Path,
    models: Path,
    *,
    program: Path | None = None,
    library: Path | None = None,
    dialect: CommandDialect = CommandDialect.MID,
) -> Bench:
    """A bench with the stand-in of a dialect, or with a given program and the library that it asks for."""
    (directory / "bin").mkdir(parents=True)
    if program is None or library is None:
        program, library = build_standin(directory.with_name(f"{directory.name}-built"), dialect)
    shutil.copy2(program, directory / "perf")
    shutil.copyfile(library, directory / "bin" / "libonnxruntime.so")
    shutil.copytree(models, directory / "m")
    return Bench(directory)
