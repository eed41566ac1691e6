"""Pure: items in groups that stay below a size, so that one call carries many of them and none is too large."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

COMMAND_BYTES = 40_000
"""Bound on one shell command's text; what does not fit is said in several."""

_Item = TypeVar("_Item")


def batches(items: Iterable[_Item], cost_bytes: Callable[[_Item], int], most_bytes: int) -> Iterator[list[_Item]]:
    """The items in their order, in groups of at most `most_bytes`; one that is larger than that stands alone."""
    batch: list[_Item] = []
    size_bytes = 0
    for item in items:
        cost = cost_bytes(item)
        if batch and size_bytes + cost > most_bytes:
            yield batch
            batch, size_bytes = [], 0
        batch.append(item)
        size_bytes += cost
    if batch:
        yield batch
