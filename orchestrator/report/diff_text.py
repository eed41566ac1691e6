"""Pure: two models side by side, as text for a terminal and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.report.lines import Line, Span, left, line, paragraph, right, widest, wrap
from orchestrator.report.numbers import NOTHING, plural

MAX_NAMED = 3
"""More node names than this of one sort of change are counted, unless all is asked for."""
MAX_COMPACT = 5
"""Up to so many operators stand together as `Conv+Relu`; more are set apart, so that lines can break."""
MAX_PIECES, MAX_IN_PIECE = 3, 10
"""So many partitions, and runs of operators in one, are shown unless all is asked for."""
_SHOWN = ("fused", "changed", "added", "removed", "folded", "renamed")
_HEADS = {
    "fused": "other nodes in their place",
    "changed": "the same operator, otherwise",
    "added": "added",
    "removed": "removed",
    "folded": "folded into constants",
    "renamed": "renamed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NnapiPart:
    """What NNAPI should take: `claimed` of `nodes`, the operators of each partition; `reason` where none can be told or
    nothing is taken at all. A phone's runtime brings an `.onnx` to level basic before it asks."""

    nodes: int
    claimed: int
    partitions: tuple[tuple[str, ...], ...]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSide:
    """One of the two: counts by operator and by domain, of the main graph as it is written."""

    title: str
    format: str
    opset: int
    operators: tuple[tuple[str, int], ...]
    domains: tuple[tuple[str, int], ...]
    nnapi: NnapiPart

    @property
    def nodes(self) -> int:
        """How many in all."""
        return sum(count for _, count in self.operators)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """Nodes (operator, name) and what became of them; of how many NNAPI is asked, and how many of these it takes."""

    change: str
    before: tuple[tuple[str, str], ...]
    after: tuple[tuple[str, str], ...]
    nnapi_before: tuple[int, int]
    nnapi_after: tuple[int, int]
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """`Conv+Add+Relu → com.microsoft:FusedConv`; one side alone where the other has nothing."""
        sides = [_short([label for label, _ in side]) for side in (self.before, self.after) if side]
        join = "+" if sum(map(len, sides)) <= MAX_COMPACT else " + "
        return " → ".join(dict.fromkeys(join.join(side) for side in sides))

    @property
    def nnapi_words(self) -> str:
        """What NNAPI takes of it, where that is not the same before and after."""
        old, new = self.nnapi_before, self.nnapi_after
        if not (self.before and self.after) or bool(old[0]) == bool(new[0]):
            return ""
        return "NNAPI takes it now" if new[0] else "NNAPI takes it no more"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDiff:
    """What became of one model in another; `api_level` is Android's, for NNAPI's rules."""

    before: DiffSide
    after: DiffSide
    api_level: int
    steps: tuple[StepRow, ...]


def _short(labels: Sequence[str]) -> list[str]:
    """Runs of one operator counted: `4 Transpose`."""
    runs: list[tuple[str, int]] = []
    for label in labels:
        if runs and runs[-1][0] == label:
            runs[-1] = (label, runs[-1][1] + 1)
        else:
            runs.append((label, 1))
    return [label if count == 1 else f"{count} {label}" for label, count in runs]


def diff_lines(diff: ModelDiff, width: int = 80, *, all_names: bool = False) -> list[Line]:
    """The whole difference, at most `width` cells wide: totals, operators, then what became of which nodes."""
    before, after = diff.before, diff.after
    lines = paragraph(f"{before.title} → {after.title}", width, style="bold", hang=2)
    for head, words in (
        ("nodes", f"{before.nodes} → {after.nodes}"),
        ("domains", _moves(before.domains, after.domains, every=True)),
        ("opset", f"{before.opset} → {after.opset}" if before.opset != after.opset else ""),
        (f"NNAPI, API {diff.api_level}", f"{_nnapi(before.nnapi)} → {_nnapi(after.nnapi)}"),
    ):
        parts = wrap(words, width - 18) if words else []
        lines += [line(f"  {left(head if at == 0 else '', 16)}{part}") for at, part in enumerate(parts)]
    for side in (before, after):
        pieces = _pieces(side.nnapi.partitions, all_names)
        lines += paragraph(f"{side.title}: {pieces}", width, indent=18, hang=2, style="dim") if pieces else []
        lines += paragraph(f"{side.title}: {side.nnapi.reason}", width, indent=18, hang=2) if side.nnapi.reason else []
    lines += [(), *_operators(before.operators, after.operators)]
    for change in _SHOWN:
        lines += _section([step for step in diff.steps if step.change == change], width, all_names)
    same = sum(step.change == "same" for step in diff.steps)
    return [*lines, (), line(f"  {plural(same, 'node')} as before")]


