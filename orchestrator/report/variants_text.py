"""Pure: how a model's variants came out. Operators before and after, size, format version, which are twins."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.report.lines import Line, Span, left, line, paragraph, right, widest, wrap
from orchestrator.report.numbers import NOTHING, size
from orchestrator.report.summary import VariantRow
from orchestrator.variants.tolerance import Precision, Verdict

Operators = tuple[tuple[str, int], ...]


def total(operators: Operators) -> int | None:
    """How many nodes; None where nothing is told."""
    return sum(n for _, n in operators) if operators else None


def changes(before: Operators, after: Operators) -> tuple[str, ...]:
    """What a recipe did to the operators: `-17 Relu`, `+17 com.microsoft:FusedConv`; nothing where only totals are."""
    first, second = dict(before), dict(after)
    if "" in first or "" in second or not first or not second:
        return ()
    moved = {name: second.get(name, 0) - first.get(name, 0) for name in sorted({*first, *second})}
    return tuple(f"{n:+d} {name}" for name, n in sorted(moved.items(), key=lambda item: (item[1], item[0])) if n)


def nodes(variant: VariantRow) -> str:
    """`66 → 48`, operators before and after."""
    before, after = total(variant.nodes_before), total(variant.nodes_after)
    return f"{NOTHING if before is None else before} → {NOTHING if after is None else after}"


def format_version(variant: VariantRow) -> str:
    """`ort v6`, `onnx`."""
    return variant.format if variant.ort_format is None else f"{variant.format} v{variant.ort_format}"


def error_words(variant: VariantRow) -> str:
    """`2.4e-07`, or `cos 0.9991` where precision is lost on purpose; `–` where nothing is known."""
    if variant.verdict in ("", Verdict.UNKNOWN):
        return NOTHING
    if variant.precision not in ("", Precision.FLOAT32) and variant.cosine is not None:
        return f"cos {variant.cosine:.4f}"
    return NOTHING if variant.error is None else f"{variant.error:.1e}" if variant.error else "0"


def verdict_words(variant: VariantRow) -> str:
    """`within`, `out of tolerance: output y …`; with a word on top-1 where it is another."""
    words = f"{variant.verdict}: {variant.verdict_reason}" if variant.verdict_reason else variant.verdict
    return f"{words}; top-1 is another" if variant.top1_same is False else words


def _verdict_lines(variant: VariantRow, width: int) -> list[Line]:
    """What must be said of a variant's numbers; nothing where they are its source's."""
    if variant.verdict == Verdict.OUT:
        return paragraph(verdict_words(variant), width, indent=6, style="bad")
    plain = variant.verdict in ("", Verdict.SOURCE, Verdict.WITHIN) and variant.top1_same is not False
    return [] if plain else paragraph(verdict_words(variant), width, indent=6, style="warn")


def variant_lines(variants: Sequence[VariantRow], width: int) -> list[Line]:
    """The table of variants for a terminal, each followed by what its recipe did to the operators."""
    name_width = widest((variant.recipe for variant in variants), least=8, most=24)
    told = any(variant.verdict for variant in variants)
    title = f"  {left('variant', name_width)} {right('operators', 14)} {right('size', 8)}"
    title += f" {right('error', 10)}" if told else ""
    lines = [line(Span(f"{title}  format", "dim"))]
    for variant in variants:
        twins = f"  twin of {', '.join(variant.twins)}" if variant.twins else ""
        front = f"  {left(variant.recipe, name_width)} {right(nodes(variant), 14)} {right(size(variant.size_bytes), 8)}"
        front += f" {right(error_words(variant), 10)}  " if told else "  "
        at = name_width + (39 if told else 28)
        words = wrap(f"{format_version(variant)}{twins}", width - at, hang=2)
        lines += [line(front + words[0]), *(line(" " * at + more) for more in words[1:])]
        lines += _verdict_lines(variant, width)
        moved = changes(variant.nodes_before, variant.nodes_after)
        lines += paragraph(", ".join(moved), width, indent=6, style="dim") if moved else []
    return lines
