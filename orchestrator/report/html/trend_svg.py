"""Pure: a trend as a drawing that stands in a page by itself: no script, no style sheet, every word escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from orchestrator.nights.nouns import Verdict
from orchestrator.report.lines import shown
from orchestrator.report.numbers import decimals_for, ms
from orchestrator.report.trend import Trend, TrendPoint

_INK, _QUIET, _LINE, _STOP, _WAIT, _GO = "#1b1f24", "#4d5560", "#c9ced6", "#a11d1d", "#7a5200", "#1a6b35"
_COLOURS = {
    Verdict.REGRESSED: _STOP,
    Verdict.SUSPECTED: _WAIT,
    Verdict.RECOVERED: _GO,
    Verdict.IMPROVED: _GO,
}
_TOP, _BOTTOM, _LEFT, _RIGHT = 12, 14, 4, 46
_LEAST_SPAN = 0.04
"""A line of less than 4 % from top to bottom is drawn as that: noise is not to look like mountains."""


def trend_svg(trend: Trend, *, width: int = 360, height: int = 84) -> str:
    """The drawing as one `<svg>` element: a dot a night, bars from the least to the most of its rounds, pieces between
    steps as thick lines, a dashed line with its words where something was changed, a cross for a night without figures.
    """
    place = _Place(trend.points, width, height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" style="max-width:100%;height:auto" font-family="system-ui, sans-serif" font-size="9">',
        f"<title>{_words(_title(trend))}</title>",
    ]
    parts += _marks(trend.points, place)
    parts += _pieces(trend, place)
    parts += [_dot(at, point, place) for at, point in enumerate(trend.points)]
    parts += _axes(trend, place)
    return "".join([*parts, "</svg>"])


class _Place:
    """Where a night and a level lie."""

    def __init__(self, points: Sequence[TrendPoint], width: int, height: int) -> None:
        self.width, self.height, self._count = width, height, len(points)
        said = [one for point in points for one in (point.low_s, point.high_s, point.again_s) if one]
        logs = [math.log(one) for one in said] or [0.0]
        middle, half = (max(logs) + min(logs)) / 2, max(max(logs) - min(logs), _LEAST_SPAN) / 2
        self._low, self._span = middle - half, 2 * half

    @property
    def bottom(self) -> float:
        """Where the least level lies."""
        return self.height - _BOTTOM

    def x(self, at: float) -> float:
        """Across."""
        room = self.width - _LEFT - _RIGHT
        return round(_LEFT + room * (at + 0.5) / max(1, self._count), 1)

    def y(self, level_s: float) -> float:
        """Down."""
        share = (math.log(level_s) - self._low) / self._span
        return round(self.bottom - share * (self.bottom - _TOP), 1)


def _title(trend: Trend) -> str:
    head = f"{trend.label}, {trend.model}, {trend.row}: {len(trend.points)} nights"
    told = [f"{one.ratio - 1:+.1%} from {one.night}" for one in trend.steps]
    return f"{head}; steps: {', '.join(told)}" if told else f"{head}, no step"


def _words(text: str) -> str:
    return escape(shown(text))


def _marks(points: Sequence[TrendPoint], place: _Place) -> list[str]:
    parts = []
    for at, point in enumerate(points):
        if point.marks:
            words = "\n".join(shown(f"{point.night}: {mark.words}") for mark in point.marks)
            x = place.x(at - 0.5)
            parts.append(
                f'<g><title>{escape(words)}</title><line x1="{x}" y1="{_TOP - 4}" x2="{x}" y2="{place.bottom}" '
                f'stroke="{_QUIET}" stroke-dasharray="2 2"/><text x="{x}" y="{_TOP - 4}" fill="{_QUIET}" '
                f'text-anchor="middle">{_words(point.marks[0].what.value)}{"+" if len(point.marks) > 1 else ""}'
                "</text></g>"
            )
    return parts


def _pieces(trend: Trend, place: _Place) -> list[str]:
    return [
        f'<line x1="{place.x(one.first - 0.4)}" y1="{place.y(one.level_s)}" x2="{place.x(one.last + 0.4)}" '
        f'y2="{place.y(one.level_s)}" stroke="{_LINE}" stroke-width="4"/>'
        for one in trend.pieces
    ]


def _dot(at: int, point: TrendPoint, place: _Place) -> str:
    x = place.x(at)
    verdict = "" if point.verdict is None else f", {point.verdict.value}"
    reason = f" ({point.reason})" if point.reason else ""
    if point.level_s is None or point.low_s is None or point.high_s is None:
        words = f"{point.night}: {point.ended}"
        return (
            f'<text x="{x}" y="{place.bottom}" fill="{_QUIET}" text-anchor="middle">×'
            f"<title>{_words(words)}</title></text>"
        )
    colour = _COLOURS.get(point.verdict, _INK) if point.verdict is not None else _INK
    decimals = decimals_for([point.level_s])
    words = f"{point.night}: {ms(point.level_s, decimals)} ms, {point.rounds} rounds{verdict}{reason}"
    again = ""
    if point.again_s is not None:
        words += f"; asked again: {ms(point.again_s, decimals)} ms"
        again = f'<circle cx="{x}" cy="{place.y(point.again_s)}" r="2.6" fill="none" stroke="{colour}"/>'
    radius = 1.8 if colour == _INK else 2.6
    return (
        f'<g><title>{_words(words)}</title><line x1="{x}" y1="{place.y(point.low_s)}" x2="{x}" '
        f'y2="{place.y(point.high_s)}" stroke="{colour}" stroke-opacity=".5"/>'
        f'<circle cx="{x}" cy="{place.y(point.level_s)}" r="{radius}" fill="{colour}"/>{again}</g>'
    )


def _axes(trend: Trend, place: _Place) -> list[str]:
    """The first and the last night, and what the levels are."""
    foot = place.height - 3
    ends = [(place.x(0), "start", trend.points[0].night)]
    if len(trend.points) > 1:
        ends.append((place.x(len(trend.points) - 1), "end", trend.points[-1].night))
    parts = [
        f'<text x="{x}" y="{foot}" fill="{_QUIET}" text-anchor="{anchor}">{_words(night)}</text>'
        for x, anchor, night in ends
    ]
    levels = [trend.pieces[0].level_s, trend.pieces[-1].level_s] if trend.pieces else []
    apart = len(levels) > 1 and abs(place.y(levels[0]) - place.y(levels[1])) >= 9
    decimals = decimals_for(levels)
    for level in levels if apart else levels[-1:]:
        x = place.width - _RIGHT + 4
        parts.append(f'<text x="{x}" y="{place.y(level) + 3}" fill="{_INK}">{ms(level, decimals)} ms</text>')
    return parts
