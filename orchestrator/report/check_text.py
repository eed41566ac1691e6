"""Pure: what `orch model check` says of models, for a terminal of a given width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from orchestrator.report.lines import Line, Span, left, line, paragraph, right, shown, widest, wrap
from orchestrator.report.numbers import NOTHING, plural, size
from orchestrator.variants.checks.facts import CheckerAnswer
from orchestrator.variants.checks.finding import Finding, Severity
from orchestrator.variants.checks.report import CheckReport
from orchestrator.variants.checks.usability import LevelRow, Usability

_STYLES = {Severity.BLOCKS: "bad", Severity.COSTS: "warn", Severity.NOTE: "dim"}
_MAX_OPERATORS = 12
_MAX_NAME = 24
RULES_NOTE = "by the rules of ONNX Runtime 1.21's NNAPI provider; no phone was asked"


def check_lines(reports: Sequence[CheckReport], width: int) -> list[Line]:
    """A table where there are several models, then each model."""
    lines = _table(reports, width) if len(reports) > 1 else []
    for report in reports:
        lines += [()] if lines else []
        lines += _model(report, width)
    return lines


def _table(reports: Sequence[CheckReport], width: int) -> list[Line]:
    name_width = widest((one.model for one in reports), least=8, most=_MAX_NAME)
    head = f"{left('model', name_width)}   nodes opset    NNAPI parts  blocks costs  verdict"
    lines = [line(Span(head, "dim"))]
    for one in reports:
        row = one.settled.highest if one.settled else None
        counts = Counter(finding.severity for finding in one.findings)
        taken = NOTHING if row is None else f"{row.nodes_taken}/{row.nodes}"
        figures = (
            f" {right(str(one.nodes), 7)} {right(str(one.opset), 5)} {right(taken, 8)} "
            f"{right(NOTHING if row is None else str(row.partitions), 5)} {right(str(counts[Severity.BLOCKS]), 7)} "
            f"{right(str(counts[Severity.COSTS]), 5)}  {one.verdict.word}"
        )
        lines.append(line(left(one.model, name_width) + figures))
    return [*lines, *paragraph("NNAPI: nodes taken at API 30, open dimensions fixed", width, style="dim")]


def _model(report: CheckReport, width: int) -> list[Line]:
    kind = f"ORT format {report.ort_format}" if report.ort_format is not None else f"IR {report.ir_version}"
    lines = [
        *paragraph(report.model, width, style="bold"),
        *paragraph(
            f"{report.path}: opset {report.opset}, {kind}, {plural(report.nodes, 'node')}, {size(report.size_bytes)}",
            width,
            indent=2,
            hang=2,
            style="dim",
        ),
    ]
    lines += [(), *paragraph(report.verdict.text, width, indent=2)]
    lines += _command(report.verdict.command, width, 4)
    lines += _nnapi(report, width)
    lines += _checker(report.checker, width)
    for finding in report.findings:
        lines += _finding(finding, width)
    if not report.findings:
        lines += [(), *paragraph("no findings", width, indent=2)]
    return lines


def _nnapi(report: CheckReport, width: int) -> list[Line]:
    if report.as_is is None:
        return [(), *paragraph(f"NNAPI: not told: {report.nnapi_problem}", width, indent=2, hang=2)]
    lines = [(), *paragraph(f"NNAPI, {RULES_NOTE}", width, indent=2, hang=2, style="bold")]
    both = [("as it is" if report.fixed else "", report.as_is)]
    if report.fixed:
        dims = " ".join(f"{key}={number}" for key, number in report.fixed_dims)
        both.append((f"with {dims}{' (guessed)' if report.guessed else ''}", report.fixed))
    for name, usable in both:
        lines += paragraph(name, width, indent=4, hang=2) if name else []
        lines += _levels(usable.levels, width)
    return [*lines, *_left_out(both[-1][1], width)]


def _levels(levels: Sequence[LevelRow], width: int) -> list[Line]:
    lines = [line(Span("    API    takes      parts  mult-adds", "dim"))]
    for row in levels:
        share = NOTHING if row.multiply_adds_share is None else f"{row.multiply_adds_share * 100:.0f} %"
        name = f"{row.api_level}+" if row is levels[-1] else str(row.api_level)
        taken = f"{row.nodes_taken}/{row.nodes}"
        lines.append(line(f"    {left(name, 4)} {right(taken, 9)} {right(str(row.partitions), 9)} {right(share, 10)}"))
        lines += paragraph(f"but: {row.caveat}", width, indent=9, hang=2, style="dim") if row.caveat else []
    return lines


def _left_out(usable: Usability, width: int) -> Iterator[Line]:
    """Nodes by operator and reason: from which level on."""
    if not usable.nodes:
        return
    yield line(Span("    not taken everywhere", "dim"))
    counts = Counter((row.operator, row.possible_at, row.reason) for row in usable.nodes)
    for (operator, level, reason), count in list(counts.most_common())[:_MAX_OPERATORS]:
        since = f"from API {level} on" if level else "never"
        yield from paragraph(f"{count} {operator}: {since}: {reason}", width, indent=4, hang=2)
    hidden: Sequence[tuple[tuple[str, int | None, str], int]] = counts.most_common()[_MAX_OPERATORS:]
    if hidden:
        yield from paragraph(f"{plural(sum(n for _, n in hidden), 'more node')}: --json has them", width, indent=4)


def _checker(answers: Sequence[CheckerAnswer], width: int) -> list[Line]:
    if not answers:
        return []
    lines = [(), line(Span("  onnxruntime's own checker (operators and fixed shapes only)", "bold"))]
    names = list(dict.fromkeys(one.provider for one in answers))
    for name in names:
        mine = [one for one in answers if one.provider == name]
        if all(one.problem for one in mine):
            lines += paragraph(f"{name}: no answer: {mine[0].problem}", width, indent=4, hang=2)
            continue
        said = [_answer(one) for one in mine]
        words = said[0] if said[0] == said[1] else f"{said[0]}; with fixed shapes {said[1]}"
        lines += paragraph(f"{name}: {words}", width, indent=4, hang=2)
    return lines


def _answer(one: CheckerAnswer) -> str:
    if one.problem:
        return f"no answer ({one.problem})"
    return f"{one.answer} ({one.nodes_taken}/{one.nodes} nodes, {plural(one.partitions, 'part')})"


def _finding(finding: Finding, width: int) -> list[Line]:
    lines: list[Line] = [(), line(Span(f"  {finding.severity.value:7}", _STYLES[finding.severity]), f" {finding.id}")]
    lines += paragraph(finding.reason, width, indent=4)
    if finding.places:
        more = finding.count - len(finding.places)
        names = ", ".join(finding.places) + (f" and {more} more" if more > 0 else "")
        lines += _labelled("where", names, width, "dim")
    if finding.remedy:
        lines += _labelled("mend", finding.remedy, width, "")
    if finding.command:
        lines += _command(finding.command, width, 11)
    if finding.threads:
        threads = " ".join(f"#{number}" for number in finding.threads)
        lines += _labelled("known", f"microsoft/onnxruntime {threads}", width, "dim")
    return lines


def _labelled(label: str, text: str, width: int, style: str) -> list[Line]:
    """A paragraph with a word in front of it."""
    return [
        line(Span(f"    {left('' if at else label, 7)}{part}", style)) for at, part in enumerate(wrap(text, width - 11))
    ]


def _command(command: str, width: int, indent: int) -> list[Line]:
    """A command that can be copied: broken between words with a backslash."""
    lines, current = [], ""
    for word in shown(command).split(" "):
        if current and indent + cell_len(current) + 1 + cell_len(word) > width - 2:
            lines.append(line(" " * indent + current + " \\"))
            current = f"  {word}"
        else:
            current = f"{current} {word}" if current else word
    return [*lines, line(" " * indent + current)]
