"""Pure: long series, one a case: latency against time and temperature, and where the ranking of settings flips.

A series is one case's processes, each right after the other, so its points are no repetitions of each other: nothing
here has an interval. One case is called ahead of another in a window of the series when it is faster in at least
`SURELY` of all pairs of their points there; less than that is a tie, and fewer than `MIN_POINTS` points say nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from orchestrator.report.source import Row, number, text, whole

FIRST_S = 60.0
FIRST_SHARE = 0.2
"""The first window: a minute, or this part of a series that is shorter than five."""
STEADY_SHARE = 0.25
"""The last part of a series: what it settled to, if it did."""
SURELY = 0.9
MIN_POINTS = 3
SETTLED_WITHIN = 0.03
"""A series whose steady window still gets slower by more than this between its halves has not settled."""


@dataclass(frozen=True, slots=True)
class Point:
    """One process of a series: seconds since the series began, at its middle; its median latency; °C at its end."""

    at_s: float
    p50_s: float
    temperature_c: float | None
    freq_khz: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LongSeries:
    """One case's series. Medians over the points of a window, in seconds; places in the order of each window.

    `slower` is steady by first, less 1 (0.3: it lost 30 % of its speed's inverse). `missed` processes of `planned` told
    nothing; a series that was cut has `gap_s`, the longest time between two of its processes.
    """

    case: str
    row: str
    points: tuple[Point, ...]
    first_s: float
    steady_s: float
    slower: float
    settled: bool
    missed: int
    planned: int
    gap_s: float
    first_place: int = 0
    steady_place: int = 0

    @property
    def start_c(self) -> float | None:
        """The temperature after the first process."""
        return self.points[0].temperature_c

    @property
    def end_c(self) -> float | None:
        """The temperature after the last one."""
        return self.points[-1].temperature_c


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """Two settings of which one is ahead at first and the other in the steady state; `at_s`: from then on."""

    at_first: str
    steady: str
    at_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sustained:
    """The long series of one model on one phone, best of the first window first. `sensor`: what the °C are of."""

    first_window_s: float
    sensor: str
    series: tuple[LongSeries, ...]
    flips: tuple[Flip, ...]

    @property
    def best_first(self) -> str:
        """The row that is fastest at first."""
        return self.series[0].row

    @property
    def best_steady(self) -> str:
        """The row that is fastest in the steady state."""
        return min(self.series, key=lambda one: one.steady_s).row


def sustained_of(trials: Sequence[Row], attempts: Sequence[Row]) -> dict[tuple[str, str], Sustained]:
    """By model and phone, from the frames' rows: the trials of long series and the attempts that count."""
    counted = {text(one, "trial"): one for one in attempts if text(one, "purpose") == "sustain" and one.get("counted")}
    groups: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in trials:
        if text(row, "purpose") == "sustain":
            by_case = groups.setdefault((text(row, "model"), text(row, "phone")), {})
            by_case.setdefault(text(row, "case"), []).append(row)
    found = {}
    for place, by_case in groups.items():
        rows = [
            (own, [counted[key] for one in own if (key := text(one, "trial")) in counted]) for own in by_case.values()
        ]
        sensor = _sensor([attempt for _, told in rows for attempt in told])
        series = [one for own, told in rows if (one := _series(own, told, sensor)) is not None]
        if series:
            found[place] = _placed(series, sensor)
    return found


def _sensor(attempts: Sequence[Row]) -> str:
    """What tells the temperature of every process: the hottest zone, else the battery, else nothing."""
    for column, name in (("zone_max_c_after", "hottest zone"), ("battery_c_after", "battery")):
        if attempts and all(number(one, column) is not None for one in attempts):
            return name
    return ""


def _series(trials: Sequence[Row], attempts: Sequence[Row], sensor: str) -> LongSeries | None:
    """A case's series; None where nothing of it was measured on a clock."""
    column = {"hottest zone": "zone_max_c_after", "battery": "battery_c_after"}.get(sensor, "")
    told: list[tuple[float, float, Row]] = []
    for one in attempts:
        start_s, end_s = number(one, "started_uptime_s"), number(one, "ended_uptime_s")
        if start_s is not None and end_s is not None and (number(one, "p50_s") or 0.0) > 0.0:
            told.append((start_s, end_s, one))
    if not told:
        return None
    told.sort(key=lambda each: each[0])
    began_s = told[0][0]
    points = tuple(
        Point(
            (start_s + end_s) / 2 - began_s,
            number(one, "p50_s") or 0.0,
            number(one, column),
            whole(one, "freq_max_khz_after"),
        )
        for start_s, end_s, one in told
    )
    first, steady = _first(points), _steady(points)
    first_s, steady_s = _median_s(first), _median_s(steady)
    half = len(steady) // 2
    drift = _median_s(steady[half:]) / _median_s(steady[:half]) - 1 if half else 0.0
    return LongSeries(
        case=text(trials[0], "case"),
        row=text(trials[0], "row"),
        points=points,
        first_s=first_s,
        steady_s=steady_s,
        slower=steady_s / first_s - 1,
        settled=len(steady) >= MIN_POINTS and abs(drift) <= SETTLED_WITHIN,
        missed=len(trials) - len(points),
        planned=len(trials),
        gap_s=max((later[0] - earlier[1] for earlier, later in pairwise(told)), default=0.0),
    )


def window_s(points: Sequence[Point]) -> float:
    """How long the first window of a series is."""
    return min(FIRST_S, FIRST_SHARE * points[-1].at_s)


def _first(points: Sequence[Point]) -> Sequence[Point]:
    end_s = window_s(points)
    return [one for one in points if one.at_s <= end_s] or points[:1]


def _steady(points: Sequence[Point]) -> Sequence[Point]:
    start_s = (1 - STEADY_SHARE) * points[-1].at_s
    return [one for one in points if one.at_s >= start_s]


def _median_s(points: Sequence[Point]) -> float:
    return statistics.median(one.p50_s for one in points)


def is_ahead(one: Sequence[Point], other: Sequence[Point]) -> bool:
    """Whether `one` is surely faster than `other` in a window."""
    if min(len(one), len(other)) < MIN_POINTS:
        return False
    wins = sum(a.p50_s < b.p50_s for a in one for b in other)
    return wins >= SURELY * len(one) * len(other)


def _placed(series: Sequence[LongSeries], sensor: str) -> Sustained:
    first = _places([(one.case, _first(one.points)) for one in series])
    steady = _places([(one.case, _steady(one.points)) for one in series])
    placed = [replace(one, first_place=first[one.case], steady_place=steady[one.case]) for one in series]
    placed.sort(key=lambda one: (one.first_s, one.row))
    flips = [
        Flip(at_first=a.row, steady=b.row, at_s=_flips_at_s(a.points, b.points))
        for a in placed
        for b in placed
        if is_ahead(_first(a.points), _first(b.points)) and is_ahead(_steady(b.points), _steady(a.points))
    ]
    flips.sort(key=lambda flip: (flip.at_s is None, flip.at_s))
    return Sustained(
        first_window_s=min(window_s(one.points) for one in placed),
        sensor=sensor,
        series=tuple(placed),
        flips=tuple(flips),
    )


def _places(windows: Sequence[tuple[str, Sequence[Point]]]) -> Mapping[str, int]:
    """Places by case; a case shares that of the first above it which is not surely ahead of it."""
    ordered = sorted(windows, key=lambda window: _median_s(window[1]))
    leaders: list[int] = []
    places = {}
    for at, (case, points) in enumerate(ordered):
        leader = next((one for one in leaders if not is_ahead(ordered[one][1], points)), at)
        if leader == at:
            leaders.append(at)
        places[case] = leader + 1
    return places


def _flips_at_s(first: Sequence[Point], steady: Sequence[Point]) -> float | None:
    """From when on `steady` stays the faster one, by medians of three points, each against the nearest in time."""
    end_s = min(first[-1].at_s, steady[-1].at_s)
    times = [one.at_s for one in steady if one.at_s <= end_s]
    behind = [at_s for at_s in times if _near_s(steady, at_s) >= _near_s(first, at_s)]
    later = [at_s for at_s in times if not behind or at_s > behind[-1]]
    return later[0] if later else None


def _near_s(points: Sequence[Point], at_s: float) -> float:
    """The latency of a series around a time."""
    nearest = min(range(len(points)), key=lambda index: abs(points[index].at_s - at_s))
    start = min(max(nearest - 1, 0), max(len(points) - 3, 0))
    return _median_s(points[start : start + 3])
