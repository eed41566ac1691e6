"""Events of ORT's profile JSON, line by line, summed per node: the inner half of `android_runner.trace`.

The known spelling of a line is matched by one expression and never parsed as JSON: that is several times faster, and
reads names that are not escaped. Everything else goes through a JSON parser, and if that fails is counted as unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

MAX_EVENTS = 1_000_000
"""ORT's own bound (`global_max_num_events_`); what comes after it is dropped by ORT, and by us."""

MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_NODES = 100_000
MAX_NAME_CHARS = 1000
MAX_US = 1 << 53
CHUNK_BYTES = 1 << 20

_EVENT = re.compile(
    rb'\{"cat" : "(\w{1,32})","pid" :-?\d{1,18},"tid" :(-?\d{1,18}),"dur" :(-?\d{1,18}),"ts" :(-?\d{1,18}),"ph" : "X",'
    rb'"name" :"([^"]*|.*?)","args" : \{'
)
OP_NAME = b'"op_name" : "'
PROVIDER = b'"provider" : "'
_PARENT = b'"parent_name" : "'


@dataclass(slots=True)
class NodeSums:
    """Sums of one node, growing."""

    count: int = 0
    total_us: int = 0
    self_us: int = 0
    min_us: int = MAX_US
    max_us: int = 0
    in_body: bool = False
    device_kernels: int = 0
    device_us: int = 0


Ended = tuple[int, int, "NodeSums | tuple[NodeSums, ...]"]
"""What ended on a thread: its start, the time of nodes in it, and the node, or all nodes of a body."""


def _take_since(ended: list[Ended], start_us: int) -> list[Ended]:
    """Remove what started at or after `start_us`: it lies inside what ends now."""
    first = len(ended)
    while first and ended[first - 1][0] >= start_us:
        first -= 1
    inside = ended[first:]
    del ended[first:]
    return inside


