"""Pure nouns: a report's parts as data, so that Markdown and HTML show the same tables and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Heads and cells as plain text; `numbers` are the columns that stand at the right."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[int] = ()


Block = Words | Table
