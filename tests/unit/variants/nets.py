"""Small networks that tests build variants of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, external_data_helper, helper, numpy_helper, save_model

Shape = Sequence[int | str | None]


def value(name: str, shape: Shape, element_type: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, element_type, shape)


def model_of(
    nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: Sequence[Any] = (), *, opset: int = 13
) -> Any:
    graph = helper.make_graph(nodes, "net", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)


def weights(name: str, *shape: int, seed: int = 1) -> Any:
    return numpy_helper.from_array(np.random.default_rng(seed).standard_normal(shape).astype(np.float32), name)


def save(model: Any, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


def conv_relu(shape: Shape = (1, 1, 8, 8), *, out: Shape = (1, 2, 6, 6)) -> Any:
    """Conv and Relu, which `extended` fuses."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv"), helper.make_node("Relu", ["c"], ["y"], "relu")]
    return model_of(nodes, [value("x", shape)], [value("y", out)], [weights("w", 2, 1, 3, 3)])


def external(folder: Path, location: str = "weights.bin") -> Path:
    """`conv_relu` with its weights in a file of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    model = conv_relu()
    data = model.graph.initializer[0].raw_data
    external_data_helper.set_external_data(model.graph.initializer[0], location, offset=0, length=len(data))
    model.graph.initializer[0].ClearField("raw_data")
    target = folder / location
    if not Path(location).is_absolute() and ".." not in location:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return save(model, folder / "net.onnx")


def model_of_opset(opset: int) -> Any:
    """A model that says it needs this opset."""
    node = helper.make_node("Relu", ["x"], ["y"])
    return model_of([node], [value("x", (1,))], [value("y", (1,))], opset=opset)


def quantized() -> Any:
    """A QDQ convolution, on which the levels above basic differ."""
    scale = numpy_helper.from_array(np.float32(0.1), "scale")
    zero = numpy_helper.from_array(np.uint8(128), "zero")
    kernel = numpy_helper.from_array(
        np.random.default_rng(3).integers(0, 255, (4, 3, 3, 3), dtype=np.uint8, endpoint=True), "kernel"
    )
    make = helper.make_node
    nodes = [
        make("QuantizeLinear", ["x", "scale", "zero"], ["xq"], "q0"),
        make("DequantizeLinear", ["xq", "scale", "zero"], ["xd"], "d0"),
        make("DequantizeLinear", ["kernel", "scale", "zero"], ["kd"], "d1"),
        make("Conv", ["xd", "kd"], ["c"], "conv"),
        make("QuantizeLinear", ["c", "scale", "zero"], ["yq"], "q1"),
        make("DequantizeLinear", ["yq", "scale", "zero"], ["y"], "d2"),
    ]
    return model_of(nodes, [value("x", (1, 3, 8, 8))], [value("y", (1, 4, 6, 6))], [scale, zero, kernel])


def embedding(batch: int | str | None = "batch") -> Any:
    """Token ids through a table of 50 rows, added to a mask's float: what language models begin with."""
    make = helper.make_node
    nodes = [
        make("Gather", ["table", "input_ids"], ["e"], "gather"),
        make("Cast", ["attention_mask"], ["m"], "cast", to=TensorProto.FLOAT),
        make("Unsqueeze", ["m", "axes"], ["u"], "unsqueeze"),
        make("Mul", ["e", "u"], ["y"], "mul"),
    ]
    axes = numpy_helper.from_array(np.array([2], np.int64), "axes")
    ids = [value(name, (batch, 6), TensorProto.INT64) for name in ("input_ids", "attention_mask")]
    return model_of(nodes, ids, [value("y", (batch, 6, 4))], [weights("table", 50, 4), axes])


def branching() -> Any:
    """An `If` whose branches take a value from outside."""
    make = helper.make_node
    then = helper.make_graph([make("Relu", ["x"], ["t"], "relu")], "then", [], [value("t", (3,))])
    other = helper.make_graph([make("Neg", ["x"], ["e"], "neg")], "else", [], [value("e", (3,))])
    node = make("If", ["condition"], ["y"], "if", then_branch=then, else_branch=other)
    return model_of([node], [value("condition", (), TensorProto.BOOL), value("x", (3,))], [value("y", (3,))])


def save_external(model: Any, path: Path) -> Path:
    """Save with all weights in `path`'s name plus `.data`, as exporters do."""
    save_model(model, str(path), save_as_external_data=True, location=path.name + ".data", size_threshold=0)
    return path


def huge(folder: Path) -> Path:
    """A MatMul whose weights are 2.1 GB of nothing in a sparse file."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, columns = 1024, 561_524
    size = 4 * rows * columns
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[rows, columns])
    tensor.data_location = TensorProto.EXTERNAL
    for key, text in (("location", "huge.bin"), ("offset", "0"), ("length", str(size))):
        tensor.external_data.add(key=key, value=text)
    node = helper.make_node("MatMul", ["x", "w"], ["y"], "matmul")
    model = model_of([node], [value("x", (1, rows))], [value("y", (1, columns))], [tensor])
    with (folder / "huge.bin").open("wb") as stream:
        stream.truncate(size)
    return save(model, folder / "huge.onnx")


def with_function() -> Any:
    """A model with a function of its own in a domain of its own: nobody else has to bring it."""
    opset = helper.make_opsetid("", 15)
    body = [helper.make_node("Relu", ["a"], ["b"])]
    function = helper.make_function("own.words", "Same", ["a"], ["b"], body, [opset])
    node = helper.make_node("Same", ["x"], ["y"], "same", domain="own.words")
    graph = helper.make_graph([node], "net", [value("x", (3,))], [value("y", (3,))])
    imports = [opset, helper.make_opsetid("own.words", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=[function])
