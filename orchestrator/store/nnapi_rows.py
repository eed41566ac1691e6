"""Pure: what NNAPI took, as cells of the frames `placements`, `claims` and `partitions`."""

from __future__ import annotations

from collections.abc import Sequence

from android_runner.assignment import Assignment
from android_runner.partitions import partition_numbers, partition_table
from android_runner.trace import TraceTable
from orchestrator.store.frame_rows import Cells


def placement_cells(said: Assignment) -> Cells:
    """A row of `placements`, without what says of which attempt it is."""
    last = said.last
    first = said.capabilities[0] if len(said.capabilities) > 1 else None
    return {
        "known": said.known,
        "why": said.why_not_known or said.nothing_because or None,
        "partitions": said.partitions,
        "nodes_claimed": said.claimed_nodes,
        "nodes_in_graph": None if last is None or not said.known else last.graph_nodes,
        "nodes_before_layout": None if first is None or not said.known else first.graph_nodes,
        "claimed_before_layout": None if first is None or not said.known else first.claimed_nodes,
        "devices": said.devices,
        "feature_level": said.feature_level,
        "placed": said.placements or None,
    }


def claim_cells(said: Assignment) -> list[Cells]:
    """The rows of `claims` of one introspection."""
    return [
        {
            "step": number,
            "last": number == len(said.capabilities),
            "index": node.index,
            "operator": node.op_type,
            "node": node.name,
            "supported": node.supported,
            "reason": node.reason or None,
        }
        for number, capability in enumerate(said.capabilities, start=1)
        for node in capability.nodes
    ]


def partition_cells(
    trace: TraceTable, pieces: Sequence[tuple[str, ...]] = (), on_cpu: TraceTable | None = None
) -> list[Cells]:
    """The rows of `partitions` of one trace, by the numbers in their names.

    `pieces` are the nodes that the partitions should have; they count when they are as many. `on_cpu` is a trace of
    the CPU on the same graph.
    """
    table = partition_table(trace)
    ordered = sorted(table.partitions, key=lambda one: partition_numbers(one.name))
    known = list(pieces) if len(pieces) == len(ordered) else [()] * len(ordered)
    return [
        {
            "partition": one.name,
            "count": one.count,
            "runs": len(trace.runs_us),
            "total_s": one.total_us / 1e6,
            "min_s": one.min_us / 1e6,
            "max_s": one.max_us / 1e6,
            "share": one.share,
            "nodes": list(nodes) or None,
            "mean_s": one.total_us / one.count / 1e6 if one.count else None,
            "cpu_mean_s": _cpu_mean_s(nodes, on_cpu),
            "complete": table.complete,
        }
        for one, nodes in zip(ordered, known, strict=True)
    ]


def _cpu_mean_s(nodes: Sequence[str], on_cpu: TraceTable | None) -> float | None:
    if on_cpu is None or not nodes or not on_cpu.runs_us:
        return None
    times_us = {row.node: row.total_us for row in on_cpu.nodes if not row.in_body}
    if not times_us.keys() >= set(nodes):
        return None
    return sum(times_us[name] for name in nodes) / len(on_cpu.runs_us) / 1e6
