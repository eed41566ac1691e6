"""Steps that change a model before it is converted: each does what its word says, and computes the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from orchestrator.errors import VariantError
from orchestrator.variants import samples
from orchestrator.variants.steps.apply import LARGE, Bench, apply_steps
from orchestrator.variants.steps.weights import float_tensors
from tests.unit.nnapi import placed
from tests.unit.variants import nets, step_nets
from tests.unit.variants.step_nets import claimed, outputs, stepped, worst_error

ALL_STEPS = (
    "weights-inside", "opset=15", "qdq-u8u8", "qdq-u8s8", "fp16", "flush-denormals", "transformer-fusions",
)  # fmt: skip


def labels(model: Any) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def mnist() -> Any:
    return onnx.load_model_from_string(samples.mnist())


def overridable() -> Any:
    """Convolution and Relu as old exporters write them: the weight is an input too, and may be overridden."""
    model = nets.conv_relu()
    model.graph.input.append(nets.value("w", (2, 1, 3, 3)))
    return model


def sample_folder(folder: Path, model: Any, seed: int = 0) -> Path:
    """A folder with `input_<k>.pb`."""
    folder.mkdir()
    for at, (name, values) in enumerate(step_nets.feeds(model, seed).items()):
        (folder / f"input_{at}.pb").write_bytes(numpy_helper.from_array(values, name).SerializeToString())
    return folder


def test_weights_go_inside(tmp_path: Path) -> None:
    made = stepped(overridable(), "weights-inside", tmp_path)
    assert [value.name for value in made.graph.input] == ["x"]
    assert worst_error(overridable(), made) == 0
    assert claimed(overridable()).claimed_count == 1, "the Relu alone"
    assert claimed(made).claimed_count == 2
    assert labels(placed.optimized(made.SerializeToString(), "extended")) == {"FusedConv": 1}


def test_below_ir_4_weights_among_the_inputs_are_constants_already(tmp_path: Path) -> None:
    model = overridable()
    model.ir_version = 3
    with pytest.raises(VariantError, match="weights-inside: IR version 3"):
        stepped(model, "weights-inside", tmp_path)


@pytest.mark.parametrize("opset", [11, 12, 14, 15, 17, 21])
def test_opset_up_and_down(opset: int, tmp_path: Path) -> None:
    made = stepped(mnist(), f"opset={opset}", tmp_path)
    assert made.opset_import[0].version == opset
    assert made.ir_version >= helper.find_min_ir_version_for(made.opset_import)
    assert worst_error(mnist(), made) <= 1e-6


@pytest.mark.parametrize("net", ["nhwc", "transformer", "control_flow"])
def test_opset_down_where_only_some_operators_say_another_thing(net: str, tmp_path: Path) -> None:
    """Of 13's operators here Softmax, Squeeze and ReduceSum changed; the converter knows no way back for the others,
    which got types alone, Loop and If with their sub-graphs among them."""
    model = onnx.load_model_from_string(samples.ALL[net]())
    made = stepped(onnx.load_model_from_string(samples.ALL[net]()), "opset=12", tmp_path)
    assert [(item.domain, item.version) for item in made.opset_import] == [("", 12)]
    assert {node.domain for node in made.graph.node} == {""}
    assert worst_error(model, made) == 0


def test_opset_reaches_sub_graphs(tmp_path: Path) -> None:
    """Softmax means something else from 13 on, Squeeze is written in another way."""
    make = helper.make_node
    then = [make("Softmax", ["x"], ["t"], "softmax"), make("Squeeze", ["t"], ["ts"], "squeeze", axes=[0])]
    other = [make("Neg", ["x"], ["e"], "neg"), make("Squeeze", ["e"], ["es"], "squeeze too", axes=[0])]
    branches = [
        helper.make_graph(nodes, name, [], [nets.value(out, (3, 4))])
        for nodes, name, out in ((then, "then", "ts"), (other, "else", "es"))
    ]
    node = make("If", ["c"], ["y"], "if", then_branch=branches[0], else_branch=branches[1])
    given = [nets.value("c", (), TensorProto.BOOL), nets.value("x", (1, 3, 4))]
    model = nets.model_of([node], given, [nets.value("y", (3, 4))], opset=12)
    made = stepped(model, "opset=13", tmp_path)
    assert worst_error(model, made, seeds=6) <= 1e-6


def test_opset_raises_no_constant_to_an_input(tmp_path: Path) -> None:
    model = overridable()
    model.ir_version = 3
    model.opset_import[0].version = 8
    made = stepped(model, "opset=15", tmp_path)
    assert made.ir_version >= 8
    assert [value.name for value in made.graph.input] == ["x"]
    assert claimed(made).claimed_count == 2


@pytest.mark.parametrize(
    ("model", "step", "said"),
    [
        (mnist, "opset=13", "is of opset 13 already"),
        (mnist, "opset=99", "onnx here knows opsets up to"),
        (lambda: nets.model_of_opset(13), "flush-denormals", "no weight is denormal"),
        (nets.conv_relu, "weights-inside", "no initializer is among"),
        (nets.conv_relu, "transformer-fusions", "no pattern"),
        (lambda: nets.model_of_opset(13), "fp16", "no float32 weight"),
        (mnist, "qdq-u8u8", "no inputs to calibrate on"),
        (lambda: nets.model_of_opset(9), "qdq-u8u8", "needs opset 10, the model has 9: put opset=10 before it"),
        (lambda: nets.model_of_opset(12), "qdq-u8s8", "put opset=13 before it"),
    ],
)
def test_what_a_step_can_not_do_is_a_reason(model: Any, step: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(VariantError, match=f"^{step}: .*{said}"):
        stepped(model(), step, tmp_path)


def test_opset_down_to_where_an_operator_is_unknown(tmp_path: Path) -> None:
    node = helper.make_node("HardSwish", ["x"], ["y"], "swish")
    model = nets.model_of([node], [nets.value("x", (4,))], [nets.value("y", (4,))], opset=14)
    with pytest.raises(VariantError, match=r"^opset=11: onnx can't go to 13"):
        stepped(model, "opset=11", tmp_path)


def denormal() -> Any:
    """Weights of which a third is denormal, one in a sub-graph's Constant too."""
    values = np.random.default_rng(4).standard_normal((2, 1, 3, 3)).astype(np.float32)
    values.reshape(-1)[::3] = 1e-40
    model = nets.conv_relu()
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(values, "w"))
    tiny = numpy_helper.from_array(np.array([-1e-42, 1], np.float32), "tiny")
    then = helper.make_graph([helper.make_node("Constant", [], ["t"], value=tiny)], "then", [], [nets.value("t", (2,))])
    model.graph.node.append(helper.make_node("If", ["choice"], ["z"], "if", then_branch=then, else_branch=then))
    model.graph.input.append(nets.value("choice", (), TensorProto.BOOL))
    model.graph.output.append(nets.value("z", (2,)))
    return model


