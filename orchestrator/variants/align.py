"""Pure: two graphs node by node, through renames and fusions.

Optimizers keep the names of the tensors that they leave: a fused node's output is the last fused node's output. So a
tensor that both graphs make is a cut through both, and what lies between cuts belongs together. Where names were given
anew, a node is known again by its operator and by what it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from android_runner.nnapi.graph import Graph, Node

_PASSES_ON = frozenset(("Identity", "Dropout"))
"""Nodes that inference does without: gone, not fused."""
_PREPARES = frozenset(("DequantizeLinear",))
"""Nodes that belong to whoever reads them."""


class Change(StrEnum):
    """What became of nodes."""

    SAME = "same"
    RENAMED = "renamed"
    CHANGED = "changed"
    FUSED = "fused"
    FOLDED = "folded"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Step:
    """Nodes of the first graph and what stands for them in the second, each in their graph's order.

    SAME, RENAMED and CHANGED (another version or attributes) have one of each; FUSED has some on both sides; FOLDED
    (into a constant) and REMOVED have none after, ADDED none before.
    """

    change: Change
    before: tuple[Node, ...]
    after: tuple[Node, ...]


def align(before: Graph, after: Graph) -> tuple[Step, ...]:
    """Every node of both graphs in exactly one step: in the order of the second graph, then what has gone."""
    known = _known_again(before, after)
    folded = _folded(before, {known[name] for name in _makers(after) if name in known})
    components = _components(before, after, known, folded)
    steps = [step for one in components for step in _steps(before, after, one, known)]
    steps += [Step(Change.FOLDED, (before.nodes[at],), ()) for at in sorted(folded)]
    places = {id(node): at for at, node in enumerate(after.nodes)}
    return tuple(sorted(steps, key=lambda step: min((places[id(node)] for node in step.after), default=len(places))))


def _makers(graph: Graph) -> dict[str, int]:
    return {name: at for at, node in enumerate(graph.nodes) for name in node.outputs if name}


def _known_again(before: Graph, after: Graph) -> dict[str, str]:
    """For tensors of the second graph what they are called in the first."""
    first = set(_makers(before)) | set(before.inputs) | {value.name for value in before.values.values()}
    second = set(_makers(after)) | set(after.inputs)
    known = {name: name for name in second | set(after.values) if name in first}
    if len(before.inputs) == len(after.inputs):
        known |= dict(zip(after.inputs, before.inputs, strict=True))
    met = set(known.values())
    waiting: dict[tuple[object, ...], list[Node]] = {}
    for node in before.nodes:
        if not any(name in met for name in node.outputs if name):
            waiting.setdefault(_looks(node, before, {name: name for name in node.inputs}), []).append(node)
    for node in after.nodes:
        if any(name in known for name in node.outputs if name):
            continue
        likely = waiting.get(_looks(node, after, known), [])
        if likely:
            twin = min(likely, key=lambda other: other.attributes != node.attributes)
            likely.remove(twin)
            known |= {new: old for new, old in zip(node.outputs, twin.outputs, strict=False) if new and old}
    return known


def _looks(node: Node, graph: Graph, known: dict[str, str]) -> tuple[object, ...]:
    """What a node is known again by: operator and the names, in the first graph, of what it reads. Constants count by
    their values where these are held."""
    reads: list[object] = []
    for name in (*node.inputs, *node.implicit):
        value = graph.value(name)
        reads.append((value.dims, value.elements) if value.constant else known.get(name, ("only here", name)))
    return node.label, tuple(reads), len(node.outputs)


def _folded(before: Graph, alive: set[str]) -> set[int]:
    """Nodes that only constants go into and that the second graph, whose nodes make `alive`, does not have."""
    constant = {name for name, value in before.values.items() if value.constant}
    found: set[int] = set()
    for at, node in enumerate(before.nodes):
        reads = [name for name in (*node.inputs, *node.implicit) if name]
        if reads and all(name in constant for name in reads):
            constant |= set(node.outputs)
            found.add(at)
    return {at for at in found if not any(name in alive for name in before.nodes[at].outputs if name)}


class _Sets:
    """Disjoint sets of (side, position)."""

    def __init__(self) -> None:
        self._parent: dict[tuple[int, int], tuple[int, int]] = {}

    def find(self, item: tuple[int, int]) -> tuple[int, int]:
        """The set's representative."""
        self._parent.setdefault(item, item)
        while self._parent[item] != item:
            self._parent[item] = self._parent[self._parent[item]]
            item = self._parent[item]
        return item

    def join(self, one: tuple[int, int], other: tuple[int, int]) -> None:
        """Make one set of two."""
        self._parent[self.find(one)] = self.find(other)


_Component = tuple[list[int], list[int]]


