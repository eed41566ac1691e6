"""Pure: pieces of GitHub's Markdown; whoever wrote the text in them, it shows as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.report.blocks import Block, Words
from orchestrator.report.lines import shown


def escaped(text: str) -> str:
    """`text` as Markdown that shows exactly it, on one line: no markup, no HTML, no end of a table's cell."""
    clean = shown(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#]|:(?=//))", r"\\\1", clean)


def paragraph(text: str) -> str:
    """`escaped`, for the start of a line, where a dash or a number would begin a list."""
    return re.sub(r"^\s*(?:(\d+)([.)])|([-+=]))", lambda at: f"{at[1] or ''}\\{at[2] or at[3]}", escaped(text))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> list[str]:
    """A table; every cell is escaped here. `numbers` are the columns that stand at the right."""
    rule = ["---:" if at in numbers else "---" for at in range(len(heads))]
    body = [[escaped(cell) for cell in row] for row in rows]
    return [f"| {' | '.join(cells)} |" for cells in ([escaped(head) for head in heads], rule, *body)] + [""]


def code_block(text: str) -> list[str]:
    """Text as a code block; its fence is longer than any run of backticks in it."""
    clean = [shown(part) for part in text.split("\n")]
    longest = max((len(run) for part in clean for run in re.findall("`+", part)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}sh", *clean, fence]


def blocks(parts: Sequence[Block]) -> list[str]:
    """Paragraphs and tables, a blank line after each."""
    lines: list[str] = []
    for part in parts:
        lines += (
            [paragraph(part.text), ""]
            if isinstance(part, Words)
            else table(part.heads, part.rows, numbers=part.numbers)
        )
    return lines
