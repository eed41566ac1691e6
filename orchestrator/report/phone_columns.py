"""Pure: the columns of a phone's table in the terminal that are there only where they say something."""

from __future__ import annotations

from orchestrator.report.lines import right, widest
from orchestrator.report.nnapi_text import nodes_words
from orchestrator.report.numbers import NOTHING, percent
from orchestrator.report.summary import PhoneAnswer


def resolved(phone: PhoneAnswer) -> list[str]:
    """The column on the smallest difference that a row could have told; the Markdown report has it beside NNAPI's."""
    if phone.resolves is None or (phone.nnapi is not None and phone.nnapi.cases):
        return [""] * (len(phone.rows) + 1)
    texts = ["tells", *(NOTHING if row.resolves is None else percent(row.resolves) for row in phone.rows)]
    return [f" {right(text, widest(texts, most=8))}" for text in texts]


def taken_by_nnapi(phone: PhoneAnswer) -> list[str]:
    """The columns on what NNAPI took, head first; empty texts where no row has any."""
    if phone.nnapi is None or not phone.nnapi.cases:
        return [""] * (len(phone.rows) + 1)
    cases = [phone.nnapi.case(row.case) for row in phone.rows]
    parts = [NOTHING if case is None or case.partitions is None else str(case.partitions) for case in cases]
    nodes = [NOTHING if case is None else nodes_words(case) for case in cases]
    nodes_width = widest(nodes, least=5, most=9)
    rows = zip(["parts", *parts], ["nodes", *nodes], strict=True)
    return [f" {right(part, 5)} {right(node, nodes_width)}" for part, node in rows]


def errors(phone: PhoneAnswer) -> list[str]:
    """The column on what the settings compute, head first; empty texts where nobody asked."""
    if all(row.check is None for row in phone.rows):
        return [""] * (len(phone.rows) + 1)
    texts = ["error", *(NOTHING if row.check is None else row.check.short for row in phone.rows)]
    width = widest(texts, most=11)
    return [f" {right(text, width)}" for text in texts]