def _components(before: Graph, after: Graph, known: dict[str, str], folded: set[int]) -> list[_Component]:
    """Positions of nodes that belong together: between the cuts, which are tensors that both graphs make."""
    made_before, made_after = _makers(before), _makers(after)
    cuts = {(known[name], name) for name in made_after if known.get(name) in made_before}
    sets = _Sets()
    for old, new in cuts:
        sets.join((0, made_before[old]), (1, made_after[new]))
    _join_inner(sets, 0, before, {old for old, _ in cuts}, folded)
    _join_inner(sets, 1, after, {new for _, new in cuts}, set())
    found: dict[tuple[int, int], _Component] = {}
    for side, graph in enumerate((before, after)):
        for at in range(len(graph.nodes)):
            if side == 1 or at not in folded:
                found.setdefault(sets.find((side, at)), ([], []))[side].append(at)
    return list(found.values())


def _join_inner(sets: _Sets, side: int, graph: Graph, cuts: set[str], left_out: set[int]) -> None:
    makers = _makers(graph)
    for at, node in enumerate(graph.nodes):
        for name in (*node.inputs, *node.implicit):
            maker = makers.get(name)
            if maker is not None and name not in cuts and at not in left_out and maker not in left_out:
                sets.join((side, maker), (side, at))


def _steps(before: Graph, after: Graph, component: _Component, known: dict[str, str]) -> Iterable[Step]:
    if not component[0] or not component[1]:
        yield from (Step(Change.REMOVED, (before.nodes[at],), ()) for at in component[0])
        yield from (Step(Change.ADDED, (), (after.nodes[at],)) for at in component[1])
        return
    for part in _split(before, after, component):
        old, new = [before.nodes[at] for at in part[0]], [after.nodes[at] for at in part[1]]
        kept = [node for node in old if node.op_type not in _PASSES_ON]
        if kept and len(kept) < len(old) and len(kept) >= len(new) and not _passes_on(new):
            yield from (Step(Change.REMOVED, (node,), ()) for node in old if node.op_type in _PASSES_ON)
            old = kept
        yield Step(_change(old, new, known), tuple(old), tuple(new))


def _split(before: Graph, after: Graph, component: _Component) -> list[_Component]:
    """A component cut further at nodes that kept their names, although their outputs did not: layout does that.

    What stands between two of them goes with the one before it, but for what only prepares an input.
    """
    names = {_stem(before.nodes[at].name): at for at in component[0]}
    anchors = {at: names[stem] for at in component[1] if (stem := _stem(after.nodes[at].name)) and stem in names}
    if len(anchors) < 2 or len(set(anchors.values())) < len(anchors):
        return [component]
    parts: dict[int, _Component] = {old: ([], []) for old in anchors.values()}
    for side, graph, owned in ((0, before, {old: old for old in anchors.values()}), (1, after, anchors)):
        for at, part in _owners(graph, component[side], owned).items():
            parts[part][side].append(at)
    return list(parts.values())


def _stem(name: str) -> str:
    """A node's name without what onnxruntime adds to keep names unique, or to say which fusion it was."""
    return re.sub(r"(_token_\d+|/\w*Fusion\w*/?)$", "", name)


def _owners(graph: Graph, members: Sequence[int], owned: Mapping[int, int]) -> dict[int, int]:
    """For each member whose it is: `owned` says it of some; ascending."""
    makers = {name: at for at in members for name in graph.nodes[at].outputs if name}
    reads = {at: [makers[name] for name in graph.nodes[at].inputs if name in makers] for at in members}
    found = dict(owned)
    for at in members:
        sources = [found[one] for one in reads[at] if one in found]
        if at not in found and sources and graph.nodes[at].op_type not in _PREPARES:
            found[at] = sources[0]
    for at in reversed(members):  # what is left prepares an input: of whoever reads it
        for one in reads[at]:
            if at in found:
                found.setdefault(one, found[at])
    for at in members:
        sources = [found[one] for one in reads[at] if one in found]
        found.setdefault(at, sources[0] if sources else next(iter(owned.values())))
    return {at: found[at] for at in members}


def _passes_on(nodes: Sequence[Node]) -> bool:
    return any(node.op_type in _PASSES_ON for node in nodes)


def _change(old: Sequence[Node], new: Sequence[Node], known: dict[str, str]) -> Change:
    if len(old) != 1 or len(new) != 1 or old[0].label != new[0].label:
        return Change.FUSED
    first, second = old[0], new[0]
    if first.since_version != second.since_version or first.attributes != second.attributes:
        return Change.CHANGED
    if len(first.inputs) != len(second.inputs):
        return Change.CHANGED
    tensors = any(known.get(name) != name for name in second.outputs if name)
    return Change.RENAMED if tensors or first.name != second.name else Change.SAME
