"""Pure: how nightlies stand, for `orch nightly status`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.report.lines import Line, Span, left, line, paragraph, rendered, right, widest

_STYLE = {"done": "good", "runs": "warn", "incomplete": "warn", "interrupted": "warn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NightLine:
    """One night as tables show it. `state` is `runs`, `cut off`, `missed`, or how it ended in a word."""

    night: str
    state: str
    exit: int | None
    began_at: str
    ended_at: str
    problem: str
    runs: tuple[str, ...]
    planned: int
    measured: int
    failed: int
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NightlyStanding:
    """A nightly at this moment. `installed` is `systemd`, `cron`, or "" where nothing starts it; `living` the process
    that carries it out now; `next_start` UTC."""

    name: str
    file: str
    device: tuple[str, ...]
    start: str
    deadline: str
    installed: str
    next_night: str
    next_start: str
    living: int | None
    nights: tuple[NightLine, ...]


def render_nightlies(found: Sequence[NightlyStanding], *, width: int = 80, colour: bool = False) -> str:
    """Each nightly with a head of two lines and a line a night, newest first."""
    return rendered([one for standing in found for one in _nightly(standing, width)], colour=colour)


def _nightly(one: NightlyStanding, width: int) -> list[Line]:
    by = f"started by {one.installed}" if one.installed else "nothing starts it: orch nightly install"
    now = f" · runs now, process {one.living}" if one.living is not None else ""
    lines = [line(Span(one.name, "bold"), f"  {one.start} to {one.deadline} on {', '.join(one.device)}{now}")]
    lines += paragraph(f"next: {one.next_night} {one.start} · {by}", width, indent=2, style="dim")
    if not one.nights:
        return [*lines, line("  no night yet")]
    name_width = widest((run for night in one.nights for run in night.runs[:1]), least=3, most=width - 52)
    head = f"  {left('night', 10)}  {left('state', 13)}  {right('ended', 9)}  meas fail skip"
    lines.append(line(Span(f"{head}  run", "dim")))
    for night in one.nights:
        ended = f"{night.measured + night.failed + night.skipped}/{night.planned}" if night.runs else "–"
        counts = " ".join(right(str(n), 4) for n in (night.measured, night.failed, night.skipped))
        lines.append(
            line(
                f"  {left(night.night, 10)}  ",
                Span(left(night.state, 13), _STYLE.get(night.state, "bad")),
                f"  {right(ended, 9)}  {counts}  {left(night.runs[0] if night.runs else '', name_width)}",
            )
        )
        lines += paragraph(night.problem, width, indent=4, style="dim") if night.problem else []
    return lines
