"""Pure: a graph cut into units.

Nodes between DequantizeLinear and QuantizeLinear are claimed together with these; that is not modelled yet.
"""

from __future__ import annotations

from android_runner.nnapi.case import Unit
from android_runner.nnapi.graph import Graph
from android_runner.nnapi.units import single
from android_runner.nnapi.wiring import Wiring

_AROUND = ("DequantizeLinear", "QuantizeLinear")


def units_of(graph: Graph, wiring: Wiring) -> tuple[Unit, ...]:
    """Every node as a unit, those that touch DequantizeLinear or QuantizeLinear marked `is_qdq`."""
    ends = {at for at, node in enumerate(graph.nodes) if node.op_type in _AROUND}
    near = ends | {edge.consumer for at in ends for edge in wiring.outgoing[at]}
    near |= {edge.source for at in ends for edge in wiring.incoming[at]}
    units = [single(graph, at) for at in range(len(graph.nodes))]
    return tuple(Unit(u.target, u.members, u.inputs, u.outputs, True) if u.target in near else u for u in units)
