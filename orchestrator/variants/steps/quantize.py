"""Steps `qdq-u8u8` and `qdq-u8s8`: static QDQ quantization in the forms that NNAPI takes.

Activations are uint8, weights uint8 or, per channel, int8; onnxruntime's own tool does it after level basic, so that
batch normalization is in the convolutions by then.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from android_runner.nnapi.builders import BUILDERS
from android_runner.nnapi.quantized import SOFTMAX_SCALE
from android_runner.ort import OptimizationLevel
from orchestrator.errors import VariantError
from orchestrator.variants.converter import installed, runtime
from orchestrator.variants.read_onnx import opsets_of
from orchestrator.variants.saving import save
from orchestrator.variants.sessions import saving_as_onnx, written
from orchestrator.variants.steps.apply import Bench

_KNOWN = (
    "Add", "AveragePool", "Concat", "Conv", "Gemm", "MatMul", "Mul", "Reshape", "Resize", "Softmax", "Transpose",
)  # fmt: skip
"""What the quantizer has a form for; of these NNAPI's builders say which they take."""
_PASSING = ("Relu", "Clip", "MaxPool")
"""The quantizer takes the first two into the range of what comes before, and leaves the third its input's scale."""
_LEAST_STEPS = 16
"""A Softmax whose largest value is fewer steps of `SOFTMAX_SCALE` stays in float32: nothing would be left of it."""
_BYTE_POOL_SINCE = 12
_PER_CHANNEL_SINCE = 13
_QDQ_SINCE = 10


def to_qdq(model: Any, step: str, bench: Bench) -> Any:
    """The quantized model, its ranges taken from the samples (MinMax)."""
    import numpy as np  # noqa: PLC0415
    import onnx  # noqa: PLC0415

    tool: Any = importlib.import_module("onnxruntime.quantization")

    per_channel = step == "qdq-u8s8"
    needed, opset = (_PER_CHANNEL_SINCE if per_channel else _QDQ_SINCE), opsets_of(model).get("", 0)
    if opset < needed:
        raise VariantError(f"needs opset {needed}, the model has {opset}: put opset={needed} before it")
    if not bench.samples:
        raise VariantError("there are no inputs to calibrate on")
    if _count(model, "QuantizeLinear"):
        raise VariantError("the model is quantized already")
    basic, target = bench.scratch / "quantize_basic.onnx", bench.scratch / "quantized.onnx"
    save(saving_as_onnx(written(model, bench.scratch / "quantize.onnx"), OptimizationLevel.BASIC, basic), installed())
    optimized: Any = onnx.load_model(str(basic))
    optimized.metadata_props.add(key="onnx.quant.pre_process", value="onnxruntime.quant")
    products = _flatten_biases(optimized.graph)
    shares = [node for node in optimized.graph.node if node.op_type == "Softmax"]
    faint = _faint(optimized, shares, bench)
    nnapi_s_own = {"scale": np.array(SOFTMAX_SCALE, np.float32), "zero_point": np.array(0, np.uint8)}
    overrides: dict[str, Any] = {node.output[0]: [dict(nnapi_s_own)] for node in shares if node.name not in faint}
    if per_channel:
        overrides |= {name: [{"quant_type": tool.QuantType.QInt8}] for name in products}
    tool.quantize_static(
        optimized,
        str(target),
        _samples(bench.samples),
        quant_format=tool.QuantFormat.QDQ,
        op_types_to_quantize=[*(name for name in _KNOWN if BUILDERS[name].qdq), *_PASSING],
        nodes_to_exclude=faint,
        per_channel=per_channel,
        activation_type=tool.QuantType.QUInt8,
        weight_type=tool.QuantType.QInt8 if per_channel else tool.QuantType.QUInt8,
        extra_options={"TensorQuantOverrides": overrides},
    )
    made: Any = onnx.load_model(str(target))
    if not _count(made, "QuantizeLinear"):
        raise VariantError("nothing in it can be quantized")
    _share_scales(made.graph)
    if opset >= _BYTE_POOL_SINCE:
        _pool_bytes(made.graph)
    return made


