"""Pure: what ONNX Runtime's NNAPI execution provider takes of a graph, and why not the rest.

After `NnapiExecutionProvider::GetCapability` (`core/providers/nnapi/nnapi_builtin/nnapi_execution_provider.cc`) and
`GetCapabilityForEP` (`core/framework/graph_partitioner.cc`) of ONNX Runtime 1.21.

The graph is what the phone's ONNX Runtime has when it asks: after the optimizations of level basic for `.onnx`, as it
is for `.ort`. What is left out: the layout pass puts Transposes around convolutions and pooling and asks again. It
moves them as far as it can, also through nodes of the CPU. Where one comes to stand before a lone Reshape, the two are
kept, and here the Reshape is dropped. At API 27, which has no Transpose, those around BatchNormalization and
DepthToSpace cut partitions further (`Placement.caveat`).
"""

from __future__ import annotations

from collections.abc import Sequence

from android_runner.nnapi.builders import why_not
from android_runner.nnapi.case import UINT8, Case, Unit, Why
from android_runner.nnapi.graph import Graph
from android_runner.nnapi.groups import group
from android_runner.nnapi.levels import LEVEL_2, MIN_LEVEL, feature_level
from android_runner.nnapi.placement import NOT_CHECKED, Partition, Placement, Refusal
from android_runner.nnapi.qdq import units_of
from android_runner.nnapi.target import NnapiTarget
from android_runner.nnapi.wiring import wiring_of
from android_runner.ort import NnapiFlag

LAYOUT_OPSETS = range(7, 23)
"""Opsets of models that the layout transformer takes (`kMinSupportedOpset`, `kMaxSupportedOpset`)."""
_LAYOUT_OPS = frozenset((
    "AveragePool", "BatchNormalization", "Conv", "DepthToSpace", "GlobalAveragePool", "GlobalMaxPool", "LRN", "MaxPool",
    "QLinearAveragePool", "QLinearConv", "Resize",
))  # fmt: skip
_COPIES = ("Reshape", "Flatten", "Identity")
_INTERNAL_UINT8 = ("Transpose", "Resize", "Concat", "MaxPool")


def claim(graph: Graph, target: NnapiTarget) -> Placement:
    """Which nodes NNAPI takes, in which partitions. Raises ValueError where the graph has a cycle."""
    level = feature_level(target)
    why = _nothing_at_all(graph, target, level)
    if why:
        refused = tuple(Refusal(at, why.reason, why.rule) for at in range(len(graph.nodes)))
        return Placement((), refused, (), level, why.reason)
    return _Asking(graph, target, level).placement()


def _nothing_at_all(graph: Graph, target: NnapiTarget, level: int) -> Why | None:
    if {NnapiFlag.CPU_DISABLED, NnapiFlag.CPU_ONLY} <= target.flags:
        return Why("devices", "Both NNAPI_FLAG_CPU_DISABLED and NNAPI_FLAG_CPU_ONLY are set")
    if NnapiFlag.NCHW not in target.flags and graph.opset not in LAYOUT_OPSETS:
        return Why(
            "opset",
            f"the model's opset {graph.opset} is not one that the layout transformer takes "
            f"({LAYOUT_OPSETS.start} to {LAYOUT_OPSETS.stop - 1}), so NNAPI gets nothing",
        )
    if level < MIN_LEVEL:
        return Why("api-level", f"NNAPI's feature level {level} is below {MIN_LEVEL}, the least that is used")
    return None


class _Asking:
    """Asks each unit once, as the execution provider does, and groups what is taken."""

    def __init__(self, graph: Graph, target: NnapiTarget, level: int) -> None:
        self._graph = graph
        self._level = level
        self._nchw = NnapiFlag.NCHW in target.flags
        self._wiring = wiring_of(graph)
        self._units = units_of(graph, self._wiring)
        self._stopped = self._wiring.downstream(_of_type(graph, target.stop_ops))
        self._behind_layout = self._behind()
        self._answers: dict[int, Why | None] = {}

    def _behind(self) -> frozenset[int]:
        """Nodes behind an operator whose layout changes; read on API 28 only, where the axis of Softmax counts."""
        if self._nchw or self._level != LEVEL_2:
            return frozenset()
        return self._wiring.downstream(_of_type(self._graph, _LAYOUT_OPS))

    def placement(self) -> Placement:
        """The answer, each node in one place."""
        partitions: list[Partition] = []
        dropped: list[Refusal] = []
        for taken in group(self._units, self._wiring, self._is_taken):
            nodes = tuple(sorted(node for at in taken for node in self._units[at].members))
            why = self._given_up(nodes)
            if why:
                dropped.extend(Refusal(node, why.reason, why.rule) for node in nodes)
            else:
                partitions.append(Partition(nodes))
        refused = [
            Refusal(node, why.reason, why.rule)
            for at, why in self._answers.items()
            if why
            for node in self._units[at].members
        ]
        by_node = sorted(refused, key=lambda refusal: refusal.node)
        caveat = self._caveat(partitions)
        return Placement(tuple(partitions), tuple(by_node), tuple(dropped), self._level, caveat=caveat)

    def _caveat(self, partitions: Sequence[Partition]) -> str:
        if self._nchw or self._level >= LEVEL_2:
            return ""
        taken = {self._graph.nodes[at].op_type for partition in partitions for at in partition.nodes}
        around = sorted(taken & _LAYOUT_OPS)
        if not around:
            return ""
        return (
            f"{NOT_CHECKED}the Transposes around {' and '.join(around)}, which API 27 lacks, may cut partitions further"
        )

    def _is_taken(self, at: int, taken: Sequence[int]) -> bool:
        if at not in self._answers:
            self._answers[at] = self._ask(self._units[at], taken)
        return self._answers[at] is None

    def _ask(self, unit: Unit, taken: Sequence[int]) -> Why | None:
        if unit.target in self._stopped:
            return Why("stop-op", "an operator that ends what NNAPI gets, or behind one")
        behind = unit.target in self._behind_layout
        case = Case(self._graph, unit, self._level, self._nchw, behind)
        return why_not(case) or self._fed_from_outside(case, taken)

    def _fed_from_outside(self, case: Case, taken: Sequence[int]) -> Why | None:
        """Operators that take uint8 as it comes must get it within the partition (`IsNodeSupportedInGroup`)."""
        if case.unit.is_qdq or case.op not in _INTERNAL_UINT8 or case.input(0).elem_type != UINT8:
            return None
        inside = {name for at in taken for name in self._graph.nodes[self._units[at].target].outputs}
        names = case.node.inputs if case.op == "Concat" else case.node.inputs[:1]
        if inside.issuperset(names):
            return None
        return Why("quantization", f"{case.op} of uint8 must get its input from within its partition")

    def _given_up(self, nodes: tuple[int, ...]) -> Why | None:
        """Why a group is not made into an NNAPI model."""
        members = [self._graph.nodes[at] for at in nodes]
        if len(members) == 1 and members[0].op_type in _COPIES:
            return Why("lone-node", f"a lone {members[0].op_type} only copies, so it is left to the CPU")
        made: set[str] = set()
        for node in members:
            if any(name and name not in made and not self._graph.value(name).constant for name in node.inputs):
                return None
            made.update(node.outputs)
        return Why("constant-inputs", "its partition would have constant inputs only")


def _of_type(graph: Graph, operators: frozenset[str]) -> list[int]:
    return [at for at, node in enumerate(graph.nodes) if node.op_type in operators]
