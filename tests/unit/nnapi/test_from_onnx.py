"""A graph out of a ModelProto, and the shapes out of a session."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from android_runner.nnapi.from_onnx import graph_of, node_positions
from android_runner.nnapi.graph import MAX_ELEMENTS
from android_runner.nnapi.shapes import expose_all, types_of
from android_runner.nnapi.since import _VERSIONS, since_version
from tests.unit.nnapi import placed


def _model(nodes: list[Any], constants: list[Any] = [], inputs: list[Any] | None = None, ir: int = 8) -> Any:  # noqa: B006
    given = inputs or [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, "N", 4])]
    result = [helper.make_empty_tensor_value_info(nodes[-1].output[0])]
    graph = helper.make_graph(nodes, "g", given, result, constants)
    return helper.make_model(graph, ir_version=ir, opset_imports=[helper.make_opsetid("", 17)])


def test_inputs_shapes_and_attributes() -> None:
    node = helper.make_node(
        "Resize", ["x", "", "scales"], ["y"], "n", mode="linear", cubic_coeff_a=-0.5, exclude_outside=1, axes=[1, 2]
    )
    graph = graph_of(_model([node], [numpy_helper.from_array(np.array([1, 2, 2], np.float32), "scales")]), {})
    (only,) = graph.nodes
    assert (only.name, only.op_type, only.domain, only.since_version) == ("n", "Resize", "", 13)
    assert only.inputs == ("x", "", "scales")
    assert only.attributes == {"mode": "linear", "cubic_coeff_a": -0.5, "exclude_outside": 1, "axes": (1, 2)}
    assert graph.value("x").dims == (1, -1, 4)
    assert not graph.value("x").fixed
    assert (graph.value("scales").constant, graph.value("scales").elements) == (True, (1.0, 2.0, 2.0))
    assert (graph.inputs, graph.outputs, graph.opset) == (("x",), ("y",), 17)
    assert graph.value("y").dims is None


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "i2", "i1", "u1", "u2", "?"])
@pytest.mark.parametrize("raw", [True, False])
def test_elements_of_small_constants(dtype: str, raw: bool) -> None:
    values = np.array([0, 1, 1, 0] if dtype == "?" else [3, 0, 1, 100], dtype)
    tensor = numpy_helper.from_array(values, "w")
    if not raw:
        tensor = helper.make_tensor("w", tensor.data_type, [4], values.tolist())
    graph = graph_of(_model([helper.make_node("Relu", ["x"], ["y"])], [tensor]), {})
    assert graph.value("w").elements == tuple(values.tolist())


def test_large_and_broken_constants_have_no_elements() -> None:
    large = numpy_helper.from_array(np.zeros(MAX_ELEMENTS + 1, np.float32), "large")
    broken = TensorProto(name="broken", data_type=TensorProto.FLOAT, dims=[2], raw_data=b"\0\0\0")
    odd = TensorProto(name="odd", data_type=TensorProto.FLOAT, dims=[-2], raw_data=b"\0\0\0")
    text = helper.make_tensor("text", TensorProto.STRING, [1], [b"a"])
    graph = graph_of(_model([helper.make_node("Relu", ["x"], ["y"])], [large, broken, odd, text]), {})
    for name in ("large", "broken", "odd", "text"):
        assert graph.value(name).constant
        assert graph.value(name).elements is None


def test_external_data_is_told() -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    value = graph_of(_model([helper.make_node("Add", ["x", "w"], ["y"])], [tensor]), {}).value("w")
    assert (value.external, value.constant, value.elements) == (True, True, None)


@pytest.mark.parametrize(("ir", "constant"), [(3, True), (4, False), (8, False)])
def test_an_initializer_that_is_an_input_can_be_overridden_from_ir_4_on(ir: int, constant: bool) -> None:
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", "w")]
    weight = numpy_helper.from_array(np.ones(2, np.float32), "w")
    graph = graph_of(_model([helper.make_node("Add", ["x", "w"], ["y"])], [weight], inputs, ir), {})
    assert graph.value("w").constant is constant
    assert graph.inputs == (("x",) if constant else ("x", "w"))


def test_constant_nodes_are_constants_and_no_nodes() -> None:
    nodes = [
        helper.make_node("Constant", [], ["a"], value=numpy_helper.from_array(np.array([5], np.int64))),
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Constant", [], ["b"], value_float=0.5),
        helper.make_node("Constant", [], ["c"], value_ints=[1, 2]),
        helper.make_node("Constant", [], ["d"], value_string="t"),
        helper.make_node("Add", ["r", "b"], ["y"]),
    ]
    model = _model(nodes)
    graph = graph_of(model, {})
    assert [node.op_type for node in graph.nodes] == ["Relu", "Add"]
    assert node_positions(model) == (1, 5)
    found = {name: (graph.value(name).elem_type, graph.value(name).dims, graph.value(name).elements) for name in "abcd"}
    assert found == {"a": (7, (1,), (5,)), "b": (1, (), (0.5,)), "c": (7, (2,), (1, 2)), "d": (0, None, None)}


def test_nodes_come_in_topological_order() -> None:
    nodes = [
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
    ]
    assert node_positions(_model(nodes)) == (1, 2, 0)
    nodes.append(helper.make_node("Relu", ["d"], ["d"]))
    with pytest.raises(ValueError, match="cycle"):
        node_positions(_model(nodes))


def test_what_a_subgraph_takes_from_outside() -> None:
    inner = helper.make_graph(
        [helper.make_node("Add", ["outer", "own"], ["sum"]), helper.make_node("Mul", ["sum", "x"], ["out"])],
        "body",
        [],
        [helper.make_empty_tensor_value_info("out")],
        [numpy_helper.from_array(np.ones(1, np.float32), "own")],
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["outer"]),
        helper.make_node("If", ["cond"], ["y"], then_branch=inner, else_branch=inner),
    ]
    relu, branch = graph_of(_model(nodes), {}).nodes
    assert (relu.has_subgraph, branch.has_subgraph) == (False, True)
    assert branch.implicit == ("outer", "x")
    assert branch.attributes == {}


def test_a_type_that_is_no_tensor() -> None:
    sequence = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None)
    graph = graph_of(_model([helper.make_node("SequenceAt", ["x", "i"], ["y"])], [], [sequence]), {})
    assert (graph.value("x").elem_type, graph.value("x").dims) == (0, None)


def test_every_shape_comes_from_a_session() -> None:
    """Also behind operators that ONNX's own shape inference does not know."""
    graph = placed.known("squeezenet", "extended")
    assert any(node.domain == "com.microsoft" for node in graph.nodes)
    for node in graph.nodes:
        for name in (*node.inputs, *node.outputs):
            assert not name or graph.value(name).fixed, name
            assert not name or graph.value(name).elem_type


