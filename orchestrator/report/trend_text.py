"""Pure: a trend as text: a line of nights with marks under it, and what each mark means."""

from __future__ import annotations

import math
from collections.abc import Iterator

from orchestrator.nights.nouns import Judged, Verdict
from orchestrator.report.lines import Line, Span, joined, line, paragraph, rendered
from orchestrator.report.numbers import decimals_for, finely, ms, plural
from orchestrator.report.trend import Trend, TrendPoint

_BARS = "▁▂▃▄▅▆▇█"
_NO_FIGURE = "×"
_LEAST_SPAN = 0.04
_MANY = "+"
_QUIET = (None, Verdict.SAME, Verdict.INSUFFICIENT)
_STYLES = {Verdict.REGRESSED: "bad", Verdict.SUSPECTED: "warn", Verdict.RECOVERED: "good", Verdict.IMPROVED: "good"}


def render_trend(trend: Trend, *, width: int = 80, colour: bool = False) -> str:
    """The trend at `width` cells."""
    lines = paragraph(joined([trend.label, f"{trend.model}  {trend.row}"]), width, style="bold")
    lines += _newest(trend, width)
    lines.append(())
    lines += _nights(trend, width - 2)
    decimals = decimals_for(point.level_s for point in trend.points)
    for one in trend.steps:
        words = f"{ms(one.before_s, decimals)} → {ms(one.after_s, decimals)} ms, {change_words(one.ratio)}"
        lines += paragraph(f"^ {one.night} step: {words} (run {one.run})", width, indent=1, hang=13)
    for point in trend.points:
        for mark in point.marks:
            lines += paragraph(f"{mark.what.value[0]} {point.night} {mark.words}", width, indent=1, hang=13)
    told = [line for point in trend.points for line in _told(point, decimals, width)]
    return rendered([*lines, *([()] if told else []), *told], colour=colour)


def change_words(ratio: float) -> str:
    """`8.1 % slower`."""
    return f"{finely(abs(ratio - 1))} {'slower' if ratio > 1 else 'faster'}"


def _newest(trend: Trend, width: int) -> list[Line]:
    if trend.judged is None:
        return []
    judged = trend.judged
    return paragraph(f"{judged.night}: {judged_words(judged)}", width, style=_STYLES.get(judged.verdict, ""), hang=2)


def judged_words(judged: Judged) -> str:
    """`regressed: 8.1 % slower than before (7.2 … 9.0 %), alarm above 2.1 %; asked again, it was slow again`."""
    figures = ""
    if judged.change is not None and judged.low is not None and judged.high is not None:
        ends = f"{(judged.low - 1) * 100:+.1f} … {(judged.high - 1) * 100:+.1f} %"
        figures = f"{change_words(judged.change)} than before ({ends})"
    alarm = f"alarm above {finely(judged.threshold - 1)}" if judged.threshold is not None else ""
    words = joined([figures, alarm], ", ")
    return joined([joined([judged.verdict.value, words], ": "), judged.reason], "; ")


def _nights(trend: Trend, width: int) -> Iterator[Line]:
    """The line of nights, broken where it is too long, each part with its marks under it and its ends' dates."""
    points = trend.points
    said = [math.log(point.level_s) for point in points if point.level_s is not None]
    low, high = (min(said), max(said)) if said else (0.0, 0.0)
    middle, half = (low + high) / 2, max(high - low, _LEAST_SPAN) / 2
    stepped = {one.night for one in trend.steps}
    for start in range(0, len(points), width):
        part = points[start : start + width]
        yield line("  ", *(Span(_bar(one, middle - half, 2 * half), _style(one)) for one in part))
        marks = "".join(_mark(one, stepped) for one in part)
        if marks.strip():
            yield line(Span(f"  {marks}".rstrip()))
        yield line(Span(f"  {part[0].night} … {part[-1].night}, {plural(len(part), 'night')}", "dim"))


def _bar(point: TrendPoint, low: float, span: float) -> str:
    if point.level_s is None:
        return _NO_FIGURE
    share = (math.log(point.level_s) - low) / span
    return _BARS[min(len(_BARS) - 1, max(0, int(share * len(_BARS))))]


def _style(point: TrendPoint) -> str:
    return "" if point.verdict is None else _STYLES.get(point.verdict, "")


def _mark(point: TrendPoint, stepped: set[str]) -> str:
    signs = [*("^" for _ in range(point.night in stepped)), *(mark.what.value[0] for mark in point.marks)]
    return " " if not signs else signs[0] if len(signs) == 1 else _MANY


def _told(point: TrendPoint, decimals: int, width: int) -> list[Line]:
    """A night that has something to say: a word, or no figures."""
    if point.level_s is None:
        return paragraph(f"{point.night} no figures: {point.ended}", width, indent=1, hang=11)
    if point.verdict in _QUIET:
        return []
    again = f"asked again {ms(point.again_s, decimals)} ms" if point.again_s is not None else ""
    figure = f"{point.night} {ms(point.level_s, decimals)} ms {point.verdict.value if point.verdict else ''}"
    return paragraph(joined([figure, again, point.reason], ", "), width, indent=1, hang=11)
