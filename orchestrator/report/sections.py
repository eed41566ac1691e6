"""Pure: sections of a report that Markdown and HTML share: NNAPI, cold starts, long series, variants, provenance."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.report.blocks import Block, Table, Words
from orchestrator.report.cold_text import HEADS as COLD_HEADS
from orchestrator.report.cold_text import cold_cells, cold_headline, cold_notes
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
from orchestrator.report.numbers import NOTHING, decimals_for, ms, size, span
from orchestrator.report.source import Row, names, number, text, whole
from orchestrator.report.summary import ModelSummary, PhoneAnswer, RunHead
from orchestrator.report.sustained import Sustained
from orchestrator.report.sustained_text import HEADS as SUSTAINED_HEADS
from orchestrator.report.sustained_text import (
    flip_words,
    over_time,
    sustained_cells,
    sustained_headline,
    sustained_notes,
)
from orchestrator.report.variants_text import changes, error_words, format_version, nodes, verdict_words

ERROR_NOTE = (
    "Error: the largest difference from the source's outputs on the run's inputs, as part of the output's largest "
    "value, computed on the host's CPU; where arithmetic is in half precision or 8 bits, the least cosine."
)


def nnapi_section(nnapi: NnapiAnswer) -> list[Block]:
    """What NNAPI should have taken on one phone, and what it did; its shares of nodes, time and multiply-adds."""
    blocks: list[Block] = [Words(f"NNAPI: {devices_words(nnapi)}")]
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
        blocks.append(Table(heads, rows, numbers=(1, 2, 3, 4, 5)))
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
        blocks += [Words(f"What it should take, {RULES_NOTE}:"), Table(titles, predicted, numbers=(1, 2, 4))]
    return blocks


def cold_section(phone: PhoneAnswer) -> list[Block]:
    """What the settings of a phone cost before their first answer."""
    cells = cold_cells(phone)
    if not cells:
        return []
    notes = [Words(words) for words in (cold_headline(phone), *cold_notes(phone)) if words]
    return [Words("Cold start:"), Table(COLD_HEADS, cells, numbers=(1, 2, 3)), *notes]


def sustained_section(sustained: Sustained | None) -> list[Block]:
    """Long series: the two rankings, where they flip, and latency against time and temperature."""
    if sustained is None:
        return []
    said = [sustained_headline(sustained), *flip_words(sustained), *sustained_notes(sustained)]
    heads, rows = over_time(sustained)
    return [
        Words("Sustained:"),
        Table(SUSTAINED_HEADS, sustained_cells(sustained), numbers=(1, 2, 3, 4, 5)),
        *(Words(words) for words in said),
        Table(heads, rows, numbers=range(1, len(heads))),
    ]


def variants_section(model: ModelSummary) -> list[Block]:
    """How a model's variants came out: operators before and after, sizes, and whether they compute the same."""
    if not model.variants:
        return []
    rows = [
        (
            variant.recipe,
            nodes(variant),
            size(variant.size_bytes),
            format_version(variant),
            variant.converter_version or NOTHING,
            ", ".join(variant.twins) or NOTHING,
            error_words(variant),
            verdict_words(variant) or "not told yet",
            ", ".join(changes(variant.nodes_before, variant.nodes_after)) or "none",
        )
        for variant in model.variants
    ]
    heads = (
        "variant", "operators before → after", "size", "format", "converter", "twin of", "error", "beside its source",
        "changed operators",
    )  # fmt: skip
    return [Table(heads, rows, numbers=(1, 2, 6)), Words(ERROR_NOTE)]


def dropped_section(model: ModelSummary) -> list[Block]:
    """What was no trial of a model, and why."""
    if not model.dropped:
        return []
    rows = [(one.row, one.reason, ", ".join(one.phones)) for one in model.dropped]
    return [Words("These were no trials."), Table(("setting", "reason", "phones"), rows)]


def rejected_section(attempts: Sequence[Row]) -> list[Block]:
    """Every timed attempt that measured and does not count, as its vitals say that it can't be trusted, and why."""
    rejected = [
        row for row in attempts if text(row, "purpose", "time") == "time" and text(row, "validity") == "invalid"
    ]
    if not rejected:
        return []
    decimals = decimals_for(number(row, "p50_s") for row in rejected)
    rows = [
        (
            text(row, "model"),
            text(row, "label") or text(row, "phone"),
            text(row, "row"),
            str(whole(row, "round") or NOTHING),
            ms(number(row, "p50_s"), decimals),
            "; ".join(names(row, "validity_reasons")) or NOTHING,
        )
        for row in rejected
    ]
    return [Table(("model", "phone", "setting", "round", "p50 ms", "why it does not count"), rows, numbers=(3, 4))]


def provenance_section(head: RunHead) -> list[Block]:
    """What was asked and with what."""
    rows = [
        ("run", head.run),
        ("started", head.created_at.isoformat(sep=" ") if head.created_at else ""),
        ("took", span(head.duration_s)),
        ("state", head.state),
        ("plan", f"{head.plan_name} {head.plan_digest}".strip()),
        ("seed", "" if head.seed is None else str(head.seed)),
        ("rounds", str(head.rounds)),
        ("binary", f"{head.binary_name} {head.binary_digest}".strip()),
        ("ORT version of the binary", head.ort_version or "not told by it"),
        ("converter version", ", ".join(head.converter_versions) or NOTHING),
        ("phone script", head.script_digest),
        ("orch", head.orch_version),
        ("host, user", f"{head.host}, {head.user}".strip(", ")),
        ("note", head.note),
        ("tags", ", ".join(head.tags)),
    ]
    return [Table(("what", "value"), [row for row in rows if row[1]])]
