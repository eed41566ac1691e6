"""Pure: what NNAPI ran and what was left, from a trace: one event a partition and run, the nodes in it invisible.

Names: `NnapiExecutionProvider_Nnapi_<model hash>_<id>_<n>` (`NnapiExecutionProvider_NNAPI_<id>_<n>` in 1.8), from
`graph_partitioner.cc` and `nnapi_execution_provider.cc`. A partition's time includes the copies to the driver and back.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from android_runner.ort import ExecutionProvider
from android_runner.trace import NodeTime, TraceTable

NNAPI_PROVIDER = ExecutionProvider.NNAPI.ort_name
LAYOUT_OPERATOR = "Transpose"
"""The operator that the layout pass adds around what NNAPI took, whose layout is NHWC."""
_NUMBER = re.compile(r"(?<=_)[0-9]{1,9}(?=_|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTime:
    """One partition: executions and microseconds over all runs but the warm-up.

    `share` of the time in all nodes, 0-1.
    """

    name: str
    count: int
    total_us: int
    min_us: int
    max_us: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTable:
    """A trace split in three; times in microseconds, shares of the time in all nodes, 0-1.

    `layout` are Transposes that are no nodes of the model, `rest` all other nodes outside NNAPI, nodes in the bodies of
    others included. Where the model's nodes are not known, `layout` is empty and such nodes stand in `rest`. `complete`
    is the trace's.
    """

    partitions: tuple[PartitionTime, ...]
    layout: tuple[NodeTime, ...]
    rest: tuple[NodeTime, ...]
    nnapi_us: int
    layout_us: int
    rest_us: int
    complete: bool

    @property
    def all_us(self) -> int:
        """Time in all nodes."""
        return self.nnapi_us + self.layout_us + self.rest_us

    @property
    def nnapi_share(self) -> float:
        """Share of the time that was spent in NNAPI; 0.0 for a trace without a node."""
        return self.nnapi_us / self.all_us if self.all_us else 0.0


def partition_numbers(name: str) -> tuple[int, ...]:
    """The last two numbers of a partition's name, `<id>` and `<n>`; fewer where it has not two."""
    return tuple(int(number) for number in _NUMBER.findall(name)[-2:])


def partition_table(table: TraceTable, model_nodes: Collection[str] | None = None) -> PartitionTable:
    """Split a trace. `model_nodes` are the names of the model's own nodes, `<operator>_<index>` for one without."""
    taken = [row for row in table.nodes if row.provider == NNAPI_PROVIDER]
    others = [row for row in table.nodes if row.provider != NNAPI_PROVIDER]
    known = None if model_nodes is None else frozenset(model_nodes)
    layout = [row for row in others if known is not None and row.op_name == LAYOUT_OPERATOR and row.node not in known]
    added = set(map(id, layout))
    rest = [row for row in others if id(row) not in added]
    all_us = sum(row.self_us for row in table.nodes)
    return PartitionTable(
        partitions=tuple(
            PartitionTime(
                name=row.node,
                count=row.count,
                total_us=row.total_us,
                min_us=row.min_us,
                max_us=row.max_us,
                share=row.self_us / all_us if all_us else 0.0,
            )
            for row in taken
        ),
        layout=tuple(layout),
        rest=tuple(rest),
        nnapi_us=sum(row.self_us for row in taken),
        layout_us=sum(row.self_us for row in layout),
        rest_us=sum(row.self_us for row in rest),
        complete=table.complete,
    )
