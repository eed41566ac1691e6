"""Writes the true traces of this folder: `python make_traces.py VERSION`, with that onnxruntime importable.

One file a model and version, `<model>-<version>.json`: warm-up and two runs, two intra-op threads. The times in them
are the machine's; nothing in a test depends on them.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent
SHAPE = [1, 3, 16, 16]
N = 16


def weights(name: str, *shape: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.random.default_rng(7).standard_normal(shape).astype(np.float32), name)


def model(nodes: list[onnx.NodeProto], initializers: list[onnx.TensorProto], shape: list[int]) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def plain() -> onnx.ModelProto:
    """A small CNN."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu1"),
        helper.make_node("MaxPool", ["r"], ["p"], name="pool1", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"], name="flatten1"),
        helper.make_node("Gemm", ["f", "g"], ["y"], name="gemm1"),
    ]
    return model(nodes, [weights("w", 4, 3, 3, 3), weights("g", 256, 10)], SHAPE)


def quoted() -> onnx.ModelProto:
    """Node names that need escapes in JSON, which ORT gives them only from 1.31 on."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], name='say "hi", {"a": 1}'),
        helper.make_node("Softmax", ["m"], ["y"], name="back\\slash\\q"),
    ]
    return model(nodes, [weights("w", N, N)], [N, N])


def nested() -> onnx.ModelProto:
    """A Loop of three turns over MatMul and Softmax, and an If whose branch is a MatMul."""
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["state", "w"], ["m"], name="in_loop_matmul"),
            helper.make_node("Softmax", ["m"], ["next"], name="in_loop_softmax"),
            helper.make_node("Identity", ["going"], ["going_out"], name="in_loop_identity"),
        ],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, [N, N]),
        ],
        [
            helper.make_tensor_value_info("going_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [N, N]),
        ],
    )

    def branch(name: str, output: str) -> onnx.GraphProto:
        node = helper.make_node("MatMul", ["after", "w"], [output], name=f"in_if_{name}")
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(output, TensorProto.FLOAT, [N, N])])

    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], name="sum", keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"], name="greater"),
        helper.make_node("Loop", ["three", "yes", "x"], ["after"], name="loop", body=body),
        helper.make_node(
            "If", ["positive"], ["z"], name="if", then_branch=branch("then", "t"), else_branch=branch("else", "e")
        ),
        helper.make_node("Relu", ["z"], ["y"], name="relu"),
    ]
    constants = [
        numpy_helper.from_array(np.array(3, np.int64), "three"),
        numpy_helper.from_array(np.array(True), "yes"),
        numpy_helper.from_array(np.array(0, np.float32), "zero"),
    ]
    return model(nodes, [weights("w", N, N), *constants], [N, N])


def main(version: str) -> None:
    assert ort.__version__ == version
    for name, graph, shape in (("plain", plain(), SHAPE), ("quoted", quoted(), [N, N]), ("nested", nested(), [N, N])):
        options = ort.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = str(HERE / "made")
        options.intra_op_num_threads = 2
        session = ort.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
        for _ in range(3):
            session.run(None, {"x": np.ones(shape, np.float32)})
        shutil.move(session.end_profiling(), HERE / f"{name}-{version}.json")


if __name__ == "__main__":
    main(sys.argv[1])
