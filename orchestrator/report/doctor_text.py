"""Pure: what `orch doctor` prints of its findings, the gravest first, each with its mend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from android_runner.host.finding import HostFinding, Level, gravest_first, may_start
from orchestrator.report.lines import Line, Span, joined, line, rendered, wrap
from orchestrator.report.numbers import plural

_STYLES = {Level.STOP: "bad", Level.WARN: "warn", Level.NOTE: "dim", Level.OK: "good"}
_INDENT = 6


def render_doctor(findings: Sequence[HostFinding], *, width: int = 80, colour: bool = False) -> str:
    """Every finding with its mend at `width` cells (80 at least), then whether the lab may start."""
    width = max(width, 80)
    lines = [shown for finding in gravest_first(findings) for shown in _finding(finding, width)]
    return rendered([*lines, (), line(Span(verdict(findings), "bold"))], colour=colour)


def verdict(findings: Sequence[HostFinding]) -> str:
    """`the lab may start (2 warnings)`, `the lab must not start: 1 stop, 2 warnings`."""
    counts = Counter(finding.level for finding in findings)
    words = [
        plural(counts[level], word)
        for level, word in ((Level.STOP, "stop"), (Level.WARN, "warning"), (Level.NOTE, "note"))
        if counts[level]
    ]
    if may_start(findings):
        return "the lab may start" + (f" ({', '.join(words)})" if words else "")
    return f"the lab must not start: {', '.join(words)}"


def _finding(finding: HostFinding, width: int) -> list[Line]:
    text = joined([finding.check, finding.about, finding.seen], ": ")
    first, *rest = wrap(text, width - _INDENT - 1)
    lines = [line(Span(f"{finding.level.value:>{_INDENT - 1}} ", _STYLES[finding.level]), " ", first)]
    lines += [line(" " * (_INDENT + 1), part) for part in rest]
    return lines + [
        line(Span(" " * (_INDENT + 1) + part, "dim"))
        for part in (wrap(f"mend: {finding.mend}", width - _INDENT - 1, hang=6) if finding.mend else [])
    ]
