"""Pure: a comparison on a terminal: at most `width` cells, the same characters with and without colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.measure.contrast import Word
from orchestrator.report.comparison.nouns import (
    ComparedCase,
    Comparison,
    GateResult,
    GateWord,
    NotCompared,
    OperatorChange,
)
from orchestrator.report.comparison.said import (
    VIRTUAL,
    across_words,
    beside_words,
    canary_words,
    gate_words,
    method_words,
    side_words,
    variant_words,
)
from orchestrator.report.lines import Line, Span, left, line, paragraph, rendered, right, widest, wrap
from orchestrator.report.numbers import NOTHING, decimals_for, ms, ratio

MAX_LISTED = 12
"""More cases that are not compared, or gates that passed, are counted unless all is asked for."""
MAX_OPERATORS = 5
_STYLES = {Word.FASTER: "good", Word.SLOWER: "bad", Word.UNDECIDED: "warn", Word.INSUFFICIENT: "warn"}
_GATE_STYLES = {GateWord.FAILED: "bad", GateWord.NOT_TOLD: "warn", GateWord.PASSED: ""}


def render_comparison(comparison: Comparison, *, all_rows: bool = False, width: int = 80, colour: bool = False) -> str:
    """The sentence, the two sides and what differs, a table for each phone and model, then what stands beside it."""
    lines = [*paragraph(comparison.sentence, width, style="bold"), ()]
    for name, run in (("BASE", comparison.base), ("NEW", comparison.new)):
        lines += paragraph(side_words(name, run), width, hang=5)
    first, *rest = across_words(comparison)
    lines += paragraph(first, width, hang=2)
    for words in rest:
        lines += paragraph(words, width, indent=2, hang=4)
    groups: dict[tuple[str, str], list[ComparedCase]] = {}
    for case in comparison.cases:
        groups.setdefault((case.label, case.models), []).append(case)
    for (label, models), cases in groups.items():
        lines += [(), *_table(label, models, cases, width)]
    if any(case.virtual for case in comparison.cases):
        lines += paragraph(VIRTUAL, width, indent=2, style="warn")
    lines += [(), *_notes(comparison, width)]
    lines += _operators(comparison.operators, all_rows, width)
    lines += _not_compared(comparison.not_compared, all_rows, width)
    lines += _gates(comparison, all_rows, width)
    return rendered(lines, colour=colour)


def _table(label: str, models: str, cases: Sequence[ComparedCase], width: int) -> list[Line]:
    kind = "virtual · " if cases[0].virtual else ""
    decimals = decimals_for(one for case in cases for one in (case.base_p50_s, case.new_p50_s))
    name_width = widest((case.name for case in cases), least=12, most=width - 58)
    head = f"  {left('p50 in ms', name_width)} {right('BASE', 8)} {right('NEW', 8)} {right('NEW is', 13)}   n   "
    lines = [*paragraph(f"{kind}{label} · {models}", width, style="bold"), line(Span(f"{head}verdict", "dim"))]
    for case in cases:
        lines += _row(case, name_width, decimals, width)
    return lines


def _row(case: ComparedCase, name_width: int, decimals: int, width: int) -> list[Line]:
    names = wrap(case.name, name_width, hang=2)
    versus = NOTHING if case.ratio is None else ratio(case.ratio.value, case.ratio.half_width)
    n = str(case.n_base) if case.n_base == case.n_new else f"{case.n_base}/{case.n_new}"
    figures = f"{right(ms(case.base_p50_s, decimals), 8)} {right(ms(case.new_p50_s, decimals), 8)} {right(versus, 13)}"
    lines = [
        line(
            f"  {left(names[0], name_width)} {figures} {right(n, 5)}  ",
            Span(case.verdict, _STYLES.get(case.verdict, "")),
        )
    ]
    lines += [line(f"  {name}") for name in names[1:]]
    for words in (case.reason, beside_words(case)):
        lines += paragraph(words, width, indent=6, hang=2, style="dim") if words else []
    return lines


def _notes(comparison: Comparison, width: int) -> list[Line]:
    told: list[str] = [canary_words(one) for one in comparison.canaries]
    told += [variant_words(one) for one in comparison.variants]
    told += comparison.notes
    lines = [one for words in told for one in paragraph(words, width, indent=2, hang=2)]
    return lines + [
        one for words in method_words(comparison) for one in paragraph(words, width, indent=2, hang=2, style="dim")
    ]


def _operators(rows: Sequence[OperatorChange], all_rows: bool, width: int) -> list[Line]:
    """Where the time of a run went, by the traces, case by case."""
    groups: dict[tuple[str, str, str], list[OperatorChange]] = {}
    for row in rows:
        groups.setdefault((row.label, row.model, row.row), []).append(row)
    lines: list[Line] = []
    for (label, model, name), own in groups.items():
        lines += [(), *paragraph(f"by operator, traced: {label} · {model} · {name}", width, hang=2)]
        at = widest((_same_work(row) for row in own), least=20, most=width - 30)
        head = f"  {left('µs of one run', at)} {right('BASE', 9)} {right('NEW', 9)} {right('', 8)}"
        lines.append(line(Span(head, "dim")))
        for row in own if all_rows else own[:MAX_OPERATORS]:
            moved = f"{(row.new_s - row.base_s) * 1e6:+.1f}"
            figures = f"{right(f'{row.base_s * 1e6:.1f}', 9)} {right(f'{row.new_s * 1e6:.1f}', 9)} {right(moved, 8)}"
            lines.append(line(f"  {left(_same_work(row), at)} {figures}"))
        if len(own) > MAX_OPERATORS and not all_rows:
            lines.append(line(Span(f"  and {len(own) - MAX_OPERATORS} more: --all", "dim")))
    return lines


def _same_work(row: OperatorChange) -> str:
    return row.base if row.base == row.new else f"{row.base or NOTHING} → {row.new or NOTHING}"


def _not_compared(rows: Sequence[NotCompared], all_rows: bool, width: int) -> list[Line]:
    if not rows:
        return []
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for one in rows:
        grouped.setdefault((one.model, one.row, one.reason), []).append(one.label)
    lines: list[Line] = [(), line("not compared:")]
    listed = list(grouped.items()) if all_rows else list(grouped.items())[:MAX_LISTED]
    for (model, row, reason), labels in listed:
        lines += paragraph(f"{model} {row}: {reason} ({', '.join(labels)})", width, indent=2, hang=4)
    return [*lines, *_more(len(grouped) - len(listed))]


def _gates(comparison: Comparison, all_rows: bool, width: int) -> list[Line]:
    if not comparison.gates:
        return []
    order = (GateWord.FAILED, GateWord.NOT_TOLD, GateWord.PASSED)
    rows = sorted(comparison.gates, key=lambda one: order.index(one.word))
    listed = rows if all_rows else [one for one in rows if one.word is not GateWord.PASSED]
    lines: list[Line] = [(), *paragraph(gate_words(comparison), width, style="bold")]
    lines += [one for row in listed for one in _gate(row, width)]
    return lines


def _gate(row: GateResult, width: int) -> Iterable[Line]:
    words = f"{row.word}  {row.gate}  {row.label} · {row.model} · {row.row}: {row.words}"
    return paragraph(words, width, indent=2, hang=4, style=_GATE_STYLES[row.word])


def _more(count: int) -> list[Line]:
    return [line(Span(f"  and {count} more: --all", "dim"))] if count > 0 else []
