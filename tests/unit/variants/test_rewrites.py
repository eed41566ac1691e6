"""Each rewrite computes the same as what it replaces, and NNAPI takes all of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from orchestrator.errors import VariantError
from orchestrator.variants.steps.rewrite import REWRITES
from tests.unit.nnapi import placed
from tests.unit.variants import nets, step_nets

IMAGE = (1, 6, 8, 8)
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Row:
    """A net of one operator: its inputs by shape, its constants, its attributes, its outputs by shape; `after` are the
    operators in its place."""

    operator: str
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    after: tuple[str, ...]
    constants: tuple[Any, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    opset: int = 13
    name: str = ""

    def model(self) -> Any:
        """The net: an input that is None is left out, a constant takes its place after the inputs."""
        given = [f"x{at}" for at in range(len(self.inputs))]
        held = [
            numpy_helper.from_array(np.asarray(values), f"k{at}")
            for at, values in enumerate(self.constants)
            if values is not None
        ]
        names = given + ["" if values is None else f"k{at}" for at, values in enumerate(self.constants)]
        made = [f"y{at}" for at in range(len(self.outputs))]
        node = helper.make_node(self.operator, names, made, "it", **self.attributes)
        return nets.model_of(
            [node],
            [nets.value(name, shape) for name, shape in zip(given, self.inputs, strict=True)],
            [nets.value(name, shape) for name, shape in zip(made, self.outputs, strict=True)],
            held,
            opset=self.opset,
        )


def drawn(*shape: int, seed: int = 7) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def f(number: float) -> Any:
    return np.float32(number)


ROWS = [
    Row("Sum", (IMAGE, IMAGE), (IMAGE,), ("Add",)),
    Row("Sum", (IMAGE, IMAGE, (1, 6, 1, 1)), (IMAGE,), ("Add", "Add"), name="three"),
    Row("Mean", (IMAGE, IMAGE, IMAGE), (IMAGE,), ("Add", "Add", "Mul")),
    Row("Max", (IMAGE, IMAGE, IMAGE), (IMAGE,), ("Max", "Max")),
    Row("Min", (IMAGE, IMAGE, IMAGE, IMAGE), (IMAGE,), ("Min", "Min", "Min")),
    Row("Clip", (IMAGE,), (IMAGE,), ("Relu",), (f(0),), name="from 0"),
    Row("Clip", (IMAGE,), (IMAGE,), ("Max", "Min"), (f(-0.5), f(1.5))),
    Row("Clip", (IMAGE,), (IMAGE,), ("Min",), (None, f(0.5)), name="to"),
    Row("Clip", (IMAGE,), (IMAGE,), ("Max", "Min"), attributes={"min": 0.0, "max": 1.0}, opset=9, name="old"),
    Row("HardSigmoid", (IMAGE,), (IMAGE,), ("Mul", "Add", "Clip", "Mul"), attributes={"alpha": 0.3, "beta": 0.4}),
    Row("HardSigmoid", (IMAGE,), (IMAGE,), ("Mul", "Add", "Clip", "Mul"), opset=9, name="old"),
    Row("Reciprocal", (IMAGE,), (IMAGE,), ("Div",)),
    Row("Softplus", (IMAGE,), (IMAGE,), ("Abs", "Neg", "Exp", "Add", "Log", "Relu", "Add")),
    Row("Softsign", (IMAGE,), (IMAGE,), ("Abs", "Add", "Div")),
    Row("Pow", (IMAGE,), (IMAGE,), ("Pow",), (np.array([2], np.int64),)),
    Row("Erf", (IMAGE,), (IMAGE,), (
        "Abs", "Mul", "Add", "Div", "Mul", *(("Add", "Mul") * 4), "Mul", "Neg", "Exp", "Mul", "Sub",
        "Mul", "Clip", "Mul",
    )),
    Row("MaxPool", (IMAGE,), ((1, 6, 4, 4),), ("MaxPool",),
        attributes={"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    Row("AveragePool", (IMAGE,), ((1, 6, 4, 4),), ("AveragePool",),
        attributes={"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, name="ceil"),
    Row("AveragePool", (IMAGE,), ((1, 6, 4, 4),), ("AveragePool", "Mul"),
        attributes={"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 0, 0], "count_include_pad": 1}),
    Row("SpaceToDepth", (IMAGE,), ((1, 24, 4, 4),), ("Conv",), attributes={"blocksize": 2}),
    Row("DepthToSpace", ((1, 18, 4, 4),), ((1, 2, 12, 12),), ("Gather", "DepthToSpace"),
        attributes={"blocksize": 3, "mode": "CRD"}),
    Row("Conv", ((1, 4, 20),), ((1, 6, 9),), ("Reshape", "Conv", "Reshape"), (drawn(6, 2, 3), drawn(6)),
        attributes={"group": 2, "strides": [2], "pads": [0, 0]}),
    Row("Resize", ((1, 2, 4, 6),), ((1, 2, 8, 18),), ("Resize",),
        (None, np.array([1, 1, 2, 3], np.float32)), attributes={"mode": "nearest"}),
    Row("ReduceMax", (IMAGE,), ((1, 6, 1, 1),), ("GlobalMaxPool",), attributes={"axes": [2, 3]}),
    Row("ReduceMin", (IMAGE,), ((1, 6),), ("Neg", "GlobalMaxPool", "Neg", "Reshape"),
        (np.array([-1, -2], np.int64),), attributes={"keepdims": 0}, opset=18),
    Row("ReduceSum", (IMAGE,), ((1, 1, 8, 8),), ("ReduceMean", "Mul"), (np.array([1], np.int64),)),
    Row("ReduceSumSquare", (IMAGE,), ((1, 6, 8),), ("Mul", "ReduceMean", "Mul"),
        attributes={"axes": [-1], "keepdims": 0}),
    Row("ReduceL2", (IMAGE,), ((1, 6, 8, 1),), ("Mul", "ReduceMean", "Mul", "Sqrt"),
        (np.array([3], np.int64),), opset=18),
    Row("MatMul", ((1, 5, 8),), ((1, 5, 3),), ("Reshape", "MatMul", "Reshape"), (drawn(8, 3),)),
    Row("MatMul", ((5, 8), (8, 3)), ((5, 3),), ("Reshape", "Reshape", "MatMul", "Reshape"), name="two values"),
    Row("Gemm", ((8, 5),), ((5, 3),), ("Reshape", "Transpose", "Reshape", "MatMul", "Mul", "Reshape", "Add"),
        (drawn(8, 3), drawn(5, 3)), attributes={"transA": 1, "alpha": 0.5, "beta": 2.0}, name="turned"),
    Row("Gemm", ((5, 8), (8, 3), (5, 1)), ((5, 3),), ("Reshape", "Reshape", "MatMul", "Mul", "Reshape", "Mul", "Add"),
        attributes={"alpha": 0.5, "beta": 2.0}, name="values"),
    Row("Gemm", ((5, 8),), ((5, 3),), ("Gemm", "Add"), (drawn(8, 3), drawn(5, 3)),
        attributes={"alpha": 0.5, "beta": 2.0}),
    Row("LayerNormalization", ((1, 5, 8),), ((1, 5, 8),),
        ("ReduceMean", "Sub", "Mul", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add"),
        (drawn(8), drawn(8, seed=8)), opset=17),
    Row("InstanceNormalization", (IMAGE,), (IMAGE,),
        ("ReduceMean", "Sub", "Mul", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add"), (drawn(6), drawn(6, seed=8))),
    Row("Split", (IMAGE,), ((1, 1, 8, 8), (1, 5, 8, 8)), ("Slice", "Slice"), (np.array([1, 5], np.int64),),
        attributes={"axis": 1}),
    Row("Split", (IMAGE,), ((1, 3, 8, 8), (1, 3, 8, 8)), ("Slice", "Slice"), attributes={"axis": 1}, opset=11,
        name="old"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.operator} {row.name}".strip())
def test_the_same_is_computed_and_all_is_taken(row: Row, tmp_path: Path) -> None:
    model = row.model()
    before = step_nets.claimed(model)
    made = step_nets.stepped(model, "nnapi-rewrites", tmp_path)
    assert [node.op_type for node in made.graph.node] == list(row.after)
    assert step_nets.worst_error(model, made) <= TOLERANCE
    given = step_nets.feeds(model)
    assert any(np.abs(one).max() > 1e-3 for one in step_nets.outputs(model, given)), "there is something to compare"
    basic = placed.graph(placed.optimized(made.SerializeToString(), "basic"))
    after = placed.placed(basic, 30)
    assert after.claimed_count > before.claimed_count
    assert after.claimed_count == len(basic.nodes), [one.reason for one in after.refused]


def test_every_rule_has_a_row() -> None:
    assert {row.operator for row in ROWS} | {"Transpose", "Reshape"} == set(REWRITES)


@pytest.mark.parametrize(("operator", "opset"), [("HardSwish", 14), ("Mish", 18)])
def test_functions_of_the_standard_are_rewritten_by_their_parts(operator: str, opset: int, tmp_path: Path) -> None:
    model = Row(operator, (IMAGE,), (IMAGE,), (), opset=opset).model()
    made = step_nets.stepped(model, "nnapi-rewrites", tmp_path)
    assert step_nets.worst_error(model, made) <= TOLERANCE
    assert not step_nets.claimed(made).refused


@pytest.mark.parametrize(
    ("five", "perm"),
    [((1, 2, 3, 8, 8), (0, 2, 1, 3, 4)), ((1, 6, 1, 8, 8), (0, 4, 3, 2, 1)), ((2, 3, 1, 4, 16), (1, 0, 3, 4, 2))],
)
def test_channels_are_shuffled_in_fewer_dimensions(five: Any, perm: Any, tmp_path: Path) -> None:
    make, turned = helper.make_node, [five[axis] for axis in perm]
    nodes = [
        make("Relu", ["x"], ["r"], "relu"),
        make("Reshape", ["r", "five"], ["f"], "open"),
        make("Transpose", ["f"], ["t"], "shuffle", perm=perm),
        make("Reshape", ["t", "four"], ["b"], "close"),
        make("Relu", ["b"], ["y"], "again"),
    ]
    constants = [
        numpy_helper.from_array(np.array(shape, np.int64), name) for name, shape in (("five", five), ("four", IMAGE))
    ]
    model = nets.model_of(nodes, [nets.value("x", IMAGE)], [nets.value("y", IMAGE)], constants)
    made = step_nets.stepped(model, "nnapi-rewrites", tmp_path)
    assert [node.op_type for node in made.graph.node] == ["Relu", "Reshape", "Transpose", "Reshape", "Relu"]
    assert step_nets.worst_error(model, made) == 0
    assert step_nets.claimed(model).claimed_count < 4 < step_nets.claimed(made).claimed_count, turned


def test_large_values_do_not_overflow(tmp_path: Path) -> None:
    for row in (one for one in ROWS if one.operator in ("Softplus", "Erf", "HardSigmoid")):
        made = step_nets.stepped(row.model(), "nnapi-rewrites", tmp_path)
        given = {"x0": np.linspace(-80, 80, 384, dtype=np.float32).reshape(IMAGE)}
        (want,), (have,) = step_nets.outputs(row.model(), given), step_nets.outputs(made, given)
        assert np.abs(want - have).max() <= 1e-6 * max(1.0, np.abs(want).max()), row.operator


def test_a_rewrite_that_nnapi_does_not_take_is_not_made(tmp_path: Path) -> None:
    """In five dimensions nothing is taken, so the Sum stays one node; the other is rewritten."""
    make = helper.make_node
    nodes = [make("Sum", ["a", "b"], ["s"], "large"), make("Sum", ["c", "d"], ["t"], "small")]
    inputs = [
        nets.value(name, shape)
        for name, shape in (("a", (1, 1, 2, 2, 2)), ("b", (1, 1, 2, 2, 2)), ("c", (3,)), ("d", (3,)))
    ]
    model = nets.model_of(nodes, inputs, [nets.value("s", (1, 1, 2, 2, 2)), nets.value("t", (3,))])
    made = step_nets.stepped(model, "nnapi-rewrites", tmp_path)
    assert sorted(node.op_type for node in made.graph.node) == ["Add", "Sum"]
    assert step_nets.worst_error(model, made) == 0


def test_what_nnapi_takes_is_left_alone(tmp_path: Path, mnist: Path) -> None:
    with pytest.raises(VariantError, match=r"^nnapi-rewrites: NNAPI refuses no node"):
        step_nets.stepped(onnx.load_model(str(mnist)), "nnapi-rewrites", tmp_path)


def test_where_there_is_no_rule_the_refusals_are_the_reason(tmp_path: Path) -> None:
    node = helper.make_node("ArgMax", ["x"], ["y"], "arg")
    model = nets.model_of([node], [nets.value("x", (3, 4))], [nets.value("y", (1, 4), TensorProto.INT64)])
    with pytest.raises(VariantError, match=r"no rewrite for what NNAPI refuses: .*ArgMax"):
        step_nets.stepped(model, "nnapi-rewrites", tmp_path)


@pytest.mark.parametrize(
    ("name", "before", "claimed", "nodes"), [("resnet50", 17, 107, 123), ("shufflenet", 30, 109, 154)]
)
def test_light_networks_become_one_partition(name: str, before: int, claimed: int, nodes: int, tmp_path: Path) -> None:
    model = onnx.load_model_from_string(placed.seeded(name))
    was = step_nets.claimed(model)
    assert (len(was.partitions), was.claimed_count) == (before, claimed)
    made = step_nets.stepped(model, "nnapi-rewrites", tmp_path)
    graph = placed.graph(placed.optimized(made.SerializeToString(), "basic"))
    now = placed.placed(graph, 30)
    assert (len(now.partitions), now.claimed_count) == (1, nodes)
    assert len(graph.nodes) == nodes
    assert step_nets.worst_error(model, made, seeds=1) <= TOLERANCE
