"""Pure: why NNAPI leaves nodes to the CPU, brought back to what is wrong with the model.

The claim rules name what they tripped over. Several of those have one cause that a person can mend: initializers among
the inputs make constants variable, half precision and int8 are refused by type, fused operators are unknown.
"""

from __future__ import annotations

from collections.abc import Callable

from android_runner.nnapi.graph import Graph, Node
from android_runner.nnapi.placement import Refusal
from orchestrator.variants.checks.facts import ModelFacts

DYNAMIC_QUANTIZATION = ("ConvInteger", "DynamicQuantizeLinear", "DynamicQuantizeMatMul", "MatMulInteger",
                        "MatMulIntegerToFloat", "DynamicQuantizeLSTM")  # fmt: skip
RUNTIME_DOMAINS = ("com.microsoft", "com.ms.internal")
"""Where onnxruntime's own operators are, those of its layouts too."""
_INT8, _FLOAT16 = 3, 10
_OPSET, _TYPES = ("opset",), ("type", "quantization")


def cause_of(facts: ModelFacts, graph: Graph, refusal: Refusal) -> str:
    """The id of the finding that a refused node belongs to."""
    node = graph.nodes[refusal.node]
    for rules, cause, applies in _CAUSES:
        if (not rules or refusal.rule in rules) and applies(facts, graph, node):
            return cause
    return f"nnapi-{refusal.rule}"


def _always(_facts: ModelFacts, _graph: Graph, _node: Node) -> bool:
    return True


def _overridable(facts: ModelFacts, _graph: Graph, node: Node) -> bool:
    return not set(facts.overridable).isdisjoint(node.inputs)


def _half(_facts: ModelFacts, graph: Graph, node: Node) -> bool:
    return any(graph.value(name).elem_type == _FLOAT16 for name in (*node.inputs, *node.outputs))


def _int8(_facts: ModelFacts, graph: Graph, node: Node) -> bool:
    """Values of int8, its own or those that feed its inputs by DequantizeLinear."""
    names = {*node.inputs, *node.outputs}
    around = [one for one in graph.nodes if not names.isdisjoint((*one.inputs, *one.outputs))]
    quantized = [one for one in around if one.op_type in ("DequantizeLinear", "QuantizeLinear") or one is node]
    return any(
        graph.value(name).elem_type == _INT8 and not graph.value(name).constant
        for one in quantized
        for name in (*one.inputs, *one.outputs)
    )


def _dynamically_quantized(_facts: ModelFacts, _graph: Graph, node: Node) -> bool:
    return node.op_type in DYNAMIC_QUANTIZATION


def _fused(_facts: ModelFacts, _graph: Graph, node: Node) -> bool:
    return node.domain.startswith(RUNTIME_DOMAINS)


def _holds_graphs(_facts: ModelFacts, _graph: Graph, node: Node) -> bool:
    return node.has_subgraph


def _rewritable(facts: ModelFacts, _graph: Graph, node: Node) -> bool:
    return node.name in facts.rewritable


def _from_inputs(facts: ModelFacts, graph: Graph, _node: Node) -> bool:
    return bool(facts.free_dims) and graph is not facts.fixed_graph


_Applies = Callable[[ModelFacts, Graph, Node], bool]
_CAUSES: tuple[tuple[tuple[str, ...], str, _Applies], ...] = (  # of the rules named, of any where none is
    (_OPSET, "opset-nnapi", _always),
    (("constant-input", "quantization"), "initializers-in-inputs", _overridable),
    (_TYPES, "fp16-tensors", _half),
    (_TYPES, "int8-activations", _int8),
    (("no-builder",), "dynamic-quantization", _dynamically_quantized),
    (("no-builder", "domain"), "fused-operators", _fused),
    (("no-builder",), "subgraphs", _holds_graphs),
    ((), "nnapi-rewritable", _rewritable),
    (("dynamic-shape",), "dynamic-shapes", _from_inputs),
    (("dynamic-shape",), "shapes-from-data", _always),
    (("external-data",), "external-data", _always),
)
