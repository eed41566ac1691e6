"""Small nets that are no CNNs as the seeds know them: transposes, a transformer's block, control flow, QDQ.

Each is a ModelProto with weights from a seed, of a form that exporters really write: `nhwc` as TensorFlow's exporter
does, `transformer` as PyTorch's did before LayerNormalization and Gelu were operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

_IR_VERSION = 8
_OPSET = 13
_WIDTH, _HEADS, _LENGTH, _WORDS = 64, 4, 16, 100


class _Net:
    """A graph under construction; weights are He-scaled."""

    def __init__(self, seed: int) -> None:
        import numpy as np  # noqa: PLC0415

        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        """A node with one output, which is also its name."""
        from onnx import helper  # noqa: PLC0415

        self.nodes.append(helper.make_node(operator, list(inputs), [output], output, **attributes))
        return output

    def weights(self, name: str, *shape: int, fan_in: int) -> str:
        """Normal values of variance 2 / `fan_in`."""
        return self.constant(name, (self.rng.standard_normal(shape) * (2.0 / fan_in) ** 0.5).astype("<f4"))

    def near(self, name: str, *shape: int, centre: float = 0.0) -> str:
        """Values about `centre`, 0.1 apart."""
        return self.constant(name, (centre + 0.1 * self.rng.standard_normal(shape)).astype("<f4"))

    def constant(self, name: str, value: Any, kind: str = "") -> str:
        """An initializer; `kind` is numpy's name of its type where `value` is no array."""
        import numpy as np  # noqa: PLC0415
        from onnx import numpy_helper  # noqa: PLC0415

        self.constants.append(numpy_helper.from_array(np.asarray(value, kind or None), name))
        return name

    def model(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """The finished ModelProto."""
        from onnx import helper  # noqa: PLC0415

        graph = helper.make_graph(self.nodes, "net", list(inputs), list(outputs), self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)


def _port(name: str, *shape: int, kind: str = "FLOAT") -> Any:
    from onnx import TensorProto, helper  # noqa: PLC0415

    return helper.make_tensor_value_info(name, getattr(TensorProto, kind), list(shape))


def nhwc(seed: int) -> Any:
    """Input `image` 1x32x32x3; every convolution stands between two Transposes, biases and scales are added between
    them along the last axis. Output `probabilities` 1x10."""
    net = _Net(seed)
    value, channels = "image", 3
    for layer, (more, stride) in enumerate(((16, 2), (32, 2), (32, 1))):
        name = f"layer{layer}"
        before = net.add("Transpose", [value], f"{name}/nchw", perm=[0, 3, 1, 2])
        kernel = net.weights(f"{name}/kernel", more, channels, 3, 3, fan_in=9 * channels)
        conv = net.add(
            "Conv", [before, kernel], f"{name}/conv", strides=[stride, stride], pads=[1, 1, 1, 1], kernel_shape=[3, 3]
        )
        after = net.add("Transpose", [conv], f"{name}/nhwc", perm=[0, 2, 3, 1])
        scaled = net.add("Mul", [after, net.near(f"{name}/gamma", more, centre=1.0)], f"{name}/scaled")
        biased = net.add("Add", [scaled, net.near(f"{name}/beta", more)], f"{name}/biased")
        value, channels = net.add("Relu", [biased], f"{name}/relu"), more
    before = net.add("Transpose", [value], "pool/nchw", perm=[0, 3, 1, 2])
    pooled = net.add("MaxPool", [before], "pool/max", kernel_shape=[2, 2], strides=[2, 2])
    after = net.add("Transpose", [pooled], "pool/nhwc", perm=[0, 2, 3, 1])
    mean = net.add("ReduceMean", [after], "mean", axes=[1, 2], keepdims=0)
    logits = net.add("MatMul", [mean, net.weights("dense/kernel", channels, 10, fan_in=channels)], "dense")
    net.add("Add", [logits, net.near("dense/bias", 10)], "logits")
    net.add("Softmax", ["logits"], "probabilities", axis=-1)
    return net.model([_port("image", 1, 32, 32, 3)], [_port("probabilities", 1, 10)])


def _layer_norm(net: _Net, value: str, name: str) -> str:
    mean = net.add("ReduceMean", [value], f"{name}/mean", axes=[-1])
    centred = net.add("Sub", [value, mean], f"{name}/centred")
    squared = net.add("Pow", [centred, net.constant(f"{name}/two", 2.0, "f4")], f"{name}/squared")
    variance = net.add("ReduceMean", [squared], f"{name}/variance", axes=[-1])
    safe = net.add("Add", [variance, net.constant(f"{name}/epsilon", 1e-5, "f4")], f"{name}/safe")
    deviation = net.add("Sqrt", [safe], f"{name}/deviation")
    normal = net.add("Div", [centred, deviation], f"{name}/normal")
    scaled = net.add("Mul", [normal, net.near(f"{name}/gamma", _WIDTH, centre=1.0)], f"{name}/scaled")
    return net.add("Add", [scaled, net.near(f"{name}/beta", _WIDTH)], f"{name}/out")


def _dense(net: _Net, value: str, name: str, inputs: int, outputs: int) -> str:
    product = net.add("MatMul", [value, net.weights(f"{name}/kernel", inputs, outputs, fan_in=inputs)], f"{name}/mul")
    return net.add("Add", [product, net.near(f"{name}/bias", outputs)], f"{name}/out")


def _gelu(net: _Net, value: str, name: str) -> str:
    divided = net.add("Div", [value, net.constant(f"{name}/root", 2.0**0.5, "f4")], f"{name}/divided")
    error = net.add("Erf", [divided], f"{name}/erf")
    above = net.add("Add", [error, net.constant(f"{name}/one", 1.0, "f4")], f"{name}/above")
    product = net.add("Mul", [value, above], f"{name}/product")
    return net.add("Mul", [product, net.constant(f"{name}/half", 0.5, "f4")], f"{name}/out")


def _attention(net: _Net, value: str, name: str) -> str:
    parts = {}
    size = _WIDTH // _HEADS
    split = net.constant(f"{name}/split", [1, _LENGTH, _HEADS, size], "i8")
    for part, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        dense = _dense(net, value, f"{name}/{part}", _WIDTH, _WIDTH)
        heads = net.add("Reshape", [dense, split], f"{name}/{part}/heads")
        parts[part] = net.add("Transpose", [heads], f"{name}/{part}/turned", perm=order)
    scores = net.add("MatMul", [parts["q"], parts["k"]], f"{name}/scores")
    scaled = net.add("Div", [scores, net.constant(f"{name}/root", size**0.5, "f4")], f"{name}/scaled")
    weights = net.add("Softmax", [scaled], f"{name}/weights", axis=-1)
    mixed = net.add("MatMul", [weights, parts["v"]], f"{name}/mixed")
    turned = net.add("Transpose", [mixed], f"{name}/turned", perm=[0, 2, 1, 3])
    joined = net.add("Reshape", [turned, net.constant(f"{name}/join", [1, _LENGTH, _WIDTH], "i8")], f"{name}/joined")
    return _dense(net, joined, f"{name}/project", _WIDTH, _WIDTH)


def transformer(seed: int) -> Any:
    """Input `input_ids` 1x16 (100 words); embeddings, attention with four heads, a feed-forward part, LayerNorm and
    Gelu as patterns of simple operators. Output `hidden` 1x16x64."""
    net = _Net(seed)
    words = net.add("Gather", [net.near("words", _WORDS, _WIDTH, centre=0.0), "input_ids"], "embedded")
    value = net.add("Add", [words, net.weights("places", 1, _LENGTH, _WIDTH, fan_in=2)], "placed")
    value = _layer_norm(net, value, "norm0")
    value = net.add("Add", [value, _attention(net, value, "attention")], "attended")
    value = _layer_norm(net, value, "norm1")
    inner = _gelu(net, _dense(net, value, "up", _WIDTH, 4 * _WIDTH), "gelu")
    value = net.add("Add", [value, _dense(net, inner, "down", 4 * _WIDTH, _WIDTH)], "forwarded")
    net.add("Identity", [_layer_norm(net, value, "norm2")], "hidden")
    return net.model([_port("input_ids", 1, _LENGTH, kind="INT64")], [_port("hidden", 1, _LENGTH, _WIDTH)])


def control_flow(seed: int) -> Any:
    """Input `sequence` 8x1x16; an LSTM, a Loop of three rounds over its last state, and an If on the state's sum, whose
    branches have layers of their own. Output `answer` 1x4."""
    from onnx import helper  # noqa: PLC0415

    net = _Net(seed)
    size = 24
    net.weights("lstm/w", 1, 4 * size, 16, fan_in=16)
    net.weights("lstm/r", 1, 4 * size, size, fan_in=size)
    net.near("lstm/b", 1, 8 * size)
    net.nodes.append(
        helper.make_node(
            "LSTM", ["sequence", "lstm/w", "lstm/r", "lstm/b"], ["", "lstm/last"], "lstm", hidden_size=size
        )
    )
    state = net.add("Squeeze", ["lstm/last", net.constant("first", [0], "i8")], "state")
    net.weights("loop/kernel", size, size, fan_in=size)
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["loop/state", "loop/kernel"], ["loop/product"], "loop/product"),
            helper.make_node("Tanh", ["loop/product"], ["loop/next"], "loop/next"),
            helper.make_node("Identity", ["loop/go"], ["loop/on"], "loop/on"),
        ],
        "body",
        [_port("loop/round", kind="INT64"), _port("loop/go", kind="BOOL"), _port("loop/state", 1, size)],
        [_port("loop/on", kind="BOOL"), _port("loop/next", 1, size)],
    )
    net.add("Loop", [net.constant("rounds", 3, "i8"), net.constant("go", True, "?"), state], "looped", body=body)
    total = net.add("ReduceSum", ["looped"], "total", keepdims=0)
    net.add("Greater", [total, net.constant("nothing", 0.0, "f4")], "positive")
    branches = {}
    for branch, activation in (("then", "Relu"), ("else", "Sigmoid")):
        net.weights(f"{branch}/kernel", size, 4, fan_in=size)
        nodes = [
            helper.make_node("MatMul", ["looped", f"{branch}/kernel"], [f"{branch}/product"], f"{branch}/product"),
            helper.make_node(activation, [f"{branch}/product"], [f"{branch}/active"], f"{branch}/active"),
            helper.make_node("Add", [f"{branch}/active", f"{branch}/product"], [f"{branch}/out"], f"{branch}/out"),
        ]
        branches[f"{branch}_branch"] = helper.make_graph(nodes, branch, [], [_port(f"{branch}/out", 1, 4)])
    net.add("If", ["positive"], "answer", **branches)
    return net.model([_port("sequence", 8, 1, 16)], [_port("answer", 1, 4)])