def _pieces(partitions: Sequence[Sequence[str]], all_names: bool) -> str:
    """`{Conv 2 Relu} {MaxPool}`, and how many are not shown."""
    kept = partitions if all_names else partitions[:MAX_PIECES]
    words = []
    for piece in kept:
        labels = _short(piece)
        cut = len(labels) if all_names else MAX_IN_PIECE
        more = ["…", f"({len(piece)} nodes)"] if len(labels) > cut else []
        words.append(f"{{{' '.join([*labels[:cut], *more])}}}")
    hidden = len(partitions) - len(kept)
    return " ".join([*words, f"and {hidden} more: --all"] if hidden else words)


def _nnapi(part: NnapiPart) -> str:
    return f"{plural(len(part.partitions), 'partition')} with {part.claimed}/{part.nodes} nodes"


def _moves(before: Sequence[tuple[str, int]], after: Sequence[tuple[str, int]], *, every: bool) -> str:
    first, second = dict(before), dict(after)
    names = sorted({*first, *second})
    return ", ".join(
        f"{name} {first.get(name, 0)} → {second.get(name, 0)}"
        for name in names
        if every or first.get(name, 0) != second.get(name, 0)
    )


def _operators(before: Sequence[tuple[str, int]], after: Sequence[tuple[str, int]]) -> list[Line]:
    first, second = dict(before), dict(after)
    names = sorted({*first, *second})
    name_width = widest(names, least=8, most=50)
    lines = [line(Span(f"  {left('operators', name_width)} {right('before', 7)} {right('after', 7)}", "dim"))]
    for name in names:
        old, new = first.get(name, 0), second.get(name, 0)
        moved = "" if old == new else f" {new - old:+d}"
        lines.append(
            line(f"  {left(name, name_width)} {right(str(old or NOTHING), 7)} {right(str(new or NOTHING), 7)} {moved}")
        )
    return lines


def _section(steps: Sequence[StepRow], width: int, all_names: bool) -> list[Line]:
    if not steps:
        return []
    lines: list[Line] = [(), line(Span(f"  {_HEADS[steps[0].change]}", "dim"))]
    groups: dict[tuple[str, str, tuple[str, ...]], list[StepRow]] = {}
    for step in steps:
        notes = step.notes if step.change == "changed" else ()
        groups.setdefault((step.words, step.nnapi_words, notes), []).append(step)
    for (words, nnapi, notes), rows in groups.items():
        count = f"{len(rows)}× " if len(rows) > 1 else ""
        more = "; ".join(filter(None, [*notes, nnapi]))
        lines += paragraph(f"{count}{words}{f'  ({more})' if more else ''}", width, indent=4, hang=4)
        named = rows if all_names else rows[:MAX_NAMED]
        for row in named:
            lines += paragraph(_names(row), width, indent=8, hang=2, style="dim")
        if len(rows) > len(named):
            lines.append(line(Span(f"        and {len(rows) - len(named)} more: --all", "dim")))
    return lines


def _names(row: StepRow) -> str:
    sides = [", ".join(name or "(no name)" for _, name in side) for side in (row.before, row.after) if side]
    words = " → ".join(dict.fromkeys(sides))
    return f"{words}: {'; '.join(row.notes)}" if row.change == "renamed" and row.notes else words
