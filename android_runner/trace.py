"""ORT's profile JSON, read line by line into time per node and per operator; no event is kept.

Format: `core/common/profiler.cc`, `core/framework/sequential_executor.cc`, ONNX Runtime 1.8-1.31: a JSON array with one
event a line, times in whole microseconds. The eras differ: `_fence_before`/`_fence_after` events (to 1.20), node names
without JSON escapes (to 1.30), more arguments (from 1.28). A process that is killed leaves an empty or cut file;
at most 1,000,000 events are recorded. Profiling disturbs: latencies are never taken from here.

**Bodies of If, Loop and Scan** are run by an executor of their own, on the thread of the node that holds them. ORT
writes a node's event when it ends, so those of a body, closed by the body's `…Executor::Execute`, come before the event
of their holder and lie inside its time. That is how they are told apart: `self_us` of a holder is its time without that
of the nodes in its body, so that the sum of all `self_us` counts nothing twice. With the parallel executor, nodes of a
body that ran on another thread than their holder can't be told apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from android_runner.errors import ReportUnreadable
from android_runner.trace_events import CHUNK_BYTES, MAX_EVENTS, MAX_NAME_CHARS, NodeSums, TraceEvents, bounded_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTime:
    """One node over all runs but the warm-up: executions and microseconds.

    `total_us` includes what ran in the node's body, `self_us` does not; `min_us` and `max_us` are of single executions,
    body included. `in_body` says that it ran in the body of another node. `device_kernels` are executions of kernels
    on a device that it launched, `device_us` their time there: beside its own on the host, not in it.
    """

    op_name: str
    provider: str
    node: str
    count: int
    total_us: int
    self_us: int
    min_us: int
    max_us: int
    in_body: bool
    device_kernels: int = 0
    device_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTime:
    """All nodes of one operator on one execution provider. `share` of the time in nodes, 0-1; shares add up to 1.

    `device_kernels` and `device_us` as in `NodeTime`.
    """

    op_name: str
    provider: str
    nodes: int
    count: int
    self_us: int
    share: float
    device_kernels: int = 0
    device_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceTable:
    """What a trace tells; microseconds. The first run is the warm-up: in `warm_up_us`, and nowhere else.

    `runs_us` are whole runs. Only nodes of runs that ended are counted. `complete` is False when anything is missing
    or was not understood; `problems` says what.
    """

    nodes: tuple[NodeTime, ...]
    runs_us: tuple[int, ...]
    warm_up_us: int | None
    session_initialization_us: int | None
    model_loading_us: int | None
    events: int
    problems: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether the whole of what ran stands here."""
        return not self.problems


def _table(read: TraceEvents) -> TraceTable:
    """The sums, with what is wrong."""
    rows = [_row(key, node) for key, node in read.nodes.items() if node.count]
    return TraceTable(
        nodes=tuple(sorted(rows, key=lambda row: (-row.self_us, row.node))),
        runs_us=tuple(read.runs_us[1:]),
        warm_up_us=read.runs_us[0] if read.runs_us else None,
        session_initialization_us=read.session.get("session_initialization"),
        model_loading_us=read.session.get("model_loading"),
        events=read.events,
        problems=_problems(read),
    )


def _problems(read: TraceEvents) -> tuple[str, ...]:
    """What is missing. The same inputs run the same nodes, so that each is there equally often in every run."""
    runs = len(read.runs_us) - 1
    uneven = sum(node.count == 0 or node.count % runs != 0 for node in read.nodes.values()) if runs > 0 else 0
    said = {
        "empty: the process was killed, or never ended its session": not read.events and not read.unread,
        "cut: the closing bracket is missing": bool(read.events) and not read.closed,
        f"full: ORT records {MAX_EVENTS} events and drops the rest": read.events >= MAX_EVENTS,
        f"{read.unread} lines are no events": bool(read.unread),
        f"{len(read.run)} nodes of a run that did not end are left out": bool(read.run),
        "no run after the warm-up": bool(read.events) and len(read.runs_us) < 2,
        "runs can't be told apart: lines are missing": max(read.executors, default=0) > 1 or len(read.executors) > 1,
        f"{uneven} nodes are not in every run alike: lines are missing or doubled, or inputs differed": bool(uneven),
    }
    return (*read.problems, *(problem for problem, holds in said.items() if holds))


def _row(key: tuple[bytes, bytes, bytes], node: NodeSums) -> NodeTime:
    op_name, provider = (_shown(part) for part in key[1:])
    return NodeTime(
        op_name=op_name,
        provider=provider,
        node=_shown(_unescaped(key[0]).removesuffix(b"_kernel_time")),
        count=node.count,
        total_us=node.total_us,
        self_us=node.self_us,
        min_us=node.min_us,
        max_us=node.max_us,
        in_body=node.in_body,
        device_kernels=node.device_kernels,
        device_us=node.device_us,
    )


def _unescaped(name: bytes) -> bytes:
    """A name as it was before JSON's escapes, where it has any: eras without them write it as it is."""
    if b"\\" not in name:
        return name
    try:
        return str(orjson.loads(b'"' + name + b'"')).encode(errors="replace")
    except ValueError:
        return name


def _shown(raw: bytes) -> str:
    text = raw[: 4 * MAX_NAME_CHARS].decode("utf-8", errors="replace")[:MAX_NAME_CHARS]
    return "".join(char if char.isprintable() else "?" for char in text)


def read_trace_chunks(chunks: Iterable[bytes]) -> TraceTable:
    """The table of a trace that comes in pieces of any size.

    Whatever is missing or not understood stands in `problems`. Raises ReportUnreadable when there is something, but
    not one event in it.
    """
    reader = TraceEvents()
    for line in bounded_lines(chunks, reader):
        reader.line(line)
        if reader.events > MAX_EVENTS:
            break
    if reader.unread and not reader.events:
        raise ReportUnreadable("the trace holds no event that ONNX Runtime writes")
    return _table(reader)


def read_trace(path: Path) -> TraceTable:
    """The table of the trace at `path`; as `read_trace_chunks`. Reads it once, in pieces of 1 MiB."""
    with path.open("rb") as file:
        return read_trace_chunks(iter(lambda: file.read(CHUNK_BYTES), b""))


def operators(table: TraceTable) -> list[OperatorTime]:
    """Time by operator and execution provider, most first; each microsecond in a node counts once."""
    groups: dict[tuple[str, str], list[NodeTime]] = {}
    for row in table.nodes:
        groups.setdefault((row.op_name, row.provider), []).append(row)
    all_us = sum(row.self_us for row in table.nodes)
    found = [
        OperatorTime(
            op_name=op_name,
            provider=provider,
            nodes=len(rows),
            count=sum(row.count for row in rows),
            self_us=sum(row.self_us for row in rows),
            share=sum(row.self_us for row in rows) / all_us if all_us else 0.0,
            device_kernels=sum(row.device_kernels for row in rows),
            device_us=sum(row.device_us for row in rows),
        )
        for (op_name, provider), rows in groups.items()
    ]
    return sorted(found, key=lambda row: (-row.self_us, row.op_name, row.provider))