def qdq(seed: int) -> Any:
    """Input `x` 1x3x32x32; a residual CNN quantized to 8 bits, activations and weights unsigned (u8u8), one scale a
    tensor, as onnxruntime's quantizer writes it for NNAPI. Output `y` 1x10."""
    net = _Net(seed)
    value = _quantized(net, "x", "x/in", 8.0 / 255, 128)
    value, _ = _quantized_conv(net, value, "conv0", (3, 16), 8.0)
    branch, _ = _quantized_conv(net, value, "conv1", (16, 16), 6.0)
    total = net.add("Add", [value, branch], "sum")
    value = _quantized(net, total, "sum/q", 10.0 / 255, 0)
    pooled = net.add("MaxPool", [value], "pool", kernel_shape=[2, 2], strides=[2, 2])
    value = _quantized(net, pooled, "pool/q", 10.0 / 255, 0)
    value, _ = _quantized_conv(net, value, "conv2", (16, 32), 12.0)
    mean = net.add("GlobalAveragePool", [value], "mean")
    value = _quantized(net, mean, "mean/q", 6.0 / 255, 0)
    flat = net.add("Flatten", [value], "flat")
    flat = _quantized(net, flat, "flat/q", 6.0 / 255, 0)
    kernel = _quantized_weights(net, "dense/kernel", (10, 32), 32)
    logits = net.add("Gemm", [flat, kernel], "dense", transB=1)
    scale, zero = net.constant("y/scale", 12.0 / 255, "f4"), net.constant("y/zero", 128, "u1")
    net.add("QuantizeLinear", [logits, scale, zero], "y/quantized")
    net.add("DequantizeLinear", ["y/quantized", scale, zero], "y")
    return net.model([_port("x", 1, 3, 32, 32)], [_port("y", 1, 10)])