def test_expose_all_names_each_once() -> None:
    model: Any = onnx.load_model_from_string(placed.samples.mnist())
    before = [value.name for value in model.graph.output]
    added = expose_all(model)
    assert [value.name for value in model.graph.output] == [*before, *added]
    assert len(added) == 11
    assert expose_all(model) == ()


class _Said:
    def __init__(self, name: str, type_: str, shape: list[Any]) -> None:
        self.name, self.type, self.shape = name, type_, shape


def test_types_as_onnxruntime_says_them() -> None:
    said = [
        _Said("a", "tensor(float)", [1, "N", None, 3]),
        _Said("b", "tensor(int64)", []),
        _Said("c", "seq(tensor(float))", []),
        _Said("d", "tensor(double)", [2]),
        _Said("e", "tensor(float16)", [0]),
        _Said("f", "tensor(uint8)", [-1]),
    ]
    assert types_of(said) == {
        "a": (1, (1, -1, -1, 3)),
        "b": (7, None),
        "c": (0, None),
        "d": (11, (2,)),
        "e": (10, (0,)),
        "f": (2, (-1,)),
    }


def test_versions_are_those_of_onnx() -> None:
    """Each operator of the table at each opset that this onnx knows."""
    newest = onnx.defs.onnx_opset_version()
    for op in _VERSIONS:
        for opset in range(7, newest + 1):
            if onnx.defs.has(op, opset, ""):
                expected = onnx.defs.get_schema(op, opset, "").since_version
                assert since_version(op, "", opset) == expected, (op, opset)
    assert since_version("FusedConv", "com.microsoft", 13) == 1
    assert since_version("Erf", "", 13) == 13
