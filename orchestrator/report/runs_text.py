"""Pure: the list of runs for `orch runs`, and the lines of `orch status`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orchestrator.report.lines import Line, Span, left, line, paragraph, rendered, right, widest

_STYLE = {"finished": "good", "runs": "warn", "cut off": "bad", "interrupted": "warn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """One run. `state` is a word (`runs`, `finished`, `interrupted`, `cut off`); `mend` what goes on with it, or ""."""

    run: str
    created_at: datetime
    state: str
    planned: int
    measured: int
    failed: int
    skipped: int
    note: str = ""
    mend: str = ""


def render_runs(rows: Sequence[RunLine], *, empty: str = "no runs", width: int = 80, colour: bool = False) -> str:
    """A line a run, in the order given: name, when, state, trials ended of planned, and what became of them.

    `empty` is what is said where there is none.
    """
    if not rows:
        return rendered([line(empty)], colour=colour)
    name_width = widest((row.run for row in rows), least=3, most=width - 56)
    heads = f"{left('run', name_width)}  {left('started (UTC)', 16)}  {left('state', 11)}  {right('ended', 9)}"
    lines: list[Line] = [line(Span(f"{heads}  meas fail skip", "dim"))]
    for row in rows:
        ended = f"{row.measured + row.failed + row.skipped}/{row.planned}"
        counts = " ".join(right(str(n), 4) for n in (row.measured, row.failed, row.skipped))
        lines.append(
            line(
                f"{left(row.run, name_width)}  {left(f'{row.created_at:%Y-%m-%d %H:%M}', 16)}  ",
                Span(left(row.state, 11), _STYLE.get(row.state, "")),
                f"  {right(ended, 9)}  {counts}",
            )
        )
        for words in (row.note, row.mend):
            lines += paragraph(words, width, indent=2, style="dim") if words else []
    return rendered(lines, colour=colour)