def _quantized(net: _Net, value: str, name: str, scale: float, zero: int) -> str:
    marks = [net.constant(f"{name}/scale", scale, "f4"), net.constant(f"{name}/zero", zero, "u1")]
    return net.add("DequantizeLinear", [net.add("QuantizeLinear", [value, *marks], f"{name}/q"), *marks], f"{name}/dq")


def _quantized_weights(net: _Net, name: str, shape: tuple[int, ...], fan_in: int) -> str:
    import numpy as np  # noqa: PLC0415

    values = net.rng.standard_normal(shape) * (2.0 / fan_in) ** 0.5
    scale = float(abs(values).max() / 127)
    whole = np.clip(np.round(values / scale) + 128, 0, 255).astype("u1")
    marks = [net.constant(f"{name}/scale", scale, "f4"), net.constant(f"{name}/zero", 128, "u1")]
    return net.add("DequantizeLinear", [net.constant(f"{name}/u8", whole), *marks], name)


def _quantized_conv(net: _Net, value: str, name: str, channels: tuple[int, int], top: float) -> tuple[str, str]:
    """Convolution 3x3, Relu, and the result quantized to [0, `top`]; the second name is the Relu's."""
    before, after = channels
    kernel = _quantized_weights(net, f"{name}/kernel", (after, before, 3, 3), 9 * before)
    conv = net.add("Conv", [value, kernel], f"{name}/conv", pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    relu = net.add("Relu", [conv], f"{name}/relu")
    return _quantized(net, relu, f"{name}/q", top / 255, 0), relu


OTHER: dict[str, Callable[[int], Any]] = {
    "nhwc": nhwc,
    "transformer": transformer,
    "control_flow": control_flow,
    "qdq_u8u8": qdq,
}
"""A sample's name, and what makes it from a seed."""
