"""Pure: what takes how much, and what was cleaned, as text of at most 80 columns."""

from __future__ import annotations

from orchestrator.report.disk import Cleaning, DiskUse
from orchestrator.report.lines import Line, Span, left, line, paragraph, rendered, right, widest
from orchestrator.report.numbers import plural, size

_MANY = 12
"""More runs than this are a number."""


def render_disk(use: DiskUse, *, width: int = 80, colour: bool = False) -> str:
    """A line a part, the largest first, then phones, then what is free."""
    parts = sorted((one for one in use.parts if one.files), key=lambda one: -one.size_bytes)
    lines: list[Line] = [line(Span(f"{left('what', 14)} {right('size', 8)} {right('files', 8)}", "dim"))]
    for one in parts:
        head = f"{left(one.name, 14)} {right(size(one.size_bytes), 8)} {right(str(one.files), 8)}"
        lines.append(line(f"{head}  ", Span(left(one.what, width - 34).rstrip(), "dim")))
    lines.append(line(Span(f"{left('together', 14)} {right(size(use.size_bytes), 8)}", "bold")))
    kept = f"; numbers of {plural(use.kept_runs, 'run')} stay" if use.kept_runs else ""
    lines += paragraph(f"{use.home}: {size(use.free_bytes)} free; {plural(use.runs, 'run')}{kept}", width)
    names = widest((one.label for one in use.phones), least=5, most=24)
    for phone in use.phones:
        told = phone.problem or f"{size(phone.size_bytes)} in our folder, {size(phone.free_bytes)} free"
        lines += paragraph(f"{left(phone.label, names)}  {told}", width, hang=names + 2)
    return rendered(lines, colour=colour)


def render_cleaning(done: Cleaning, *, width: int = 80, colour: bool = False) -> str:
    """What went, run by run where those are few, what was left alone, and whether the bound holds."""
    verb = "would go" if done.dry_run else "gone"
    lines: list[Line] = []
    for run in done.runs[:_MANY]:
        kept = f", {plural(run.kept, 'kept entry', 'kept entries')} stay" if run.kept else ""
        words = f"raw files of {plural(run.numbers, 'number')} {verb}{kept}"
        lines += paragraph(f"{run.run_id} of {run.created_at:%Y-%m-%d}: {words}", width, hang=2)
    if len(done.runs) > _MANY:
        lines.append(line(f"… and of {plural(len(done.runs) - _MANY, 'more run', 'more runs')}"))
    for spared in done.spared[:_MANY]:
        lines += paragraph(f"{spared.run_id}: left alone: {spared.why}", width, hang=2, style="dim")
    if len(done.spared) > _MANY:
        lines.append(line(Span(f"… and {plural(len(done.spared) - _MANY, 'more run', 'more runs')} left alone", "dim")))
    for problem in done.problems[:_MANY]:
        lines += paragraph(f"not removed: {problem}", width, hang=2, style="bad")
    sizes = (
        ("evidence", done.evidence_bytes),
        ("left over", done.left_over_bytes),
        ("shelf", done.shelf_bytes),
        ("binaries", done.binaries_bytes),
        ("reports", done.reports_bytes),
    )
    told = ", ".join(f"{name} {size(n_bytes)}" for name, n_bytes in sizes if n_bytes)
    lines.append(line(Span(f"{verb}: {told or 'nothing'}", "bold")))
    bound = f", the bound is {size(done.bound_bytes)}" if done.bound_bytes is not None else ""
    lines.append(line(f"home: {size(done.size_before_bytes)}, then {size(done.size_after_bytes)}{bound}"))
    if not done.holds:
        words = "the bound does not hold: what is left is kept, runs, or is too young; orch disk says what it is"
        lines += paragraph(words, width, style="bad")
    return rendered(lines, colour=colour)