def _faint(model: Any, shares: Sequence[Any], bench: Bench) -> list[str]:
    """The names of those Softmax nodes that are too small for NNAPI's scale on every sample, as over many classes that
    are about equally likely. Nodes without a name get one."""
    import onnx  # noqa: PLC0415

    if not shares:
        return []
    for at, node in enumerate(shares):
        node.name = node.name or f"softmax_{at}"
    seen: Any = onnx.ModelProto()
    seen.CopyFrom(model)
    outputs = [node.output[0] for node in shares]
    known = {value.name for value in seen.graph.output}
    seen.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs if name not in known)
    ort = runtime()
    options = ort.SessionOptions()
    for library in bench.custom_ops:
        options.register_custom_ops_library(library)
    session = ort.InferenceSession(
        str(written(seen, bench.scratch / "quantize_seen.onnx")), options, providers=["CPUExecutionProvider"]
    )
    samples = zip(*_runs(session, outputs, bench), strict=True)
    tops = [max((float(value.max()) for value in values if value.size), default=0.0) for values in samples]
    return [node.name for node, top in zip(shares, tops, strict=True) if top < _LEAST_STEPS * SOFTMAX_SCALE]


def _runs(session: Any, outputs: Sequence[str], bench: Bench) -> Iterator[list[Any]]:
    """The outputs of each sample."""
    for folder in bench.samples:
        yield session.run(list(outputs), dict(_read(folder)))


def _share_scales(graph: Any) -> None:
    """Give AveragePool's output the scale of its input, as NNAPI wants it: a mean lies within the range anyway."""
    makers = {name: node for node in graph.node for name in node.output}
    for pool in graph.node:
        before = makers.get(pool.input[0]) if pool.op_type == "AveragePool" else None
        if before is None or before.op_type != "DequantizeLinear":
            continue
        after = [node for node in graph.node if pool.output[0] in node.input]
        behind = [node for node in graph.node if len(after) == 1 and after[0].output[0] in node.input]
        types = {node.op_type for node in (*after, *behind)}
        if types == {"QuantizeLinear", "DequantizeLinear"}:
            for node in (*after, *behind):
                node.input[1], node.input[2] = before.input[1], before.input[2]


def _pool_bytes(graph: Any) -> None:
    """Let MaxPool work on the bytes themselves where the scales before and after it are one; the largest byte is the
    largest number. NNAPI does not take it between DequantizeLinear and QuantizeLinear, and bytes only where its own
    partition makes them, so this leaves the CPU one small node instead of three."""
    makers = {name: node for node in graph.node for name in node.output}
    readers: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    outputs = {value.name for value in graph.output}
    dropped = []
    for pool in graph.node:
        before, after = makers.get(pool.input[0]) if pool.input else None, readers.get(pool.output[0], [])
        if pool.op_type != "MaxPool" or before is None or len(after) != 1 or pool.output[0] in outputs:
            continue
        ends = before.op_type, after[0].op_type
        if ends == ("DequantizeLinear", "QuantizeLinear") and before.input[1:] == after[0].input[1:]:
            pool.input[0], pool.output[0] = before.input[0], after[0].output[0]
            dropped.append(after[0])
    for node in dropped:
        graph.node.remove(node)
    _drop_unread(graph)


def _drop_unread(graph: Any) -> None:
    """Take out DequantizeLinear nodes that nobody reads any more."""
    read = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
    for node in [node for node in graph.node if node.op_type == "DequantizeLinear" and node.output[0] not in read]:
        graph.node.remove(node)


def _flatten_biases(graph: Any) -> set[str]:
    """Give Gemm's biases of shape 1×N one dimension, which is what the quantizer takes; the names of the constants
    that Gemm and MatMul multiply by, of which NNAPI takes one scale only."""
    held = {tensor.name: tensor for tensor in graph.initializer}
    readers = Counter(name for node in graph.node for name in node.input)
    for node in graph.node:
        bias = held.get(node.input[2]) if node.op_type == "Gemm" and len(node.input) > 2 else None
        if bias is not None and len(bias.dims) == 2 and bias.dims[0] == 1 and readers[bias.name] == 1:
            del bias.dims[0]
    products = (node.input[1] for node in graph.node if node.op_type in ("Gemm", "MatMul"))
    return {name for name in products if name in held}


def _count(model: Any, operator: str) -> int:
    return sum(node.op_type == operator for node in model.graph.node)


def _samples(folders: tuple[Path, ...]) -> Any:
    """The reader that the quantizer asks for one set of inputs after another, until it gets None."""
    reader: Any = importlib.import_module("onnxruntime.quantization").CalibrationDataReader
    left = iter(folders)

    def get_next(_self: object) -> dict[str, Any] | None:
        folder = next(left, None)
        return None if folder is None else dict(_read(folder))

    return type("Samples", (reader,), {"get_next": get_next})()


def _read(folder: Path) -> Iterator[tuple[str, Any]]:
    import onnx  # noqa: PLC0415
    from onnx import numpy_helper  # noqa: PLC0415

    for path in folder.glob("input_*.pb"):
        tensor: Any = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        yield tensor.name, numpy_helper.to_array(tensor)
