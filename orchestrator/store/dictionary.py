"""Pure: what the frames are, and their columns, for people: `FRAMES` in words, the dictionary as text and Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill

from orchestrator.store.columns import COLUMNS

FRAMES: Mapping[str, str] = {
    "runs": "One row: the run.",
    "phones": "One row a phone of the run.",
    "variants": "One row a variant of a model: how it was built, and whether it computes what its source does.",
    "trials": "One row a planned trial, in the order of the plan; planned = measured + failed + skipped.",
    "attempts": "One row an attempt at a trial, calibrations and canaries too, in the order of their records.",
    "iterations": "One row an inference of every timed attempt that measured, counted or not.",
    "operators": "One row an operator and execution provider of every trace.",
    "cold_starts": "One row a trace: what its process needed before the first answer.",
    "predictions": "One row a phone, variant and set of NNAPI flags: what NNAPI should take, by the rules of today.",
    "nodes": "One row a node of each variant, for each API level and set of NNAPI flags: where it should run, and why.",
    "placements": "One row an introspection, failed ones too: how much NNAPI took, or why that is not known.",
    "claims": "One row a node that NNAPI was asked about, of every introspection and look at the graph.",
    "partitions": "One row an NNAPI partition of every trace, with the CPU's time for the same nodes.",
    "checks": "One row an output of every case that was to be verified on a phone.",
    "dropped": "One row a cell of the plan's matrix that is no trial, with the reason.",
    "incidents": "One row a rung that was tried for a phone, or an event of an adb server or hub, in their order.",
}
"""frame -> what one of its rows is"""

KINDS = (
    "Kinds: text, int, float, flag (true, false), moment (UTC), list (a list or a mapping; JSON text in files). "
    'Any cell may be empty: that means "not said", never "fine" or 0. Latencies are in seconds.'
)

_HEADS = ("frame", "column", "unit", "kind", "meaning")


def dictionary_rows() -> list[tuple[str, str, str, str, str]]:
    """Every column: frame, name, unit, kind, meaning; the first row are these heads."""
    rows = [
        (frame, name, unit, kind, meaning)
        for frame, columns in COLUMNS.items()
        for name, (unit, meaning, kind) in columns.items()
    ]
    return [_HEADS, *rows]


def dictionary_text() -> str:
    """The dictionary for a README: at most 100 characters a line."""
    lines = [fill(KINDS, 100)]
    for frame, columns in COLUMNS.items():
        lines += ["", fill(f"{frame}: {FRAMES[frame]}", 100)]
        for name, (unit, meaning, kind) in columns.items():
            head = f"  {name} ({', '.join(part for part in (kind, unit) if part)}): "
            lines.append(fill(head + meaning, 100, subsequent_indent="      "))
    return "\n".join(lines) + "\n"


def dictionary_markdown() -> str:
    """The dictionary for docs: a heading and a table for each frame."""
    lines: list[str] = []
    for frame, columns in COLUMNS.items():
        lines += [
            f"### {frame}",
            "",
            FRAMES[frame],
            "",
            "| column | unit | kind | what it holds |",
            "|---|---|---|---|",
        ]
        for name, (unit, meaning, kind) in columns.items():
            lines.append(f"| `{name}` | {unit} | {kind} | {meaning.replace('|', chr(92) + '|')} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"
