"""Pure: a comparison as GitHub's Markdown, and as JSON with the fields of the nouns by name."""

from __future__ import annotations

import json

from orchestrator.report.as_json import plain
from orchestrator.report.comparison.nouns import ComparedCase, Comparison
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
from orchestrator.report.markdown_parts import escaped, paragraph, table
from orchestrator.report.numbers import NOTHING, decimals_for, ms, ratio

SCHEMA = 1


def comparison_json(comparison: Comparison) -> str:
    """One JSON object, ASCII only, with a newline at its end. `schema` counts up when a field changes its meaning."""
    said = plain(comparison)
    assert isinstance(said, dict)
    return json.dumps({"schema": SCHEMA, **said}, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def comparison_markdown(comparison: Comparison) -> str:
    """The whole comparison, every case and gate."""
    lines = [f"# {escaped(comparison.sentence)}", ""]
    sides = (side_words("BASE", comparison.base), side_words("NEW", comparison.new))
    lines += [f"- {paragraph(words)}" for words in (*sides, *across_words(comparison))]
    lines.append("")
    if any(case.virtual for case in comparison.cases):
        lines += [f"**{VIRTUAL}**", ""]
    decimals = decimals_for(one for case in comparison.cases for one in (case.base_p50_s, case.new_p50_s))
    heads = ("phone", "model", "case", "BASE p50 ms", "NEW p50 ms", "NEW is", "n", "verdict")
    lines += table(heads, [_row(case, decimals) for case in comparison.cases], numbers=(3, 4, 5, 6))
    told = [canary_words(one) for one in comparison.canaries] + [variant_words(one) for one in comparison.variants]
    lines += [f"- {paragraph(words)}" for words in (*told, *comparison.notes, *method_words(comparison))]
    lines.append("")
    if comparison.operators:
        rows = [
            (
                one.label,
                one.model,
                one.row,
                one.base or NOTHING,
                one.new or NOTHING,
                f"{one.base_s * 1e6:.1f}",
                f"{one.new_s * 1e6:.1f}",
            )
            for one in comparison.operators
        ]
        lines += [
            "## By operator, traced",
            "",
            *table(("phone", "model", "case", "BASE", "NEW", "BASE µs", "NEW µs"), rows, numbers=(5, 6)),
        ]
    if comparison.not_compared:
        rows_left = [(one.label, one.model, one.row, one.reason) for one in comparison.not_compared]
        lines += ["## Not compared", "", *table(("phone", "model", "case", "why"), rows_left)]
    if comparison.gates:
        found = [(one.word, one.gate, one.label, one.model, one.row, one.words) for one in comparison.gates]
        lines += [
            "## Gates",
            "",
            paragraph(gate_words(comparison)),
            "",
            *table(("", "gate", "phone", "model", "case", "figures"), found),
        ]
    return "\n".join(lines) + "\n"


def _row(case: ComparedCase, decimals: int) -> tuple[str, ...]:
    versus = NOTHING if case.ratio is None else ratio(case.ratio.value, case.ratio.half_width)
    n = str(case.n_base) if case.n_base == case.n_new else f"{case.n_base} and {case.n_new}"
    verdict = ": ".join(filter(None, (str(case.verdict), "; ".join(filter(None, (case.reason, beside_words(case)))))))
    return (
        f"{case.label}{' (virtual)' if case.virtual else ''}",
        case.models,
        case.name,
        ms(case.base_p50_s, decimals),
        ms(case.new_p50_s, decimals),
        versus,
        n,
        verdict,
    )
