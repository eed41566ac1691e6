"""Ask onnxruntime which operators of a model its CPU provider has no kernel for: it names only the first by itself.

Each operator is asked alone, once for each combination of input types, which come from onnx's shape inference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.variants.checks.facts import MissingKernel
from orchestrator.variants.converter import runtime_errors
from orchestrator.variants.graph import ELEMENT_TYPES
from orchestrator.variants.sessions import session

_MAX_ASKED = 400
_NO_KERNEL = "Could not find an implementation"
_NAMED = re.compile(_NO_KERNEL + r" for ([\w.:]+)\(\d+\) node with name '([^']*)'")
_Signature = tuple[str, str, tuple[int, ...]]


def is_about_kernels(words: str) -> bool:
    """Whether onnxruntime refused a model for want of a kernel."""
    return _NO_KERNEL in words


def missing_kernels(model: Any, custom_ops: Sequence[str] = ()) -> tuple[MissingKernel, ...]:
    """Operators of the main graph without a kernel on the CPU, `model` a ModelProto that onnxruntime refused.

    `custom_ops` are libraries of operators that it may have.
    """
    types = _types_of(model)
    nodes: dict[_Signature, list[Any]] = {}
    for node in model.graph.node:
        asked = (node.domain, node.op_type, tuple(types.get(name, 0) for name in node.input))
        nodes.setdefault(asked, []).append(node)
    found = []
    for (_, operator, inputs), same in list(nodes.items())[:_MAX_ASKED]:
        if _lacks(model, same[0], types, custom_ops):
            names = tuple(ELEMENT_TYPES.get(one, "?") for one in dict.fromkeys(inputs) if one)
            found.append(
                MissingKernel(operator=operator, types=names, nodes=tuple(node.name or node.op_type for node in same))
            )
    return tuple(found)


def named_kernel(words: str) -> tuple[MissingKernel, ...]:
    """The one that onnxruntime itself names: it may lie in a graph within a node, where nothing is asked alone."""
    found = _NAMED.search(words)
    if found is None:
        return ()
    return (MissingKernel(operator=found[1], types=(), nodes=(found[2] or found[1],)),)


def _types_of(model: Any) -> Mapping[str, int]:
    import onnx  # noqa: PLC0415

    try:
        shaped = onnx.shape_inference.infer_shapes(model)
    except Exception:  # noqa: BLE001 - a foreign tool; without it the declared types are left
        shaped = model
    graph = shaped.graph
    types = {value.name: value.type.tensor_type.elem_type for value in (*graph.value_info, *graph.output, *graph.input)}
    return types | {tensor.name: tensor.data_type for tensor in graph.initializer}


def _lacks(model: Any, node: Any, types: Mapping[str, int], custom_ops: Sequence[str]) -> bool:
    """Whether a model of this node alone is refused for want of a kernel."""
    import onnx  # noqa: PLC0415
    from onnx import helper  # noqa: PLC0415

    names = list(dict.fromkeys(name for name in node.input if name))
    constants = {tensor.name: tensor for tensor in model.graph.initializer if tensor.name in names}
    inputs = [helper.make_tensor_value_info(n, types.get(n) or 1, None) for n in names if n not in constants]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "one", inputs, outputs, list(constants.values()))
    alone = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    try:
        session(alone.SerializeToString(), custom_ops)
    except runtime_errors() as error:
        return is_about_kernels(str(error))
    return False
