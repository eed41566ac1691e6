"""Pure: `orch status`: every run that goes on, or should, with what each of its phones does or did last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len

from orchestrator.report.lines import Line, Span, fit, joined, line, paragraph, rendered
from orchestrator.report.numbers import clock, span
from orchestrator.report.progress import LaneProgress, lane_lines
from orchestrator.store.records import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBoard:
    """A run that goes on, or was cut off.

    `living` is the process that drives it. `heard_at`: the last that is known of it; of a run that was cut off the
    moment since when it is dead. `told`: whether its process said this itself, so that a phone's line is what it does
    now; else the ledger did, and it is what the phone was given last. `left_s` and `so_far` as in a run's own view.
    """

    run_id: str
    created_at: datetime
    state: RunState
    planned: int
    measured: int
    failed: int
    skipped: int
    living: int | None
    cut_off: bool
    note: str
    heard_at: datetime
    told: bool
    left_s: float | None
    so_far: str
    mend: str
    lanes: tuple[LaneProgress, ...]
    elsewhere: str = ""
    """The other host that drives it; what is said of it is what the ledger has."""


def render_board(
    runs: Sequence[RunBoard], now: datetime, *, empty: str = "nothing runs", width: int = 80, colour: bool = False
) -> str:
    """Each run's head, a line a phone, what goes on with it; at most `width` columns."""
    lines: list[Line] = [] if runs else [line(empty)]
    for run in runs:
        lines += [line(), *_of_run(run, now, width)] if lines else _of_run(run, now, width)
    return rendered(lines, colour=colour)


def board_lines(runs: Sequence[RunBoard], now: datetime, columns: int, rows: int) -> list[str]:
    """The same for a terminal of so many columns and rows: what does not fit is a number."""
    lines = render_board(runs, now, width=columns - 1).splitlines()
    room = max(1, rows - 2)
    return lines if len(lines) <= room else [*lines[: room - 1], f"and {len(lines) - room + 1} more lines"]


def _of_run(run: RunBoard, now: datetime, width: int) -> list[Line]:
    ended = run.measured + run.failed + run.skipped
    ago = span(max(0.0, (now - run.heard_at).total_seconds()))
    if run.cut_off:
        word, style = f"dead since {run.heard_at:%Y-%m-%d %H:%M} UTC ({ago} ago)", "bad"
    else:
        word, style = f"runs on {run.elsewhere}" if run.elsewhere else f"runs (process {run.living})", "good"
    left = f"{clock(run.left_s)} left" if run.left_s is not None and not run.cut_off else ""
    stale = f"heard {ago} ago" if not run.cut_off and (now - run.heard_at).total_seconds() > STALE_S else ""
    head = joined([f"{ended}/{run.planned}", left, stale], "  ")
    name = fit(run.run_id, width // 2)
    first = (Span(name, "bold"), "  ", Span(fit(word, width - cell_len(name) - 2), style))
    fits = cell_len(f"{name}  {word}  {head}") <= width
    lines = [line(*first, f"  {head}")] if fits else [line(*first), line(f"  {fit(head, width - 2)}")]
    lines += paragraph(f"so far {run.so_far}", width, indent=2) if run.so_far else []
    lines += paragraph(run.note, width, indent=2, style="dim") if run.note else []
    lines += [line(f"  {words}") for words in lane_lines(run.lanes, width=width - 2)]
    return [*lines, *(paragraph(run.mend, width, indent=2, style="warn") if run.mend else [])]


STALE_S = 60.0
"""A run that says nothing for so long is told to be silent."""
