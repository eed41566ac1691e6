"""Pure: what NNAPI did on one phone, in words and tables for a terminal; markdown uses the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.cells import cell_len

from orchestrator.report.lines import Line, Span, left, line, paragraph, right, shown, widest, wrap
from orchestrator.report.nnapi import NnapiAnswer, NnapiCase, NnapiPrediction
from orchestrator.report.numbers import NOTHING, decimals_for, ms, percent, plural
from orchestrator.report.summary import PhoneAnswer

RULES_NOTE = "predicted by the rules of ONNX Runtime 1.21's NNAPI EP (that of 2020, in older guides, took less)"
MAX_SHOWN_OPERATORS = 8
MAX_SHOWN_PARTITIONS = 4
MAX_SHOWN_REASONS = 4
MAX_NAME = 26


def devices_words(nnapi: NnapiAnswer) -> str:
    """`google-edgetpu (accelerator), nnapi-reference (cpu)`, or what is wrong with it."""
    if nnapi.devices is None:
        return "devices not told"
    if not nnapi.devices:
        return "no device listed: Android's own CPU implementation at most"
    if nnapi.only_reference:
        return f"only {', '.join(name for name, _ in nnapi.devices)}, a CPU"
    return ", ".join(f"{name} ({kind})" for name, kind in nnapi.devices)


def pieces_words(prediction: NnapiPrediction) -> str:
    """`{MaxPool} {MaxPool Reshape Gemm}`; long ones counted by operator, many ones by their sizes."""
    pieces = prediction.partitions
    if len(pieces) > MAX_SHOWN_PARTITIONS:
        sizes = Counter(len(piece) for piece in pieces)
        return "of " + ", ".join(
            f"{plural(size, 'node')}{f' (×{count})' if count > 1 else ''}" for size, count in sorted(sizes.items())
        )
    return " ".join("{" + _operators(piece) + "}" for piece in pieces)


def _operators(piece: Sequence[str]) -> str:
    if len(piece) <= MAX_SHOWN_OPERATORS:
        return " ".join(piece)
    return ", ".join(f"{count} {name}" for name, count in Counter(piece).most_common())


def prediction_name(prediction: NnapiPrediction) -> str:
    """`onnx, basic`, `extended = layout = all` where they are one graph, `basic with nchw`."""
    flags = f" with {' '.join(prediction.flags)}" if prediction.flags else ""
    return ", ".join(" = ".join(names) for names in prediction.graphs) + flags


def reasons_words(prediction: NnapiPrediction) -> list[str]:
    """`2 com.microsoft:FusedConv: …`, most nodes first."""
    rows = sorted(prediction.not_taken, key=lambda row: (-row[2], row[0], row[1]))
    words = [f"{count} {operator}: {reason}" for operator, reason, count in rows[:MAX_SHOWN_REASONS]]
    hidden = sum(count for _, _, count in rows[MAX_SHOWN_REASONS:])
    if hidden:
        words.append(f"{plural(hidden, 'more node')}: report.md")
    return [*words, f"but: {prediction.caveat}"] if prediction.caveat else words


def case_words(case: NnapiCase) -> str:
    """How sure it is, and whether the rules said so before."""
    if not case.known:
        return f"not known: {case.why}" if case.why else "not known"
    return {True: "as predicted", False: "not as predicted", None: "no prediction"}[case.as_predicted]


def share_words(share: float | None) -> str:
    """A share as a percentage, exact at both ends."""
    if share is None:
        return NOTHING
    return "100 %" if share > 0.9995 else percent(share) if share else "0 %"


def pieces_time(case: NnapiCase) -> str:
    """`0.041 + 0.012 ms, the same nodes on the CPU 0.035 + 0.010 ms`: mean time of each partition in a traced run."""
    if not case.partition_s:
        return NOTHING
    decimals = decimals_for([*case.partition_s, *case.cpu_s])
    words = f"{_added(case.partition_s, decimals)} ms"
    if None in case.cpu_s:
        return words
    return f"{words}, the same nodes on the CPU {_added(case.cpu_s, decimals)} ms"


def _added(values_s: Sequence[float | None], decimals: int) -> str:
    """Each where there are few, else their sum."""
    if len(values_s) > MAX_SHOWN_PARTITIONS:
        return f"{ms(sum(value or 0.0 for value in values_s), decimals)} in all"
    return " + ".join(ms(value, decimals) for value in values_s)


def nodes_words(case: NnapiCase) -> str:
    """`65/65`: taken of the model's own nodes."""
    return NOTHING if case.nodes is None or case.nodes_claimed is None else f"{case.nodes_claimed}/{case.nodes}"


