"""Pure: the long series of one phone as a headline, as a table with curves, and as latency against time."""

from __future__ import annotations

from orchestrator.report.lines import Line, Span, left, line, paragraph, right, widest, wrap
from orchestrator.report.numbers import NOTHING, decimals_for, ms, percent, span
from orchestrator.report.sustained import LongSeries, Point, Sustained

_BARS = "▁▂▃▄▅▆▇█"
CURVE_WIDTH = 16
MAX_FLIPS = 3
TIMES = 10
"""Rows of the table of latency against time."""

HEADS = ("setting", "first ms", "#", "steady ms", "#", "slower", "°C", "remarks")


def first_words(sustained: Sustained) -> str:
    """`the first minute`, `the first 12 s` of shorter series."""
    return "the first minute" if sustained.first_window_s >= 60 else f"the first {span(sustained.first_window_s)}"


def sustained_headline(sustained: Sustained | None) -> str:
    """Whether the best setting stays the best."""
    if sustained is None:
        return ""
    best, steady = sustained.series[0], min(sustained.series, key=lambda one: one.steady_s)
    lost = f"{best.row} gets {percent(best.slower)} slower" if best.slower > 0 else f"{best.row} does not get slower"
    flip = next((one for one in sustained.flips if (one.at_first, one.steady) == (best.row, steady.row)), None)
    if flip is None:
        others = f"; the order flips {len(sustained.flips)} times further down" if sustained.flips else ""
        return f"sustained: {lost} after {first_words(sustained)}{others or ', no flip'}"
    return f"sustained: {lost}; {flip_words_of(flip.at_s, flip.steady)}"


def flip_words_of(at_s: float | None, row: str) -> str:
    """`from 3 min 20 s on cpu all 1t is faster`."""
    return f"{row} is faster in the end" if at_s is None else f"from {span(at_s)} on {row} is faster"


def flip_words(sustained: Sustained) -> list[str]:
    """A sentence a flip, the earliest first; or that there is none."""
    if len(sustained.series) < 2:
        return []
    if not sustained.flips:
        return [f"no two settings change places surely between {first_words(sustained)} and the steady state"]
    words = [
        f"{flip.at_first} leads {flip.steady} in {first_words(sustained)}; {flip_words_of(flip.at_s, flip.steady)}"
        for flip in sustained.flips[:MAX_FLIPS]
    ]
    hidden = len(sustained.flips) - MAX_FLIPS
    return [*words, f"{hidden} flips more: report.json"] if hidden > 0 else words


def sustained_notes(sustained: Sustained) -> list[str]:
    """What the figures are."""
    steady = max(one.points[-1].at_s for one in sustained.series)
    heat = f"°C of the {sustained.sensor}, first and last process" if sustained.sensor else "°C not offered"
    return [
        f"one series of {span(steady)} a setting, processes back to back; first: {first_words(sustained)}, steady: the "
        f"last quarter; {heat}; one series has no interval, a place is shared where fewer than 90 % of the pairs of "
        "processes agree"
    ]


def sustained_cells(sustained: Sustained) -> list[tuple[str, ...]]:
    """The cells of the table, best of the first window first."""
    decimals = decimals_for(value for one in sustained.series for value in (one.first_s, one.steady_s))
    return [
        (
            one.row,
            ms(one.first_s, decimals),
            str(one.first_place),
            ms(one.steady_s, decimals),
            str(one.steady_place),
            f"{one.slower * 100:+.0f} %",
            heat_words(one),
            "; ".join(remarks(one)),
        )
        for one in sustained.series
    ]


def heat_words(series: LongSeries) -> str:
    """`31→44`: the temperature after the first process and after the last."""
    if series.start_c is None or series.end_c is None:
        return NOTHING
    return f"{series.start_c:.0f}→{series.end_c:.0f}"


def remarks(series: LongSeries) -> list[str]:
    """What a reader must know of a series."""
    said = [] if series.settled else ["not settled"]
    said += [f"{series.missed} of {series.planned} missed"] if series.missed else []
    mean_s = series.points[-1].at_s / max(len(series.points) - 1, 1)
    return [*said, f"cut: {span(series.gap_s)} of rest"] if series.gap_s > max(3 * mean_s, 5.0) else said


def curve(points: tuple[Point, ...], least_s: float, most_s: float, width: int = CURVE_WIDTH) -> str:
    """Latency over time as bars, from the least figure of the phone's series to the greatest."""
    end_s = points[-1].at_s or 1.0
    bars = ""
    for at in range(width):
        nearest = min(points, key=lambda one: abs(one.at_s - (at + 0.5) / width * end_s))
        share = (nearest.p50_s - least_s) / (most_s - least_s) if most_s > least_s else 0.0
        bars += _BARS[min(int(share * len(_BARS)), len(_BARS) - 1)]
    return bars


def sustained_lines(sustained: Sustained | None, width: int) -> list[Line]:
    """The section under a phone's settings."""
    if sustained is None:
        return []
    cells = sustained_cells(sustained)
    figure = widest((cell for row in cells for cell in (row[1], row[3])), least=6, most=10)
    heat = widest((row[6] for row in cells), least=5, most=7)
    name_width = width - 24 - 2 * figure - heat - CURVE_WIDTH
    heads = f"{right('first', figure)}  # {right('steady', figure)}  #  slower {right('°C', heat)}  over time"
    lines = [(), line(Span(f"      {left('sustained, ms', name_width)}{heads}", "dim"))]
    least_s = min(one.p50_s for each in sustained.series for one in each.points)
    most_s = max(one.p50_s for each in sustained.series for one in each.points)
    for one, cell in zip(sustained.series, cells, strict=True):
        names = wrap(one.row, name_width - 1, hang=2)
        figures = f"{right(cell[1], figure)} {right(cell[2], 2)} {right(cell[3], figure)} {right(cell[4], 2)}"
        figures += f" {right(cell[5], 7)} {right(cell[6], heat)}  {curve(one.points, least_s, most_s)}"
        lines.append(line(f"      {left(names[0], name_width)}{figures}"))
        lines += [line(f"      {part}") for part in names[1:]]
        lines += paragraph(cell[7], width, indent=8, style="dim") if cell[7] else []
    for words in flip_words(sustained):
        lines += paragraph(words, width, indent=6, hang=2)
    for words in sustained_notes(sustained):
        lines += paragraph(words, width, indent=6, style="dim")
    return lines


def over_time(sustained: Sustained) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows of latency against time and temperature: a row a time, a column a setting."""
    end_s = min(one.points[-1].at_s for one in sustained.series)
    decimals = decimals_for(one.first_s for one in sustained.series)
    rows = []
    for at in range(TIMES):
        at_s = end_s * at / (TIMES - 1)
        near = [min(one.points, key=lambda point: abs(point.at_s - at_s)) for one in sustained.series]
        rows.append((span(at_s), *(_point_words(point, decimals) for point in near)))
    return ("after", *(f"{one.row}, ms" for one in sustained.series)), rows


def _point_words(point: Point, decimals: int) -> str:
    heat = "" if point.temperature_c is None else f" at {point.temperature_c:.1f} °C"
    return f"{ms(point.p50_s, decimals)}{heat}"
