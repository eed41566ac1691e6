"""Pure: what NNAPI takes of a graph at each API level, and from which level on it could take each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from android_runner.nnapi.claim import claim
from android_runner.nnapi.graph import Graph, Node
from android_runner.nnapi.placement import Placement, Refusal
from android_runner.nnapi.target import NnapiTarget
from android_runner.nnapi.work import multiply_adds

API_LEVELS = (27, 28, 29, 30)
"""No rule of the execution provider looks above 30."""
HIGHEST = API_LEVELS[-1]
MAX_ROWS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelRow:
    """One API level: pieces, nodes in them, share of the multiply-adds (None where a shape is not known)."""

    api_level: int
    partitions: int
    nodes_taken: int
    nodes: int
    multiply_adds_share: float | None
    caveat: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """A node that not every API level takes: from which on it is taken (None: none), and why not at the highest, or
    at the last level that leaves it."""

    node: str
    operator: str
    possible_at: int | None
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usability:
    """What NNAPI makes of one graph."""

    levels: tuple[LevelRow, ...]
    nodes: tuple[NodeRow, ...]

    @property
    def highest(self) -> LevelRow:
        """The row of API 30 and above."""
        return self.levels[-1]

    @property
    def answer(self) -> str:
        """NO, MAYBE or YES by the measure of onnxruntime's checker (`PartitioningInfo.suitability`)."""
        return suitability(self.highest.partitions, self.highest.nodes_taken, self.highest.nodes)


def suitability(partitions: int, taken: int, nodes: int) -> str:
    """YES for one piece with over three quarters of the nodes; MAYBE for one with over half, or two with over three
    quarters; after `onnxruntime/tools/mobile_helpers/usability_checker.py`."""
    share = taken / nodes if nodes else 0.0
    if partitions == 1:
        return "YES" if share > 0.75 else "MAYBE" if share > 0.5 else "NO"
    return "MAYBE" if partitions == 2 and share > 0.75 else "NO"


def placements_of(graph: Graph) -> dict[int, Placement]:
    """The claim at each API level, without flags, devices not known."""
    return {level: claim(graph, NnapiTarget(api_level=level)) for level in API_LEVELS}


def usability(graph: Graph, placements: Mapping[int, Placement]) -> Usability:
    """The levels, and the nodes that not all of them take (the first `MAX_ROWS`)."""
    work = [multiply_adds(graph, node) for node in graph.nodes]
    rows = tuple(_level(level, work, placement) for level, placement in placements.items())
    return Usability(levels=rows, nodes=tuple(_nodes(graph, placements))[:MAX_ROWS])


def level_row(graph: Graph, api_level: int) -> LevelRow:
    """What NNAPI makes of a graph at one API level, without flags, devices not known."""
    work = [multiply_adds(graph, node) for node in graph.nodes]
    return _level(api_level, work, claim(graph, NnapiTarget(api_level=api_level)))


def _level(level: int, work: list[int | None], placement: Placement) -> LevelRow:
    taken = [at for partition in placement.partitions for at in partition.nodes]
    known = [one for one in work if one is not None]
    share = None
    if len(known) == len(work) and any(known):
        share = float(sum(known[at] for at in taken)) / sum(known)
    return LevelRow(
        api_level=level,
        partitions=len(placement.partitions),
        nodes_taken=len(taken),
        nodes=len(work),
        multiply_adds_share=share,
        caveat=placement.caveat,
    )


def _nodes(graph: Graph, placements: Mapping[int, Placement]) -> Iterator[NodeRow]:
    left = {level: left_out(placement) for level, placement in placements.items()}
    for at, node in enumerate(graph.nodes):
        without = [level for level in API_LEVELS if at in left[level]]
        if not without:
            continue
        last = without[-1]
        after = [level for level in API_LEVELS if level > last]
        refusal = left[last][at]
        yield NodeRow(
            node=place(node),
            operator=node.label,
            possible_at=after[0] if after else None,
            rule=refusal.rule,
            reason=refusal.reason,
        )


def left_out(placement: Placement) -> dict[int, Refusal]:
    """By node: why it stays on the CPU."""
    return {refusal.node: refusal for refusal in (*placement.refused, *placement.dropped)}


def place(node: Node) -> str:
    """A node's name, or what it is and makes where it has none."""
    return node.name or f"{node.label} → {next(filter(None, node.outputs), '?')}"


def by_kind(labels: Iterator[str] | list[str]) -> str:
    """`2 Conv, 1 Relu`, most first, at most six kinds."""
    counts = Counter(labels).most_common()
    words = [f"{count} {label}" for label, count in counts[:6]]
    rest = sum(count for _, count in counts[6:])
    return ", ".join([*words, f"{rest} more"] if rest else words)
