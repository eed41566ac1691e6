"""Pure: what NNAPI took, as cells of the frames `placements`, `claims` and `partitions`."""

from __future__ import annotations

from android_runner.assignment import Assignment
from android_runner.partitions import partition_table
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


def partition_cells(trace: TraceTable) -> list[Cells]:
    """The rows of `partitions` of one trace."""
    table = partition_table(trace)
    return [
        {
            "partition": one.name,
            "count": one.count,
            "runs": len(trace.runs_us),
            "total_s": one.total_us / 1e6,
            "min_s": one.min_us / 1e6,
            "max_s": one.max_us / 1e6,
            "share": one.share,
            "complete": table.complete,
        }
        for one in table.partitions
    ]
