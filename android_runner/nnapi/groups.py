"""Pure: claimed units grouped into partitions.

The algorithm is `CreateSupportedPartitionNodeGroups` of `core/providers/partitioning_utils.cc` (ONNX Runtime 1.21), on
numbers: waves over the graph in topological order; a wave takes what is supported, and stops at what is not and
depends on what it took.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from android_runner.nnapi.case import Unit
from android_runner.nnapi.wiring import Wiring


def group(units: Sequence[Unit], wiring: Wiring, is_supported: Callable[[int, Sequence[int]], bool]) -> list[list[int]]:
    """Groups of indices into `units`, in the order of the waves.

    `is_supported(unit, group)` is asked when a unit's inputs are all there; `group` is what the present wave has taken
    so far. Raises ValueError on a cycle.
    """
    following, waiting_for = _between(units, wiring)
    ready = deque(at for at in range(len(units)) if waiting_for[at] == 0)
    ready_next: deque[int] = deque()
    groups: list[list[int]] = []
    current: list[int] = []
    border: set[int] = set()
    done = 0
    while ready or ready_next:
        if not ready:
            if current:
                groups.append(current)
                current, border = [], set()
            ready, ready_next = ready_next, ready
            continue
        at = ready.popleft()
        supported = is_supported(at, current)
        if not supported and at in border:
            ready_next.append(at)
            continue
        if supported:
            current.append(at)
            border.discard(at)
            border.update(following[at])
        for after in following[at]:
            waiting_for[after] -= 1
            if waiting_for[after] == 0:
                ready.append(after)
        done += 1
    if current:
        groups.append(current)
    if done != len(units):
        raise ValueError("the graph has a cycle")
    return groups


def _between(units: Sequence[Unit], wiring: Wiring) -> tuple[list[list[int]], list[int]]:
    """For each unit its consumers, once for each edge, and how many edges come in from other units."""
    home = {node: at for at, unit in enumerate(units) for node in unit.members}
    following: list[list[int]] = []
    waiting_for = [0] * len(units)
    for at, unit in enumerate(units):
        edges = [edge for node in unit.members for edge in wiring.outgoing[node]]
        away = [home[edge.consumer] for edge in sorted(edges, key=lambda e: e.consumer) if home[edge.consumer] != at]
        following.append(away)
        for after in away:
            waiting_for[after] += 1
    return following, waiting_for