def test_denormals_are_flushed_and_only_they(tmp_path: Path) -> None:
    made = stepped(denormal(), "flush-denormals", tmp_path)
    before, after = step_nets.held(denormal(), "w"), step_nets.held(made, "w")
    assert (after.reshape(-1)[::3] == 0).all()
    assert np.array_equal(
        np.delete(after.reshape(-1), slice(0, None, 3)), np.delete(before.reshape(-1), slice(0, None, 3))
    )
    inner = [numpy_helper.to_array(one) for one in float_tensors(made.graph) if list(one.dims) == [2]]
    assert all(np.array_equal(values, [0, 1]) for values in inner)
    assert len(inner) == 2
    assert worst_error(denormal(), made) <= 1e-6


def test_fp16_keeps_inputs_and_outputs(tmp_path: Path) -> None:
    made = stepped(mnist(), "fp16", tmp_path)
    assert {tensor.data_type for tensor in made.graph.initializer} >= {TensorProto.FLOAT16}
    assert 0 < worst_error(mnist(), made) <= 1e-2


@pytest.mark.parametrize("step", ["qdq-u8u8", "qdq-u8s8"])
def test_quantized_forms_are_those_that_nnapi_takes(step: str, tmp_path: Path) -> None:
    folders = [sample_folder(tmp_path / str(seed), mnist(), seed) for seed in range(3)]
    made = stepped(mnist(), step, tmp_path, *folders)
    kinds = {tensor.data_type for tensor in made.graph.initializer}
    assert (TensorProto.INT8 in kinds) == (step == "qdq-u8s8")
    placement = claimed(made)
    graph = placed.optimized(made.SerializeToString(), "basic").graph
    left = [(graph.node[one.node].op_type, one.reason) for one in placement.refused]
    assert left == [("MaxPool", "MaxPool of uint8 must get its input from within its partition")] * 2
    assert placement.claimed_count == len(graph.node) - 2
    assert 0.98 <= likeness(mnist(), made) < 1


def likeness(model: Any, made: Any) -> float:
    """The least cosine between both models' outputs, on the inputs that were calibrated on."""
    given = step_nets.feeds(model)
    cosines = []
    for want, have in zip(outputs(model, given), outputs(made, given), strict=True):
        cosines.append(float((want * have).sum() / np.sqrt((want**2).sum() * (have**2).sum())))
    return min(cosines)


def classifier(spread: float) -> Any:
    """A Gemm and a Softmax over 500 classes; how far their logits lie apart goes with `spread`."""
    nodes = [helper.make_node("Gemm", ["x", "w"], ["l"], "logits"), helper.make_node("Softmax", ["l"], ["y"], axis=-1)]
    kernel = numpy_helper.to_array(nets.weights("w", 8, 500)) * np.float32(spread)
    ports = [nets.value("x", (1, 8))], [nets.value("y", (1, 500))]
    return nets.model_of(nodes, *ports, [numpy_helper.from_array(kernel, "w")])


