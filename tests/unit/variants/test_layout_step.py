"""Transposes that meet their opposite go; what is computed stays the same to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from orchestrator.errors import VariantError
from orchestrator.variants.other_nets import nhwc
from tests.unit.variants import nets, step_nets

IN, OUT = [0, 3, 1, 2], [0, 2, 3, 1]
SHAPE = (1, 5, 4, 3)


def between(nodes: Sequence[Any], constants: Sequence[Any] = (), out: Any = (1, 3, 5, 4), opset: int = 13) -> Any:
    """NCHW `x` and `z` turned to NHWC, `nodes` from `t` (and `u`) to `r`, and turned back."""
    make = helper.make_node
    around = [make("Transpose", ["x"], ["t"], "in", perm=OUT), make("Transpose", ["z"], ["u"], "in too", perm=OUT)]
    back = make("Transpose", ["r"], ["y"], "out", perm=IN)
    inputs = [nets.value(name, (1, 3, 5, 4)) for name in ("x", "z")]
    return nets.model_of([*around, *nodes, back], inputs, [nets.value("y", out)], constants, opset=opset)


def ints(name: str, *numbers: int) -> Any:
    return numpy_helper.from_array(np.array(numbers, np.int64), name)


MOVABLE = {
    "unary": ([helper.make_node("Sigmoid", ["t"], ["s"]), helper.make_node("Relu", ["s"], ["r"])], []),
    "two": ([helper.make_node("Sub", ["t", "u"], ["r"])], []),
    "bias": ([helper.make_node("Add", ["t", "w"], ["r"])], [nets.weights("w", 3)]),
    "plane": ([helper.make_node("Mul", ["w", "t"], ["r"])], [nets.weights("w", 5, 4, 1)]),
    "scalar": ([helper.make_node("Pow", ["t", "w"], ["r"])], [numpy_helper.from_array(np.float32(2), "w")]),
    "softmax": ([helper.make_node("Softmax", ["t"], ["r"], axis=-1)], []),
    "mean": (
        [helper.make_node("ReduceMean", ["t"], ["m"], axes=[1, 2]), helper.make_node("Mul", ["t", "m"], ["r"])],
        [],
    ),
    "clip": ([helper.make_node("Clip", ["t", "w"], ["r"])], [numpy_helper.from_array(np.float32(0), "w")]),
}


@pytest.mark.parametrize("name", MOVABLE)
def test_nothing_is_left_of_two_that_cancel(name: str, tmp_path: Path) -> None:
    nodes, constants = MOVABLE[name]
    model = between(nodes, constants)
    made = step_nets.stepped(model, "no-tf-transposes", tmp_path)
    assert "Transpose" not in [node.op_type for node in made.graph.node]
    assert step_nets.worst_error(model, made) <= 1e-6


def test_axes_are_renamed(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Concat", ["t", "u"], ["c"], axis=3),
        helper.make_node("Pad", ["c", "pads"], ["r"]),
    ]
    model = between(nodes, [ints("pads", 0, 1, 2, 0, 0, 3, 0, 1)], out=(1, 7, 9, 6))
    made = step_nets.stepped(model, "no-tf-transposes", tmp_path)
    assert sorted(node.op_type for node in made.graph.node) == ["Concat", "Identity", "Pad"]
    assert step_nets.worst_error(model, made) == 0


def test_axes_given_as_an_input(tmp_path: Path) -> None:
    nodes = [helper.make_node("ReduceMean", ["t", "axes"], ["m"]), helper.make_node("Mul", ["t", "m"], ["r"])]
    model = between(nodes, [ints("axes", -1)], opset=18)
    made = step_nets.stepped(model, "no-tf-transposes", tmp_path)
    assert sorted(node.op_type for node in made.graph.node) == ["Identity", "Mul", "ReduceMean"]
    assert step_nets.worst_error(model, made) <= 1e-6


def test_a_value_that_others_read_keeps_its_order(tmp_path: Path) -> None:
    """`r` is an output too, in NHWC: one Transpose has to stay."""
    model = between([helper.make_node("Sub", ["t", "u"], ["r"])])
    model.graph.output.append(nets.value("r", (1, 5, 4, 3)))
    made = step_nets.stepped(model, "no-tf-transposes", tmp_path)
    assert [node.op_type for node in made.graph.node].count("Transpose") == 1
    assert step_nets.worst_error(model, made) == 0


def test_a_value_that_is_not_turned_stops_it(tmp_path: Path) -> None:
    make = helper.make_node
    nodes = [
        make("Transpose", ["x"], ["t"], perm=OUT),
        make("Add", ["t", "z"], ["r"]),
        make("Transpose", ["r"], ["y"], perm=IN),
    ]
    inputs = [nets.value("x", (1, 3, 5, 4)), nets.value("z", SHAPE)]
    model = nets.model_of(nodes, inputs, [nets.value("y", (1, 3, 5, 4))])
    with pytest.raises(VariantError, match=r"^no-tf-transposes: no layout transposes that cancel"):
        step_nets.stepped(model, "no-tf-transposes", tmp_path)


def test_an_nhwc_export_keeps_the_one_at_its_input(tmp_path: Path) -> None:
    model = nhwc(1)
    made = step_nets.stepped(model, "no-tf-transposes", tmp_path)
    before, after = ([node.op_type for node in one.graph.node].count("Transpose") for one in (model, made))
    assert (before, after) == (8, 1)
    assert step_nets.worst_error(model, made) <= 1e-6
