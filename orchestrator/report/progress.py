"""Pure: what stands on the terminal while a run goes on. Lines of text from plain values; drawing them is the CLI's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.report.lines import fit, joined, left, right, widest
from orchestrator.report.numbers import NOTHING, clock

HINT = "(Ctrl-C: stop, keep)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneProgress:
    """One phone in a run: `what` is the setting that runs, or why it waits; `left_s` seconds, None when not known."""

    name: str
    done: int
    total: int
    what: str
    round: int | None = None
    battery_c: float | None = None
    clock_ghz: float | None = None
    state: str = "ok"
    left_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """A run so far: trials ended and planned, seconds left (None: not known), a provisional answer ("": none yet)."""

    plan_name: str
    done: int
    total: int
    left_s: float | None
    so_far: str = ""
    lanes: tuple[LaneProgress, ...] = ()


def provisional(phone: str, row: str, ratio: float | None) -> str:
    """`B3: cpu all 4t 2.3×`: the row that leads before its interval is known, so with one decimal only."""
    return f"{phone}: {row}" + (f" {ratio:.1f}×" if ratio is not None else "")


def progress_line(progress: RunProgress, *, width: int = 80, hint: str = HINT) -> str:
    """`quick  47/105  2:31 left  so far B3: …  (Ctrl-C: stop, keep)` in at most `width` cells.

    What doesn't fit goes from the end: the hint first, then the answer is cut; the count always stands.
    """
    left_words = f"{clock(progress.left_s)} left" if progress.left_s is not None else ""
    core = joined([progress.plan_name, f"{progress.done}/{progress.total}", left_words], "  ")
    answer = f"so far {progress.so_far}" if progress.so_far else ""
    for parts in ((core, answer, hint), (core, answer)):
        whole = joined(parts, "  ")
        if fit(whole, width) == whole:
            return whole
    return fit(joined([core, answer], "  "), width)


def lane_lines(lanes: Sequence[LaneProgress], *, width: int = 80) -> list[str]:
    """One line a phone: name, count, what runs, round, temperature, clock, state, time left; at most `width` cells.

    What runs takes the room that the others leave; they keep their least widths, so that little jumps. A narrow
    terminal has no temperatures and clocks.
    """
    columns = [at for at in range(len(_WIDTHS)) if width >= _NARROW or at not in _ONLY_WHERE_WIDE]
    rows = [_cells(lane) for lane in lanes]
    widths = [widest((row[at] for row in rows), least=least, most=most) for at, (least, most) in enumerate(_WIDTHS)]
    others = sum(widths[at] + 1 for at in columns if at != _WHAT)
    widths[_WHAT] = max(10, width - others)
    return [fit(" ".join(_placed(row, widths, columns)), width).rstrip() for row in rows]


_WIDTHS = ((8, 18), (5, 11), (0, 0), (2, 4), (7, 7), (7, 7), (5, 10), (5, 7))
"""Least and most cells of each column."""
_WHAT = 2
_AT_THE_RIGHT = {1, 4, 5, 7}
_ONLY_WHERE_WIDE = {4, 5}
_NARROW = 72


def _cells(lane: LaneProgress) -> tuple[str, ...]:
    return (
        lane.name,
        f"{lane.done}/{lane.total}",
        lane.what,
        "" if lane.round is None else f"r{lane.round}",
        NOTHING if lane.battery_c is None else f"{lane.battery_c:.1f} °C",
        NOTHING if lane.clock_ghz is None else f"{lane.clock_ghz:.1f} GHz",
        lane.state,
        "" if lane.left_s is None else clock(lane.left_s),
    )


def _placed(row: Sequence[str], widths: Sequence[int], columns: Sequence[int]) -> Iterator[str]:
    for at in columns:
        yield right(row[at], widths[at]) if at in _AT_THE_RIGHT else left(row[at], widths[at])
