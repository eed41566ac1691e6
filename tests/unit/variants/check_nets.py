"""Nets for `orch model check`: each has one thing wrong with it, and a like one that hasn't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle
from orchestrator.variants.build import build
from orchestrator.variants.inspect import inspect_model
from orchestrator.variants.recipe import Recipe
from tests.unit.variants import nets
from tests.unit.variants.nets import model_of, value, weights

make = helper.make_node
IMAGE = (1, 3, 8, 8)


def chain(*operators: str, shape: nets.Shape = IMAGE, opset: int = 13) -> Any:
    """A convolution, then operators of one input each."""
    nodes = [make("Conv", ["x", "w"], ["v0"], "conv", pads=[1, 1, 1, 1])]
    nodes += [make(op, [f"v{at}"], [f"v{at + 1}"], f"{op.lower()}{at}") for at, op in enumerate(operators)]
    return model_of(
        nodes, [value("x", shape)], [value(f"v{len(operators)}", shape)], [weights("w", 3, 3, 3, 3)], opset=opset
    )


def plain() -> Any:
    """What NNAPI takes whole from API 28 on."""
    return chain("Relu", "Sigmoid", "Relu")


def initializers_in_inputs(ir_version: int) -> Any:
    model = plain()
    model.graph.input.append(value("w", (3, 3, 3, 3)))
    model.ir_version = ir_version
    return model


def residual(operator: str, count: int = 2) -> Any:
    """Two convolutions and their input, joined by Add or Sum."""
    nodes = [
        make("Conv", ["x", "w"], ["a"], "conv0", pads=[1, 1, 1, 1]),
        make("Relu", ["a"], ["b"], "relu0"),
        make(operator, ["b", *["x"] * (count - 1)], ["s"], "join"),
        make("Conv", ["s", "w"], ["c"], "conv1", pads=[1, 1, 1, 1]),
        make("Relu", ["c"], ["y"], "relu1"),
    ]
    return model_of(nodes, [value("x", IMAGE)], [value("y", IMAGE)], [weights("w", 3, 3, 3, 3)])


def quantized(element_type: type) -> Any:
    """A QDQ convolution whose activations and weights are all of one 8-bit type."""
    zero = numpy_helper.from_array(np.array(0 if element_type is np.int8 else 128, element_type), "zero")
    low, high = (-100, 100) if element_type is np.int8 else (0, 255)
    kernel = np.random.default_rng(3).integers(low, high, (3, 3, 3, 3)).astype(element_type)
    constants = [numpy_helper.from_array(np.float32(0.1), "scale"), zero, numpy_helper.from_array(kernel, "kernel")]
    nodes = [
        make("QuantizeLinear", ["x", "scale", "zero"], ["xq"], "q0"),
        make("DequantizeLinear", ["xq", "scale", "zero"], ["xd"], "d0"),
        make("DequantizeLinear", ["kernel", "scale", "zero"], ["kd"], "d1"),
        make("Conv", ["xd", "kd"], ["c"], "conv"),
        make("QuantizeLinear", ["c", "scale", "zero"], ["yq"], "q1"),
        make("DequantizeLinear", ["yq", "scale", "zero"], ["y"], "d2"),
    ]
    return model_of(nodes, [value("x", IMAGE)], [value("y", (1, 3, 6, 6))], constants)


def dynamically_quantized() -> Any:
    constants = [numpy_helper.from_array(np.ones((8, 4), np.uint8), "b")]
    nodes = [
        make("DynamicQuantizeLinear", ["x"], ["q", "s", "z"], "dynamic"),
        make("MatMulInteger", ["q", "b", "z"], ["i"], "product"),
        make("Cast", ["i"], ["y"], "cast", to=TensorProto.FLOAT),
    ]
    return model_of(nodes, [value("x", (2, 8))], [value("y", (2, 4))], constants)


def half() -> Any:
    """All in float16."""
    kernel = numpy_helper.from_array(np.ones((3, 3, 1, 1), np.float16), "w")
    nodes = [make("Conv", ["x", "w"], ["a"], "conv"), make("Relu", ["a"], ["y"], "relu")]
    ports = [value(name, IMAGE, TensorProto.FLOAT16) for name in "xy"]
    return model_of(nodes, ports[:1], ports[1:], [kernel])


def without_kernel() -> Any:
    """onnxruntime's CPU provider has Relu for no int16, and Sigmoid for none either."""
    nodes = [
        make("Relu", ["x"], ["a"], "relu_of_int16"),
        make("Cast", ["a"], ["b"], "cast", to=TensorProto.FLOAT),
        make("Relu", ["b"], ["y"], "relu_of_float"),
    ]
    return model_of(nodes, [value("x", (4,), TensorProto.INT16)], [value("y", (4,))], opset=14)


