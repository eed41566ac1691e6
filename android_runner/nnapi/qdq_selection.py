"""Pure: a possible quantized group, and the questions that all kinds of groups share.

After `CanCreateNodeGroup` in `core/framework/node_unit.cc`, `CheckQDQNodes` in
`core/optimizer/qdq_transformer/selectors_actions/qdq_selectors.cc` and `core/optimizer/qdq_transformer/qdq_util.cc` of
ONNX Runtime 1.21.
"""

from __future__ import annotations

from dataclasses import dataclass

from android_runner.nnapi.case import FLOAT
from android_runner.nnapi.graph import Graph, Node, Value
from android_runner.nnapi.wiring import Wiring

_RANGES = {2: (0, 255), 3: (-128, 127), 4: (0, 65535), 5: (-32768, 32767)}
_UINT8 = 2
_PAIR_VERSIONS = (10, 13, 19, 21)
_FLOATS = (1, 10, 16)


@dataclass(frozen=True, slots=True)
class Selection:
    """DequantizeLinear nodes `before` a target, a Relu or Clip (`clip`) that QuantizeLinear makes redundant, and the
    QuantizeLinear nodes `after`: indices into `graph.nodes`."""

    graph: Graph
    wiring: Wiring
    target: int
    clip: int | None
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def node(self) -> Node:
        """The target."""
        return self.graph.nodes[self.target]

    def type_in(self, at: int) -> int:
        """Element type of what the DequantizeLinear at position `at` reads."""
        return self._value(self.graph.nodes[self.before[at]].inputs, 0).elem_type

    def type_out(self, at: int = 0) -> int:
        """Element type of what the QuantizeLinear at position `at` writes."""
        return self._value(self.graph.nodes[self.after[at]].outputs, 0).elem_type

    def _value(self, names: tuple[str, ...], at: int) -> Value:
        return self.graph.value(names[at]) if at < len(names) else Value("")

    def ends(self, at: int) -> bool:
        """Whether a node makes an output of the graph."""
        return bool(set(self.graph.nodes[at].outputs) & set(self.graph.outputs))

    def has_nodes(self, before: int | None = None, *, after_optional: bool = False) -> bool:
        """`before` DequantizeLinear nodes (None: one for each input), and a QuantizeLinear for each output."""
        wanted = sum(1 for name in self.node.inputs if name) if before is None else before
        if wanted != len(self.before) or not self.can_be():
            return False
        if not self.after:
            return after_optional
        outputs = sum(1 for name in self.node.outputs if name)
        edges = len(self.wiring.outgoing[self.target])
        return outputs == len(self.after) == edges and not self.ends(self.target)

    def can_be(self) -> bool:
        """Each DequantizeLinear is for the target alone, and an output goes to QuantizeLinear only or not at all."""
        for at in self.before:
            leaving = self.wiring.outgoing[at]
            if self.ends(at) or len(leaving) != 1 or leaving[0].consumer != self.target:
                return False
        if self.clip is not None:
            return self._clip_is_alone(self.clip)
        return not self.after or self._outputs_are_one_kind()

    def _clip_is_alone(self, clip: int) -> bool:
        behind, further = self.wiring.outgoing[self.target], self.wiring.outgoing[clip]
        return not self.ends(self.target) and len(behind) == 1 and not self.ends(clip) and len(further) == 1

    def _outputs_are_one_kind(self) -> bool:
        quantized: set[int] = set()
        plain: set[int] = set()
        for edge in self.wiring.outgoing[self.target]:
            is_quantize = self.graph.nodes[edge.consumer].op_type == "QuantizeLinear"
            (quantized if is_quantize else plain).add(edge.output)
        names = {self.node.outputs[output] for output in quantized}
        return not quantized & plain and not names & set(self.graph.outputs)

    def is_pair(self) -> bool:
        """The first DequantizeLinear and QuantizeLinear have one and the same constant scale and zero point."""
        read, written = (self.graph.nodes[ends[0]] for ends in (self.before, self.after))
        return all(map(_has_known_version, (read, written))) and _same_scalars(self.graph, read, written)


def _has_known_version(node: Node) -> bool:
    return node.domain == "com.microsoft" or node.since_version in _PAIR_VERSIONS


def _same_scalars(graph: Graph, one: Node, other: Node) -> bool:
    if len(one.inputs) != 3 or len(other.inputs) != 3:
        return False
    for place in (1, 2):
        a, b = graph.value(one.inputs[place]), graph.value(other.inputs[place])
        if not (is_scalar(a) and is_scalar(b)) or a.elements is None:
            return False
        if a.elem_type != b.elem_type or a.elements != b.elements:
            return False
    return graph.value(one.inputs[1]).elem_type in _FLOATS


def is_scalar(value: Value) -> bool:
    """A constant of one element with at most one dimension."""
    return value.constant and value.dims in ((), (1,))


def has_constant_scalars(graph: Graph, node: Node) -> bool:
    """Whether a DequantizeLinear has a scale and a zero point that are constants of one element."""
    return len(node.inputs) > 2 and all(is_scalar(graph.value(name)) for name in node.inputs[1:3])


def is_redundant(graph: Graph, clip: int, quantize: int) -> bool:
    """Whether a Relu or Clip changes nothing that the QuantizeLinear behind it would not (`IsClipMadeRedundantByQ`)."""
    found = _range_of(graph, graph.nodes[quantize])
    if found is None:
        return False
    scale, zero_point, low, high = found
    node = graph.nodes[clip]
    if node.op_type == "Relu":
        return zero_point == low
    bounds = _clip_bounds(graph, node)
    if bounds is None or scale == 0:
        return False
    clip_low, clip_high = (round(max(-1e9, min(1e9, bound / scale))) + zero_point for bound in bounds)
    return clip_low <= low and clip_high >= high


def _range_of(graph: Graph, quantize: Node) -> tuple[float, int, int, int] | None:
    """Scale, zero point, and the type's range; None where they are not single constants."""
    scale = graph.value(quantize.inputs[1]) if len(quantize.inputs) > 1 else Value("")
    if not scale.constant or scale.dims != () or scale.elem_type != FLOAT or not scale.elements:
        return None
    zero_point, elem_type = 0, _UINT8
    if len(quantize.inputs) == 3 and quantize.inputs[2]:
        zero = graph.value(quantize.inputs[2])
        if not zero.constant or zero.dims != () or not zero.elements:
            return None
        zero_point, elem_type = int(zero.elements[0]), zero.elem_type
    else:
        wanted = quantize.attributes.get("output_dtype", 0)
        elem_type = wanted if isinstance(wanted, int) and wanted else _UINT8
    if elem_type not in _RANGES:
        return None
    return (float(scale.elements[0]), zero_point, *_RANGES[elem_type])


def _clip_bounds(graph: Graph, node: Node) -> tuple[float, float] | None:
    """Clip's constants; None where one is no constant."""
    bounds = [-3.4028234663852886e38, 3.4028234663852886e38]
    for at, name in enumerate(("min", "max")):
        if node.since_version < 11:
            given = node.attributes.get(name, bounds[at])
            bounds[at] = float(given) if isinstance(given, int | float) else bounds[at]
        elif len(node.inputs) > at + 1 and node.inputs[at + 1]:
            value = graph.value(node.inputs[at + 1])
            if not value.constant or not value.elements:
                return None
            bounds[at] = float(value.elements[0])
    return bounds[0], bounds[1]