class TraceEvents:
    """Events in, table out.

    A device's kernels (`Kernel` events of CUDA, ROCm and plug-in providers) belong to the node that their `parent_name`
    says; where they have none (before 1.15), to the node before them: ORT lists them behind the node that launched them
    (`core/common/gpu_profiler_common.h`, `MergeEvents`).

    `executors`: how many of them a run had on its own thread and outside of any node; one, where all is there.
    """

    def __init__(self) -> None:
        self.nodes: dict[tuple[bytes, bytes, bytes], NodeSums] = {}
        self.ended: dict[bytes, list[Ended]] = {}
        self.names: dict[bytes, NodeSums] = {}
        self.last: NodeSums | None = None
        self.run: list[tuple[NodeSums, int, int]] = []
        self.run_kernels: list[tuple[NodeSums, int]] = []
        self.runs_us: list[int] = []
        self.executors: set[int] = set()
        self.session: dict[str, int] = {}
        self.events = 0
        self.unread = 0
        self.closed = False
        self.problems: dict[str, None] = {}

    def line(self, line: bytes) -> None:
        """Take one line; what is no event is counted, never raised."""
        found = _EVENT.match(line)
        if found is not None and line.endswith((b"}}", b"}},")):
            category, tid, dur, start, name = found.groups()
            self.events += 1
            if category == b"Kernel":
                self.kernel(text_argument(line, _PARENT), int(dur))
            elif category != b"Node":
                self.other(name.decode("utf-8", errors="replace"), tid, int(start), int(dur))
            elif name.endswith(b"_kernel_time"):
                key = (name, text_argument(line, OP_NAME), text_argument(line, PROVIDER))
                self.node(key, tid, int(start), int(dur))
        elif (bare := line.strip()) == b"]":
            self.closed = True
        elif bare not in (b"", b"["):
            self._other_spelling(bare)

    def _other_spelling(self, line: bytes) -> None:
        """An event with other spaces or order of keys than ORT's: JSON is JSON."""
        try:
            event: Any = orjson.loads(line.removesuffix(b","))
            name, args = str(event["name"]), event.get("args") or {}
            tid, start_us, dur_us = b"%d" % int(event.get("tid", 0)), int(event["ts"]), int(event["dur"])
            op_name, provider, parent = (
                str(args.get(key, "")).encode(errors="replace") for key in ("op_name", "provider", "parent_name")
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            self.unread += 1
            return
        self.events += 1
        if event.get("cat") == "Kernel":
            self.kernel(parent, dur_us)
        elif event.get("cat") != "Node":
            self.other(name, tid, start_us, dur_us)
        elif name.endswith("_kernel_time"):
            self.node((orjson.dumps(name)[1:-1], op_name, provider), tid, start_us, dur_us)

    def node(self, key: tuple[bytes, bytes, bytes], tid: bytes, start_us: int, dur_us: int) -> None:
        """A node ended: count it when its run has ended too."""
        if not (0 <= dur_us < MAX_US and 0 <= start_us < MAX_US) or len(self.run) >= MAX_EVENTS:
            self.unread += 1
            return
        node = self.nodes.get(key)
        if node is None:
            if len(self.nodes) >= MAX_NODES:
                self.problems[f"more than {MAX_NODES} nodes: the others are left out"] = None
                return
            node = self.nodes[key] = self.names[key[0]] = NodeSums()
        ended = self.ended.get(tid)
        if ended is None:
            ended = self.ended[tid] = []
        inside_us = 0
        if ended and ended[-1][0] >= start_us:
            for _, time_us, body in _take_since(ended, start_us):
                inside_us += time_us
                for each in body if isinstance(body, tuple) else ():
                    each.in_body = True
        ended.append((start_us, dur_us, node))
        self.last = node
        self.run.append((node, dur_us, dur_us - inside_us if inside_us < dur_us else 0))

    def kernel(self, parent: bytes, dur_us: int) -> None:
        """A kernel ran on the device: it counts with the run of the node that launched it."""
        node = self.names.get(parent) if parent else self.last
        if not 0 <= dur_us < MAX_US:
            self.unread += 1
        elif node is not None:
            self.run_kernels.append((node, dur_us))

    def other(self, name: str, tid: bytes, start_us: int, dur_us: int) -> None:
        """A session's event ended: a run, the executor of a graph or body, or a step of loading."""
        if not 0 <= dur_us < MAX_US:
            self.unread += 1
        elif name == "model_run":
            self._run_ended(tid, dur_us)
        elif name.endswith("Executor::Execute"):
            ended = self.ended.setdefault(tid, [])
            inside = _take_since(ended, start_us)
            ended.append((start_us, sum(each[1] for each in inside), _nodes_of(inside)))
        elif name in ("session_initialization", "model_loading_uri", "model_loading_array"):
            self.session.setdefault(name.removesuffix("_uri").removesuffix("_array"), dur_us)

    def _run_ended(self, tid: bytes, dur_us: int) -> None:
        self.executors.add(sum(isinstance(what, tuple) for _, _, what in self.ended.get(tid, ())))
        if self.runs_us:
            for node, total_us, self_us in self.run:
                node.count += 1
                node.total_us += total_us
                node.self_us += self_us
                node.min_us = min(node.min_us, total_us)
                node.max_us = max(node.max_us, total_us)
            for node, device_us in self.run_kernels:
                node.device_kernels += 1
                node.device_us += device_us
        self.runs_us.append(dur_us)
        self.run.clear()
        self.run_kernels.clear()
        self.last = None
        self.ended.clear()


def _nodes_of(ended: Iterable[Ended]) -> tuple[NodeSums, ...]:
    return tuple(node for _, _, what in ended for node in (what if isinstance(what, tuple) else (what,)))


def text_argument(line: bytes, key: bytes) -> bytes:
    """The text behind `key`, the last in the line (names stand before all arguments); it has no quotes in it."""
    at = line.rfind(key)
    return line[at + len(key) :].split(b'"', 1)[0] if at >= 0 else b""


def event_head(line: bytes) -> tuple[str, int, int, int, str] | None:
    """Category, thread, duration and start in microseconds, and name of a line in ORT's own spelling; None for others.

    It reads names that are not escaped, which no JSON parser does.
    """
    found = _EVENT.match(line)
    if found is None:
        return None
    category, tid, dur, start, name = found.groups()
    return category.decode(), int(tid), int(dur), int(start), name.decode("utf-8", errors="replace")


def bounded_lines(chunks: Iterable[bytes], reader: TraceEvents) -> Iterator[bytes]:
    """Lines without their ends; over-long ones are counted as unread and never held."""
    rest, skipping = b"", False
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if skipping and lines:
            del lines[0]
            skipping = False
        yield from lines
        if len(rest) > MAX_LINE_BYTES:
            reader.unread += not skipping
            rest, skipping = b"", True
        elif skipping:
            rest = b""
    yield rest
