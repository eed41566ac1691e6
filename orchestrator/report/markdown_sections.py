"""Pure: sections of report.md on one phone: NNAPI, cold starts, long series."""

from __future__ import annotations

from orchestrator.report.cold_text import HEADS as COLD_HEADS
from orchestrator.report.cold_text import cold_cells, cold_headline, cold_notes
from orchestrator.report.markdown_parts import paragraph, table
from orchestrator.report.nnapi import NnapiAnswer
from orchestrator.report.nnapi_text import (
    RULES_NOTE,
    case_words,
    devices_words,
    nodes_words,
    pieces_time,
    pieces_words,
    prediction_name,
    share_words,
)
from orchestrator.report.numbers import NOTHING
from orchestrator.report.summary import PhoneAnswer
from orchestrator.report.sustained import Sustained
from orchestrator.report.sustained_text import HEADS as SUSTAINED_HEADS
from orchestrator.report.sustained_text import (
    flip_words,
    over_time,
    sustained_cells,
    sustained_headline,
    sustained_notes,
)


def nnapi_section(nnapi: NnapiAnswer) -> list[str]:
    """What NNAPI should have taken on one phone, and what it did; its shares of nodes, time and multiply-adds."""
    lines = [paragraph(f"NNAPI: {devices_words(nnapi)}"), ""]
    if nnapi.cases:
        heads = ("setting", "nodes", "parts", "time", "multiply-adds", "layout nodes", "partitions", "prediction")
        rows = [
            (
                case.row,
                nodes_words(case),
                NOTHING if case.partitions is None else str(case.partitions),
                share_words(case.time_share),
                share_words(case.multiply_adds_share),
                NOTHING if case.layout_nodes is None else str(case.layout_nodes),
                pieces_time(case),
                case_words(case),
            )
            for case in nnapi.cases
        ]
        lines += table(heads, rows, numbers=(1, 2, 3, 4, 5))
    if nnapi.predictions:
        predicted = [
            (
                prediction_name(one),
                f"{one.nodes_claimed}/{one.nodes}",
                str(len(one.partitions)),
                pieces_words(one) or NOTHING,
                share_words(one.multiply_adds_share),
                "; ".join(
                    [f"{count} {operator}: {reason}" for operator, reason, count in one.not_taken]
                    + ([f"but: {one.caveat}"] if one.caveat else [])
                )
                or NOTHING,
            )
            for one in nnapi.predictions
        ]
        titles = ("variant", "nodes", "parts", "partitions", "multiply-adds", "on the CPU, and why")
        lines += [paragraph(f"What it should take, {RULES_NOTE}:"), "", *table(titles, predicted, numbers=(1, 2, 4))]
    return lines


def cold_section(phone: PhoneAnswer) -> list[str]:
    """What the settings of a phone cost before their first answer."""
    cells = cold_cells(phone)
    if not cells:
        return []
    notes = [paragraph(words) for words in (cold_headline(phone), *cold_notes(phone)) if words]
    return [
        "Cold start:",
        "",
        *table(COLD_HEADS, cells, numbers=(1, 2, 3)),
        *(part for one in notes for part in (one, "")),
    ]


def sustained_section(sustained: Sustained | None) -> list[str]:
    """Long series: the two rankings, where they flip, and latency against time and temperature."""
    if sustained is None:
        return []
    said = [sustained_headline(sustained), *flip_words(sustained), *sustained_notes(sustained)]
    lines = ["Sustained:", "", *table(SUSTAINED_HEADS, sustained_cells(sustained), numbers=(1, 2, 3, 4, 5))]
    lines += [part for words in said for part in (paragraph(words), "")]
    heads, rows = over_time(sustained)
    return [*lines, *table(heads, rows, numbers=range(1, len(heads)))]
