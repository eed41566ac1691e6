"""Pure: what ONNX Runtime's log says of NNAPI: which nodes it took, for which devices, and why not the others.

Written with `-v` only, but for the summary of more than one partition. On Android the text is in the phone's log
(`read_phone_log`), elsewhere on stderr, coloured. Formats: `nnapi_execution_provider.cc`, `nnapi_api_helper.cc`,
`inference_session.cc` of ONNX Runtime 1.8-1.31; a partitioner that works twice, before and after the layout pass, says
everything twice, and the last counts. That one also counts the layout pass's own Transposes as nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from android_runner.phone_log import MAX_LINE_CHARS, MAX_LOG_BYTES, PhoneLog, read_phone_log

LOG_TAG = "onnxruntime"
MAX_NODES = 100_000
MAX_PASSES = 16
MAX_DEVICES = 64
MAX_NAME_CHARS = 1000
MAX_REASON_CHARS = 300
MAX_REASONS = 3
MAX_PROBLEMS = 20

DEVICE_TYPES = {0: "unknown", 1: "other", 2: "cpu", 3: "gpu", 4: "accelerator"}
"""`DeviceTypeCode` of Android's NeuralNetworksTypes.h."""

_ANSI = re.compile(r"\x1b\[[0-9;]{0,20}m")
_MESSAGE = re.compile(
    r"(?:\S{1,40} \S{1,40})? ?\[([VIWEF]):[^:\]]{0,64}:[^,\]]{0,200}, "
    r"([^\s\]:]{1,200}):?\d{0,9} ?[^\]]{0,200}\] ?(.*)",
    re.DOTALL,
)
_SUMMARY = re.compile(
    r"GetCapability, number of partitions supported by NNAPI: (\d{1,9}),? number of nodes in the graph: (\d{1,9}),? "
    r"number of nodes supported by NNAPI: (\d{1,9})"
)
_NODE = re.compile(
    r"Node supported: \[([01])\] Operator type: \[([^\]]{0,200})\] index: \[(\d{1,9})\] name: \[(.*)\]"
    r" as part of the NodeUnit type: \[[^\]]{0,200}\] index: \[\d{1,9}\] name: \[.*\]"
)
_OLD_NODE = re.compile(r"Operator type: \[([^\]]{0,200})\] index: \[(\d{1,9})\] name: \[(.*)\] supported: \[([01])\]")
_LEVEL = re.compile(r"Effective NNAPI feature level: (-?\d{1,9})")
_TOO_OLD = re.compile(r"All ops will fallback to CPU EP, because [^\[]{0,100}\[(-?\d{1,9})\] is lower than .{0,200}")
_OPSET = re.compile(r"NnapiExecutionProvider cannot be used with this model due to its ONNX opset.{0,200}")
_DEVICES = re.compile(r"Found devices \[(.*)\] in NNAPI")
_DEVICE = re.compile(r"\[Name: \[([^\]]{0,200})\], Type \[(-?\d{1,9})\]\]")
_PLACED = re.compile(r" ?(?:All nodes|Node\(s\)) placed on \[([^\]]{1,200})\]\. Number of nodes: (\d{1,9})")
_REASON_FILE = re.compile(r"(?:\w*op_builder\w*|op_support_checker|helper)\.cc|virtual_nnapi")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClaim:
    """What the EP said of one node; `index` is ORT's own. `reason`: what it said right before, "" when nothing."""

    index: int
    op_type: str
    name: str
    supported: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """One summary of `GetCapability`, and the nodes that were told before it.

    None are told where the log is not verbose; of a quantised unit (DequantizeLinear, operator, QuantizeLinear) today's
    partitioner tells the operator alone. A supported node that is not claimed was alone in its group, or its group had
    only constant inputs.
    """

    partitions: int
    graph_nodes: int
    claimed_nodes: int
    nodes: tuple[NodeClaim, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What one process said of NNAPI.

    `devices` as (name, type in words), None where the log does not tell them (before 1.15, or not verbose); an empty
    tuple is an empty list. `placements` are nodes by execution provider, as the session counted them in the end.
    `nothing_because`: why the EP took nothing without looking at a node (feature level, opset), in its words, else "".
    `problems` say what may be missing.
    """

    capabilities: tuple[Capability, ...]
    devices: tuple[tuple[str, str], ...] | None
    feature_level: int | None
    placements: tuple[tuple[str, int], ...]
    nothing_because: str
    problems: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing was lost on the way."""
        return not self.problems

    @property
    def partitions(self) -> int | None:
        """Partitions of the last capability, 0 where nothing was taken beforehand; None when it is not known."""
        return self._counted("partitions")

    @property
    def claimed_nodes(self) -> int | None:
        """Nodes that NNAPI took, layout Transposes included; None when it is not known."""
        return self._counted("claimed_nodes")

    def _counted(self, name: str) -> int | None:
        if not self.known:
            return None
        return 0 if self.last is None else int(getattr(self.last, name))

    @property
    def last(self) -> Capability | None:
        """The capability that counts."""
        return self.capabilities[-1] if self.capabilities else None

    @property
    def nodes(self) -> tuple[NodeClaim, ...]:
        """The nodes of the last capability."""
        return self.capabilities[-1].nodes if self.capabilities else ()

    @property
    def known(self) -> bool:
        """Whether it is certain how much NNAPI took."""
        return self.complete and bool(self.nothing_because or self.capabilities)

    @property
    def why_not_known(self) -> str:
        """Why it is not, in words; "" when it is."""
        if self.known:
            return ""
        return "; ".join(self.problems) or "the log says nothing of what NNAPI took"


def from_phone_log(log: PhoneLog) -> Assignment:
    """What the trial's process said in the phone's log."""
    return read_assignment((line.text for line in log.lines if line.tag == LOG_TAG), log.problems)


def from_stderr(data: bytes, max_bytes: int = MAX_LOG_BYTES) -> Assignment:
    """What a process said on stderr, where ORT's log goes on everything but Android; colours are taken out."""
    text = data[:max_bytes].decode("utf-8", errors="replace")
    return read_assignment(text.split("\n"), ("the log is longer than is read",) if len(data) > max_bytes else ())


def speaks(data: bytes) -> bool:
    """Whether a stream holds what ORT logs with `-v` only."""
    return b"[V:onnxruntime:" in data or b"[I:onnxruntime:" in data


def assignment_of(log: bytes | None, stderr: bytes) -> Assignment:
    """What a trial's process said, in the phone's log (as it was kept; None where there is none) or on stderr."""
    kept = read_phone_log(log) if log is not None else None
    if kept is not None and any(line.tag == LOG_TAG for line in kept.lines):
        return from_phone_log(kept)
    if speaks(stderr):
        return from_stderr(stderr)
    return read_assignment((), kept.problems if kept is not None else ("the phone has no log",))


def read_assignment(lines: Iterable[str], problems: Iterable[str] = ()) -> Assignment:
    """Lines of ORT's log, in order, each with its `[V:onnxruntime:…]` head, as an assignment. Never raises.

    `problems` are known beforehand, of how the lines were got.
    """
    reader = _Reader(dict.fromkeys(problems))
    for line in lines:
        reader.take(_ANSI.sub("", line[:MAX_LINE_CHARS]))
    return reader.assignment()


@dataclass(slots=True)
class _Reader:
    """Collects one process's lines."""

    problems: dict[str, None]
    capabilities: list[Capability] = field(default_factory=list)
    nodes: dict[int, NodeClaim] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    devices: tuple[tuple[str, str], ...] | None = None
    feature_level: int | None = None
    placements: dict[str, int] = field(default_factory=dict)
    nothing_because: str = ""

    def take(self, line: str) -> None:
        """One line; what is not about NNAPI is passed over."""
        found = _MESSAGE.match(line)
        if found is None:
            return
        level, file, text = found.groups()
        if self._node(text) or self._summary(text) or self._facts(text):
            return
        if level in "VIW" and _REASON_FILE.fullmatch(file.rsplit("/", 1)[-1]):
            self.reasons = [*self.reasons[1 - MAX_REASONS :], _shown(text, MAX_REASON_CHARS)]

    def _node(self, text: str) -> bool:
        if "upported: [" not in text or "Operator type: [" not in text:
            return False
        new, old = _NODE.match(text), _OLD_NODE.match(text)
        if new is not None:
            told, op_type, index, name = new.groups()
        elif old is not None:
            op_type, index, name, told = old.groups()
        else:
            self._problem("a line about a node was cut or not understood")
            return True
        if len(self.nodes) >= MAX_NODES:
            self._problem(f"more than {MAX_NODES} nodes: the others are left out")
            return True
        claim = NodeClaim(
            index=int(index),
            op_type=_shown(op_type, 200),
            name=_shown(name, MAX_NAME_CHARS),
            supported=told == "1",
            reason="" if told == "1" else "; ".join(self.reasons),
        )
        # A node on the border of a group is asked twice; the second answer is remembered, and has no reason.
        if claim.reason or claim.index not in self.nodes:
            self.nodes[claim.index] = claim
        self.reasons = []
        return True

    def _summary(self, text: str) -> bool:
        if "GetCapability, number of partitions" not in text:
            return False
        found = _SUMMARY.search(text)
        if found is None:
            self._problem("the summary of GetCapability was cut or not understood")
            return True
        partitions, graph_nodes, claimed = (int(number) for number in found.groups())
        if claimed > graph_nodes or partitions > graph_nodes:
            self._problem(f"the summary of GetCapability contradicts itself: {partitions}, {graph_nodes}, {claimed}")
            return True
        nodes = tuple(self.nodes[index] for index in sorted(self.nodes))
        if len(self.capabilities) >= MAX_PASSES:
            self._problem(f"more than {MAX_PASSES} summaries")
            self.capabilities.pop()
        self.capabilities.append(
            Capability(partitions=partitions, graph_nodes=graph_nodes, claimed_nodes=claimed, nodes=nodes)
        )
        self.nodes, self.reasons = {}, []
        return True

    def _facts(self, text: str) -> bool:
        if (found := _LEVEL.match(text)) is not None:
            self.feature_level = int(found[1])
            self.reasons = []
        elif (found := _TOO_OLD.match(text)) is not None:
            self.nothing_because = _shown(found[0], MAX_REASON_CHARS)
            self.feature_level = int(found[1])
        elif (found := _OPSET.match(text)) is not None:
            self.nothing_because = _shown(found[0], MAX_REASON_CHARS)
        elif (found := _DEVICES.match(text)) is not None:
            self._devices(found[1])
        elif text.strip() == "Node placements":
            self.placements = {}
        elif (found := _PLACED.match(text)) is not None and len(self.placements) < MAX_DEVICES:
            self.placements[_shown(found[1], 200)] = int(found[2])
        else:
            return False
        return True

    def _devices(self, listed: str) -> None:
        found = _DEVICE.findall(listed)
        if len(found) > MAX_DEVICES or (not found and listed.strip(" ,")):
            self._problem("the list of NNAPI devices was not understood")
            return
        self.devices = tuple(
            (_shown(name, 200), DEVICE_TYPES.get(int(number), f"type {number}")) for name, number in found
        )

    def _problem(self, what: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems[what] = None

    def assignment(self) -> Assignment:
        """What was collected."""
        if self.nodes:
            self._problem("nodes are told, but no summary of GetCapability follows")
        return Assignment(
            capabilities=tuple(self.capabilities),
            devices=self.devices,
            feature_level=self.feature_level,
            placements=tuple(self.placements.items()),
            nothing_because=self.nothing_because,
            problems=tuple(self.problems),
        )


def _shown(text: str, most: int) -> str:
    return "".join(char if char.isprintable() else "?" for char in text[:most]).strip()