def without_kernel_below() -> Any:
    """The same within an If."""
    then = helper.make_graph([make("Relu", ["x"], ["t"], "deep")], "then", [], [value("t", (4,), TensorProto.INT16)])
    other = helper.make_graph(
        [make("Identity", ["x"], ["e"], "same")], "else", [], [value("e", (4,), TensorProto.INT16)]
    )
    node = make("If", ["condition"], ["y"], "if", then_branch=then, else_branch=other)
    ports = [value("condition", (), TensorProto.BOOL), value("x", (4,), TensorProto.INT16)]
    return model_of([node], ports, [value("y", (4,), TensorProto.INT16)], opset=14)


def with_weights(*smalls: float) -> Any:
    """`plain` with these among its weights."""
    model = plain()
    array = numpy_helper.to_array(model.graph.initializer[0]).copy()
    array.reshape(-1)[: len(smalls)] = np.array(smalls, np.float32)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(array, "w"))
    return model


def tf_style(*, undone: bool) -> Any:
    """A Transpose at the input and one before a Reshape; `undone`: two around a Relu, which level basic takes away."""
    nodes = [
        make("Transpose", ["x"], ["t"], "to_nchw", perm=[0, 3, 1, 2]),
        make("Conv", ["t", "w"], ["a"], "conv", pads=[1, 1, 1, 1]),
        make("Transpose", ["a"], ["n"], "to_nhwc", perm=[0, 2, 3, 1]),
        make("Reshape", ["n", "flat"], ["f"], "reshape"),
        make("Relu", ["f"], ["y"], "last"),
    ]
    if undone:
        nodes = [
            make("Conv", ["x", "w"], ["a"], "conv", pads=[1, 1, 1, 1]),
            make("Transpose", ["a"], ["t"], "to_nhwc", perm=[0, 2, 3, 1]),
            make("Relu", ["t"], ["r"], "relu"),
            make("Transpose", ["r"], ["y"], "to_nchw", perm=[0, 3, 1, 2]),
        ]
    shape, out = (IMAGE, IMAGE) if undone else ((1, 8, 8, 3), (1, 192))
    flat = numpy_helper.from_array(np.array([1, 192], np.int64), "flat")
    return model_of(nodes, [value("x", shape)], [value("y", out)], [weights("w", 3, 3, 3, 3), flat])


def branches(count: int) -> Any:
    """Equal convolutions side by side, joined."""
    kernels = [weights(f"w{at}", 3, 3, 3, 3, seed=at) for at in range(count)]
    nodes = [make("Conv", ["x", f"w{at}"], [f"b{at}"], f"branch{at}", pads=[1, 1, 1, 1]) for at in range(count)]
    nodes.append(make("Concat", [f"b{at}" for at in range(count)], ["y"], "join", axis=1))
    return model_of(nodes, [value("x", IMAGE)], [value("y", (1, 3 * count, 8, 8))], kernels)


def boxes() -> Any:
    """Detection's end: NonMaxSuppression, whose output's shape depends on values, and an operator behind it."""
    nodes = [
        make("Relu", ["b"], ["r"], "relu"),
        make("NonMaxSuppression", ["r", "s"], ["n"], "nms"),
        make("Cast", ["n"], ["y"], "cast", to=TensorProto.FLOAT),
    ]
    ports = [value("b", (1, 6, 4)), value("s", (1, 1, 6))]
    return model_of(nodes, ports, [value("y", (None, 3))])


def shapes_from_data() -> Any:
    nodes = [
        make("NonZero", ["x"], ["n"], "nonzero"),
        make("Cast", ["n"], ["f"], "cast", to=1),
        make("Relu", ["f"], ["y"], "relu"),
    ]
    return model_of(nodes, [value("x", (3, 3))], [value("y", (2, None))])


def only_newer() -> Any:
    """Elu needs API 30, Exp 29."""
    return chain("Relu", "Exp", "Elu", "Relu")


def foreign() -> Any:
    model = plain()
    model.graph.node[1].domain = "com.example"
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    return model


def undeclared() -> Any:
    model = plain()
    model.graph.node[1].input[0] = "nowhere"
    return model


def cyclic() -> Any:
    model = chain("Relu", "Relu")
    model.graph.node[1].input[0] = "v2"
    return model


def converted(model: Any, folder: Path, level: OptimizationLevel) -> Path:
    """ORT format of a level, beside its source."""
    for name in ("files", "scratch"):
        (folder / name).mkdir(parents=True)
    source = inspect_model(nets.save(model, folder / "source.onnx"))
    recipe = Recipe(format=ModelFormat.ORT, level=level, style=OptimizationStyle.FIXED)
    build(source, recipe, (), folder / "files", folder / "scratch")
    return folder / "files" / "model.ort"


def huge(folder: Path) -> Path:
    """Over 2 GB, all but a few bytes of it a hole in its file."""
    model = plain()
    tensor = model.graph.initializer[0]
    count = 2**29 + 9
    tensor.CopyFrom(onnx.TensorProto(name="w", data_type=1, dims=[count]))
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="holes.bin")
    tensor.external_data.add(key="length", value=str(count * 4))
    with (folder / "holes.bin").open("wb") as stream:
        stream.truncate(count * 4)
    return nets.save(model, folder / "huge.onnx")
