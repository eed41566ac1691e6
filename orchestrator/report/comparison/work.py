"""Pure: two traces of one case node by node: which nodes do the same work on both sides, and how long each took.

A fused node keeps the name of the node that it grew from (`conv1` stays `conv1`, or becomes
`conv1/ConvActivationFusion/`, `fused conv1`, `conv1_nchwc`), so nodes meet by name without what optimizers add to it.
A partition of NNAPI's meets that of the same number. Where the graphs of both variants are known
(`orchestrator.variants.align`), what was fused into another node meets that one, too: `Conv + Relu` the `FusedConv`.
Else it has no partner: it stands alone, and its time with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from android_runner.nnapi.graph import Node
from android_runner.trace import NodeTime, TraceTable
from orchestrator.report.comparison.nouns import OperatorChange
from orchestrator.variants.align import Step

_ADDED = re.compile(r"(_token_\d+|/\w*Fusion\w*/?|_nchwc|_nhwc|_Nhwc\w*|_transformed)$")
_BEFORE = re.compile(r"^(fused )+")
_PARTITION = re.compile(r"Nnapi_\d+_(\d+)")
"""What NNAPI's execution provider calls a partition: a hash of the model, its number."""


@dataclass(frozen=True, slots=True)
class Traced:
    """Where a trace comes from in a comparison, and what it says on either side."""

    label: str
    model: str
    row: str
    base: TraceTable
    new: TraceTable
    steps: Sequence[Step] = ()
    """What became of which node of BASE's graph in NEW's; empty where a graph is not known."""


def stem(name: str) -> str:
    """A node's name without what optimizers add to it."""
    cut = _BEFORE.sub("", _PARTITION.sub(r"Nnapi_\1", name))
    while (shorter := _ADDED.sub("", cut)) != cut:
        cut = shorter
    return cut


def operator_changes(traced: Traced) -> list[OperatorChange]:
    """Time by what the nodes are on both sides, most first; nothing where a trace has no whole run."""
    if not traced.base.runs_us or not traced.new.runs_us:
        return []
    olds = _by_work(traced.base.nodes, [step.before for step in traced.steps])
    news = _by_work(traced.new.nodes, [step.after for step in traced.steps])
    groups: dict[tuple[str, str], tuple[Counter[str], Counter[str], list[float]]] = {}
    for name in dict.fromkeys([*olds, *news]):
        old, new = olds.get(name, []), news.get(name, [])
        ways = tuple("+".join(sorted({_shown(node) for node in nodes})) for nodes in (old, new))
        group = groups.setdefault((ways[0], ways[1]), (Counter(), Counter(), [0.0, 0.0]))
        for at, (nodes, table) in enumerate(((old, traced.base), (new, traced.new))):
            for node in nodes:
                counts = group[at]
                assert isinstance(counts, Counter)
                counts[_shown(node)] += 1
                group[2][at] += node.self_us / 1e6 / len(table.runs_us)
    rows = [
        OperatorChange(
            label=traced.label,
            model=traced.model,
            row=traced.row,
            base=_words(old),
            new=_words(new),
            base_s=times[0],
            new_s=times[1],
        )
        for old, new, times in groups.values()
    ]
    return sorted(rows, key=lambda row: -max(row.base_s, row.new_s))


def _by_work(nodes: Sequence[NodeTime], steps: Sequence[Sequence[Node]]) -> dict[str, list[NodeTime]]:
    """Nodes by the step that they are of; else by what their names have in common; those without a name by operator."""
    places = {stem(node.name): f" {at}" for at, step in enumerate(steps) for node in step if node.name}
    found: dict[str, list[NodeTime]] = {}
    for node in nodes:
        name = stem(node.node)
        found.setdefault(places.get(name, name) or f" {node.op_name}", []).append(node)
    return found


def _shown(node: NodeTime) -> str:
    if node.provider == "CPUExecutionProvider":
        return node.op_name
    part = _PARTITION.fullmatch(node.op_name)
    return f"NNAPI partition {part[1]}" if part is not None else f"{node.op_name} ({node.provider})"


def _words(counts: Counter[str]) -> str:
    return " + ".join(f"{n} {name}" if n > 1 else name for name, n in sorted(counts.items()))
