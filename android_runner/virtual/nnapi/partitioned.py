"""Builds the graph in which each partition is the body of an `If`: a session state of its own inside ONNX Runtime.

The condition is a scalar initializer that may be overridden, so nothing folds it and nobody has to feed it. A body's
nodes are optimized and planned apart, and no fusion crosses its border, as with an execution provider. Weights stay in
the main graph. The other branch gives zeros of the same shape, which keeps static shapes behind the partition.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from android_runner.nnapi.from_onnx import OVERRIDABLE_FROM_IR, overridable_names
from android_runner.nnapi.shapes import Types
from android_runner.virtual.nnapi.borders import Border, border, running_order
from android_runner.virtual.nnapi.half import HalfBody
from android_runner.virtual.nnapi.names import Namer, all_names
from android_runner.virtual.nnapi.wrong import WrongBody

CONDITION = "virtual_nnapi_takes_it"
_CONSTANT_OF_SHAPE_SINCE = 9


@dataclass(frozen=True, slots=True)
class Fused:
    """A partition in the built graph: its node's name, its nodes' places in the original graph, its border."""

    node_name: str
    members: tuple[int, ...]
    border: Border


def constants_of(model: Any) -> dict[str, Any]:
    """Initializers that nobody can override: all below IR 4, those that are no graph inputs from then on."""
    overridable = overridable_names(model)
    return {tensor.name: tensor for tensor in model.graph.initializer if tensor.name not in overridable}


def build_partitioned(
    model: onnx.ModelProto,
    types: Types,
    groups: Sequence[Sequence[int]],
    node_names: Sequence[str],
    *,
    half: bool,
    wrong: bool = False,
) -> tuple[onnx.ModelProto, tuple[Fused, ...]]:
    """A new model with one `If` for each group of nodes.

    `half` relaxes the groups to half precision, `wrong` has them compute something else.
    """
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    constants = constants_of(made)
    builder = _Builder(made, types, constants, half=half, wrong=wrong)
    order = running_order(graph, groups)
    fused = tuple(
        Fused(name, tuple(group), border(graph, group)) for name, group in zip(node_names, groups, strict=True)
    )
    nodes = [
        copy.deepcopy(graph.node[number]) if number >= 0 else builder.if_node(fused[-1 - number]) for number in order
    ]
    del graph.node[:]
    graph.node.extend(nodes)
    del graph.value_info[:]
    _add_condition(made, constants)
    _drop_unused(graph)
    return made, fused


class _Builder:
    """Makes the `If` nodes of one model."""

    def __init__(self, model: Any, types: Types, constants: Mapping[str, Any], *, half: bool, wrong: bool) -> None:
        self._graph = model.graph
        self._types = types
        self._namer = Namer(all_names(model.graph))
        opset = max((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), default=1)
        self._knows_constant_of_shape = opset >= _CONSTANT_OF_SHAPE_SINCE
        element_types = {name: kind for name, (kind, _) in types.items()}
        element_types |= {name: tensor.data_type for name, tensor in constants.items()}
        self._half = HalfBody(self._graph, self._namer, element_types, constants) if half else None
        self._wrong = WrongBody(self._graph, self._namer, element_types) if wrong else None

    def if_node(self, fused: Fused) -> Any:
        """The node that stands for a partition."""
        nodes = [copy.deepcopy(self._graph.node[at]) for at in fused.members]
        if self._half is not None:
            nodes = self._half.nodes(nodes, fused.border.inputs)
        if self._wrong is not None:
            nodes = self._wrong.nodes(nodes, fused.border.outputs)
        inner = {name: self._namer.fresh(f"{name}_inside") for name in fused.border.outputs}
        for node in nodes:
            for at, name in enumerate(node.input):
                node.input[at] = inner.get(name, name)
            for at, name in enumerate(node.output):
                node.output[at] = inner.get(name, name)
        outputs = fused.border.outputs
        then = helper.make_graph(
            nodes, f"{fused.node_name}_then", [], [self._value(name, inner[name]) for name in outputs]
        )
        return helper.make_node(
            "If", [CONDITION], list(outputs), fused.node_name, then_branch=then, else_branch=self._zeros(fused)
        )

    def _shape(self, name: str) -> tuple[int, tuple[int, ...]]:
        """Type and dims; onnxruntime tells a scalar as an unknown rank, and what NNAPI takes has a static shape."""
        kind, dims = self._types[name]
        return kind, dims or ()

    def _value(self, name: str, inner: str) -> Any:
        return helper.make_tensor_value_info(inner, *self._shape(name))

    def _zeros(self, fused: Fused) -> Any:
        nodes, outputs, shapes = [], [], []
        for name in fused.border.outputs:
            kind, dims = self._shape(name)
            given = self._namer.fresh(f"{name}_untaken")
            zeros = np.zeros(1, helper.tensor_dtype_to_np_dtype(kind))
            if self._knows_constant_of_shape:
                shape = self._namer.fresh(f"{name}_shape")
                shapes.append(numpy_helper.from_array(np.array(dims, np.int64), shape))
                nodes.append(
                    helper.make_node("ConstantOfShape", [shape], [given], value=numpy_helper.from_array(zeros))
                )
            else:
                full = np.zeros(dims, zeros.dtype)
                nodes.append(helper.make_node("Constant", [], [given], value=numpy_helper.from_array(full)))
            outputs.append(helper.make_tensor_value_info(given, kind, dims))
        return helper.make_graph(nodes, f"{fused.node_name}_else", [], outputs, shapes)


def _add_condition(model: Any, constants: Mapping[str, Any]) -> None:
    graph = model.graph
    if model.ir_version < OVERRIDABLE_FROM_IR:
        # Below, every initializer has to be listed as an input and is a constant all the same.
        kept = [item for item in graph.input if item.name not in constants]
        del graph.input[:]
        graph.input.extend(kept)
        model.ir_version = OVERRIDABLE_FROM_IR
    graph.initializer.append(helper.make_tensor(CONDITION, TensorProto.BOOL, [], [True]))
    graph.input.append(helper.make_tensor_value_info(CONDITION, TensorProto.BOOL, []))


def _drop_unused(graph: Any) -> None:
    """Leave out initializers that rounded copies have replaced."""
    used = {item.name for item in (*graph.input, *graph.output)}
    for node in graph.node:
        used.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                used |= all_names(attribute.g)
            for below in attribute.graphs:
                used |= all_names(below)
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    if len(kept) < len(graph.initializer):
        del graph.initializer[:]
        graph.initializer.extend(kept)


def tensor_bytes(kind: int, dims: Sequence[int]) -> int:
    """The size of a tensor's elements."""
    return math.prod(dims) * int(np.dtype(helper.tensor_dtype_to_np_dtype(kind)).itemsize)