def nnapi_note(phone: PhoneAnswer) -> str:
    """What a reader of an answer must know of NNAPI there; "" where it has no part in it."""
    nnapi, best = phone.nnapi, phone.best
    if nnapi is None:
        return ""
    if nnapi.only_reference:
        return f"NNAPI here is {devices_words(nnapi)}"
    case = nnapi.case(best.case) if best is not None else None
    if case is None:
        return ""
    others = [row for row in phone.rows if row.p50_s is not None and nnapi.case(row.case) is None]
    without = f", the best without it: {others[0].row}" if others else ""
    names = ", ".join(name for name, kind in nnapi.devices or () if kind != "cpu")
    took = f"NNAPI{f' ({names})' if names else ''} took {_taken(case)}; it" if case.known else "NNAPI"
    return f"{took} is deprecated since Android 15{without}"


def _taken(case: NnapiCase) -> str:
    """`all 65 nodes in 1 partition`, `4 of 6 nodes in 2 partitions`."""
    count = f"all {case.nodes}" if case.nodes_claimed == case.nodes else f"{case.nodes_claimed} of {case.nodes}"
    return f"{count} nodes in {plural(case.partitions or 0, 'partition')}"


def nnapi_lines(nnapi: NnapiAnswer, width: int) -> list[Line]:
    """The section of one phone for a terminal."""
    lines = [(), *paragraph(f"NNAPI: {devices_words(nnapi)}", width, indent=2, hang=4, style="bold")]
    if nnapi.predictions:
        lines += paragraph(RULES_NOTE, width, indent=2, hang=4, style="dim")
        lines += _predictions(nnapi.predictions, width)
    if nnapi.cases:
        lines += _cases(nnapi.cases, width)
    return lines


def _predictions(predictions: Sequence[NnapiPrediction], width: int) -> list[Line]:
    name_width = widest((prediction_name(one) for one in predictions), least=8, most=MAX_NAME)
    lines = [line(Span(f"  {left('variant', name_width)}   takes parts", "dim"))]
    for one in predictions:
        figures = f" {right(f'{one.nodes_claimed}/{one.nodes}', 7)} {right(str(len(one.partitions)), 5)}  "
        lines += _beside(prediction_name(one), name_width, figures, pieces_words(one), width)
        for words in reasons_words(one):
            lines += paragraph(words, width, indent=6, hang=2, style="dim")
    return lines


def _cases(cases: Sequence[NnapiCase], width: int) -> list[Line]:
    name_width = widest((case.row for case in cases), least=8, most=MAX_NAME)
    head = f"  {left('setting', name_width)}   nodes parts  time mult-adds layout"
    lines = [line(Span(head, "dim"))]
    for case in cases:
        parts = NOTHING if case.partitions is None else str(case.partitions)
        layout = NOTHING if case.layout_nodes is None else f"+{case.layout_nodes}" if case.layout_nodes else "0"
        figures = (
            f" {right(nodes_words(case), 7)} {right(parts, 5)} {right(share_words(case.time_share), 5)} "
            f"{right(share_words(case.multiply_adds_share), 9)} {right(layout, 6)}  "
        )
        lines += _beside(case.row, name_width, figures, case_words(case), width)
        if case.partition_s:
            lines += paragraph(pieces_time(case), width, indent=6, hang=2, style="dim")
    return lines


def _beside(name: str, name_width: int, figures: str, words: str, width: int) -> list[Line]:
    """A row whose last column wraps; a name that is too long for its column has a line of its own."""
    fits = cell_len(shown(name)) <= name_width
    lines = [] if fits else paragraph(name, width, indent=2, hang=2)
    front = f"  {left(name if fits else '', name_width)}{figures}"
    indent = cell_len(front)
    first, *rest = wrap(words, max(width - indent, 12))
    return [*lines, line(front + first), *(line(" " * indent + more) for more in rest)]
