"""Pure: a graph cut into units: DequantizeLinear, an operator, QuantizeLinear together, every other node alone.

After `core/optimizer/qdq_transformer/selectors_actions/shared/utils.cc` (`GetAllNodeUnits`), `qdq_selectors.cc` beside
it and `core/framework/node_unit.cc` of ONNX Runtime 1.21. All operators that can be such a unit count, also those that
NNAPI then does not take: a unit is taken or left as a whole.
"""

from __future__ import annotations

from android_runner.nnapi.case import Io, Unit
from android_runner.nnapi.graph import Graph
from android_runner.nnapi.qdq_kinds import KINDS, VERSIONS
from android_runner.nnapi.qdq_selection import Selection, is_redundant
from android_runner.nnapi.units import single
from android_runner.nnapi.wiring import Wiring

_BEFORE, _AFTER = "DequantizeLinear", "QuantizeLinear"
_DOMAINS = ("", "com.microsoft")


def units_of(graph: Graph, wiring: Wiring) -> tuple[Unit, ...]:
    """Every node in exactly one unit, in the order of the units' targets."""
    home: dict[int, Unit] = {}
    if any(node.op_type in (_BEFORE, _AFTER) for node in graph.nodes):
        for at in range(len(graph.nodes)):
            selection = _select(graph, wiring, at)
            unit = None if selection is None else _unit(selection)
            if unit is not None and home.keys().isdisjoint(unit.members):
                home |= dict.fromkeys(unit.members, unit)
    units = [home[at] if at in home else single(graph, at) for at in range(len(graph.nodes))]
    return tuple(unit for at, unit in enumerate(units) if unit.target == at)


def _select(graph: Graph, wiring: Wiring, at: int) -> Selection | None:
    """`NodeGroupSelector::GetQDQSelection`."""
    node = graph.nodes[at]
    fits = KINDS.get(node.op_type)
    if fits is None or node.domain not in _DOMAINS:
        return None
    if node.since_version not in VERSIONS.get(node.op_type, (node.since_version,)):
        return None
    clip = _clip_behind(graph, wiring, at)
    before = [edge.source for edge in wiring.incoming[at] if graph.nodes[edge.source].op_type == _BEFORE]
    leaving = wiring.outgoing[at if clip is None else clip]
    after = [edge for edge in leaving if graph.nodes[edge.consumer].op_type == _AFTER]
    ordered = [edge.consumer for edge in sorted(after, key=lambda edge: edge.output)]
    if clip is not None and (len(ordered) != 1 or not is_redundant(graph, clip, ordered[0])):
        return None
    selection = Selection(graph, wiring, at, clip, tuple(before), tuple(ordered))
    return selection if fits(selection) else None


def _clip_behind(graph: Graph, wiring: Wiring, at: int) -> int | None:
    """A Relu or Clip that is all that follows."""
    leaving = wiring.outgoing[at]
    if len(leaving) != 1:
        return None
    after = leaving[0].consumer
    node = graph.nodes[after]
    is_last = len(wiring.outgoing[after]) == 1 and not set(node.outputs) & set(graph.outputs)
    return after if node.op_type in ("Relu", "Clip") and is_last else None


def _unit(selection: Selection) -> Unit:
    graph, at = selection.graph, selection.target
    target = graph.nodes[at]
    given = {edge.place: edge.source for edge in selection.wiring.incoming[at] if edge.source in selection.before}
    inputs = [
        _quantized(graph, given[place], graph.nodes[given[place]].inputs[0]) if place in given else Io(name)
        for place, name in enumerate(target.inputs)
    ]
    last = at if selection.clip is None else selection.clip
    taken: dict[int, int] = {}
    for edge in selection.wiring.outgoing[last]:
        if edge.consumer in selection.after:
            taken.setdefault(edge.output, edge.consumer)
    outputs = [
        _quantized(graph, taken[place], graph.nodes[taken[place]].outputs[0]) if place in taken else Io(name)
        for place, name in enumerate(graph.nodes[last].outputs)
    ]
    members = {*selection.before, at, last, *selection.after}
    return Unit(at, tuple(sorted(members)), tuple(inputs), tuple(outputs), is_qdq=True)


def _quantized(graph: Graph, converter: int, name: str) -> Io:
    """The quantized value `name` with the scale and zero point of the node that converts it."""
    inputs = graph.nodes[converter].inputs
    return Io(name, inputs[1] if len(inputs) > 1 else "", inputs[2] if len(inputs) == 3 else None)
