"""Pure: the morning digest as text for a terminal or a mail, at most `width` cells wide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.report.lines import Line, joined, left, line, paragraph, rendered, right, widest
from orchestrator.report.morning.nouns import Died, Digest, NotRun, Shift
from orchestrator.report.morning.words import (
    alert_words,
    alike,
    case_name,
    died_words,
    figures_words,
    hand_words,
    head_words,
    not_run_words,
    problem_lines,
    rest_words,
    twin_cells,
)
from orchestrator.report.numbers import plural
from orchestrator.report.trend import Trend

MAX_TWIN_LINES = 6
MAX_ALIKE = 8
"""So many cases of which the same is said are shown; the page and the JSON have all."""
BAR_NIGHTS = 40
_BARS = "▁▂▃▄▅▆▇█"


def digest_text(one: Digest, *, width: int = 80, colour: bool = False) -> str:
    """The whole digest: the essentials first, empty parts left out."""
    lines: list[Line] = [
        *paragraph(head_words(one), width, hang=2),
        *paragraph(one.sentence, width, style="bad" if one.fresh else "bold", hang=2),
        *_part("not carried out as asked", problem_lines(one), width, "bad"),
        *_part("needs hands", [hand_words(hand) for hand in one.hands], width, "bad"),
        *_shifts("regressed", one.regressed, width),
        *_shifts("slower, not confirmed yet", one.suspected, width),
        *_shifts("recovered", one.recovered, width),
        *_shifts("faster", one.improved, width),
        *_part("a new base, no alarm", [f"{case_name(each)}: {each.reason}" for each in one.rebased], width),
        *_died(one.died, width),
        *_not_run("not measured", one.not_run, width),
        *_not_run("measured again (last night's reason)", one.runs_again, width),
        *_part("alerts", [alert_words(each, one.night) for each in (*one.opened, *one.standing, *one.closed)], width),
    ]
    rest = rest_words(one)
    lines += [(), *paragraph(rest, width, hang=2, style="dim")] if rest else []
    return rendered(lines, colour=colour)


def _part(head: str, items: Iterable[str], width: int, style: str = "bold") -> list[Line]:
    lines = [one for words in items for one in paragraph(words, width, indent=2, hang=2)]
    return [(), *paragraph(head, width, style=style), *lines] if lines else []


def _shifts(head: str, shifts: Sequence[Shift], width: int) -> list[Line]:
    """Cases below what is said of several at once."""
    lines: list[Line] = []
    for group in alike(shifts):
        words = joined([f"{head}, new" if group.fresh else head, group.since], ": ")
        lines += [(), *paragraph(words, width, style="bold", hang=2)]
        lines += [one for words in group.changes for one in paragraph(words, width, indent=2, hang=3)]
        for one in group.shifts[:MAX_ALIKE]:
            lines += paragraph(case_name(one), width, indent=2, hang=2)
            lines += paragraph(figures_words(one), width, indent=4, hang=2)
            lines += [line(f"    {bars}")] if (bars := trend_bars(one.trend)) else []
        more = len(group.shifts) - MAX_ALIKE
        lines += [line(f"  and {plural(more, 'more case')}")] if more > 0 else []
    return lines


def trend_bars(trend: Trend) -> str:
    """The newest nights as bars between the fastest and the slowest of them, oldest at the left, a dot for a night
    without figures; empty for fewer than three with."""
    levels = [point.level_s for point in trend.points[-BAR_NIGHTS:]]
    values = [value for value in levels if value is not None]
    if len(values) < 3:
        return ""
    low, high = min(values), max(values)
    steps = (high - low) / (len(_BARS) - 1) or 1.0
    bars = "".join("·" if value is None else _BARS[round((value - low) / steps)] for value in levels)
    return f"{bars}  {len(levels)} nights"


def _died(died: Sequence[Died], width: int) -> list[Line]:
    lines: list[Line] = []
    for one in died:
        first, *others = died_words(one)
        lines += paragraph(first, width, indent=2, hang=2)
        lines += [each for words in others for each in paragraph(words, width, indent=4, hang=2)]
        if one.twin is not None and one.twin.figures:
            lines += _twin(one, width)
    return [(), *paragraph("not there any more", width, style="bold"), *lines] if lines else []


def _twin(one: Died, width: int) -> list[Line]:
    assert one.twin is not None
    cells = [twin_cells(figure) for figure in one.twin.figures[:MAX_TWIN_LINES]]
    first = widest((row[0] for row in cells), most=width - 48)
    heads = line(f"      {left('', first)}  {right('twin ms', 9)}  {one.name}'s last ms")
    lines = [heads, *(line(f"      {left(a, first)}  {right(b, 9)}  {c}") for a, b, c in cells)]
    more = len(one.twin.figures) - len(cells)
    return [*lines, *([line(f"      and {more} more")] if more > 0 else [])]


def _not_run(head: str, found: Sequence[NotRun], width: int) -> list[Line]:
    return _part(head, [not_run_words(one) for one in found], width)