@pytest.mark.parametrize(("spread", "is_quantized"), [(0.05, False), (5.0, True)])
def test_a_softmax_below_nnapi_s_scale_stays_in_float(spread: float, is_quantized: bool, tmp_path: Path) -> None:
    """500 classes that are about equally likely are all below half a step of 1/256: nothing but zeros would be left."""
    model = classifier(spread)
    made = stepped(model, "qdq-u8u8", tmp_path, sample_folder(tmp_path / "0", model))
    behind = [node.op_type for node in made.graph.node if node.op_type != "Gemm"][-2:]
    assert behind == (["QuantizeLinear", "DequantizeLinear"] if is_quantized else ["DequantizeLinear", "Softmax"])
    assert likeness(model, made) >= 0.98
    assert claimed(made).claimed_count > 2


def test_a_step_with_nothing_to_do_does_not_hinder_the_others(tmp_path: Path) -> None:
    bench = Bench(scratch=tmp_path)
    made = apply_steps(mnist(), ("flush-denormals", "opset=15", "weights-inside"), bench)
    assert made.opset_import[0].version == 15
    with pytest.raises(VariantError, match=r"^opset=13: .*already; weights-inside: no initializer"):
        apply_steps(mnist(), ("opset=13", "weights-inside"), bench)
    with pytest.raises(VariantError, match=r"^opset=99"):
        apply_steps(mnist(), ("opset=15", "opset=99"), bench)


def test_quantizing_twice_is_refused(tmp_path: Path) -> None:
    folder = sample_folder(tmp_path / "0", nets.quantized())
    with pytest.raises(VariantError, match="quantized already"):
        stepped(nets.quantized(), "qdq-u8u8", tmp_path, folder)


def transformer_block() -> Any:
    """Gelu and layer normalization as exporters write them."""
    make = helper.make_node
    nodes = [
        make("MatMul", ["x", "w"], ["h"], "matmul"),
        make("Add", ["h", "b"], ["a"], "bias"),
        make("Div", ["a", "root2"], ["d"], "div"),
        make("Erf", ["d"], ["e"], "erf"),
        make("Add", ["e", "one"], ["p"], "plus"),
        make("Mul", ["a", "p"], ["m"], "mul"),
        make("Mul", ["m", "half"], ["g"], "halve"),
        make("ReduceMean", ["g"], ["mean"], "mean", axes=[-1]),
        make("Sub", ["g", "mean"], ["c"], "centre"),
        make("Pow", ["c", "two"], ["sq"], "square"),
        make("ReduceMean", ["sq"], ["var"], "variance", axes=[-1]),
        make("Add", ["var", "eps"], ["ve"], "epsilon"),
        make("Sqrt", ["ve"], ["sd"], "sqrt"),
        make("Div", ["c", "sd"], ["n"], "normal"),
        make("Mul", ["n", "gamma"], ["s"], "scale"),
        make("Add", ["s", "beta"], ["y"], "shift"),
    ]
    scalars = {"root2": 2**0.5, "one": 1, "half": 0.5, "two": 2, "eps": 1e-5}
    constants = [numpy_helper.from_array(np.float32(number), name) for name, number in scalars.items()]
    constants += [nets.weights("w", 8, 8), *(nets.weights(name, 8, seed=5) for name in ("b", "gamma", "beta"))]
    return nets.model_of(nodes, [nets.value("x", (1, 6, 8))], [nets.value("y", (1, 6, 8))], constants)


def test_transformer_fusions(tmp_path: Path) -> None:
    made = stepped(transformer_block(), "transformer-fusions", tmp_path)
    assert {"LayerNormalization"} <= set(labels(made))
    assert len(made.graph.node) < len(transformer_block().graph.node) / 2
    assert worst_error(transformer_block(), made) <= 1e-4


DONE = {
    mnist: {"opset=15", "qdq-u8u8", "qdq-u8s8", "fp16"},
    nets.embedding: {"opset=15", "qdq-u8u8", "qdq-u8s8", "fp16"},
    nets.branching: {"opset=15"},
    nets.quantized: {"opset=15"},
    transformer_block: {"opset=15", "qdq-u8u8", "qdq-u8s8", "fp16", "transformer-fusions"},
    overridable: {"weights-inside", "opset=15", "qdq-u8u8", "qdq-u8s8"},
}


@pytest.mark.parametrize("step", ALL_STEPS)
@pytest.mark.parametrize("net", DONE)
def test_every_step_on_every_net_is_done_or_a_reason(net: Any, step: str, tmp_path: Path) -> None:
    model = net(2) if net is nets.embedding else net()
    folder = sample_folder(tmp_path / "0", model)
    if step in DONE[net]:
        assert likeness(model, stepped(model, step, tmp_path, folder)) >= (0.98 if "qdq" in step else 0.999)
    else:
        with pytest.raises(VariantError, match=f"^{step}: "):
            stepped(model, step, tmp_path, folder)


def test_steps_for_large_models_are_known() -> None:
    assert set(ALL_STEPS) > LARGE
