"""Long series on a phone that gets hot: two rankings, where they flip, and what a cut series says."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest
from rich.cells import cell_len

from android_runner.virtual.heat.scenario import load_scenario
from android_runner.virtual.heat.simulated import draw
from orchestrator.report.as_json import render_json
from orchestrator.report.markdown import render_markdown
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import RunSummary
from orchestrator.report.sustained import Point, Sustained, is_ahead, sustained_of
from orchestrator.report.sustained_text import curve, sustained_headline
from orchestrator.report.terminal import render_terminal
from tests.unit.report.report_frames import Made

PROCESS_S = 10.0


def series(row: str, ms: float, *, threads: int, minutes: float = 25.0, seed: int = 3) -> tuple[list[Any], list[Any]]:
    """Trials and attempts of a case's series on a cold phone of the scenario `drift`; `ms` at its top clock."""
    phone = draw(load_scenario("drift"), seed)
    phone.rest(3600.0)
    trials, attempts = [], []
    for at in range(round(minutes * 60 / PROCESS_S)):
        ran = phone.run(PROCESS_S, threads, cv=0.01)
        vitals = phone.vitals()
        common = {"case": row, "row": row, "model": "net", "phone": "A", "purpose": "sustain", "trial": f"{row}-{at}"}
        trials.append({**common, "state": "measured", "round": at + 1})
        attempts.append(
            {
                **common, "counted": True, "p50_s": ms / 1e3 * ran.median_slowdown, "started_uptime_s": ran.began_s,
                "ended_uptime_s": phone.now_s, "battery_c_after": vitals.battery_c,
                "zone_max_c_after": max(vitals.zones_c.values(), default=math.nan), "freq_max_khz_after": 2_000_000,
            }
        )  # fmt: skip
    return trials, attempts


def found(*parts: tuple[list[Any], list[Any]]) -> Sustained:
    """What is said of these series, all of one phone."""
    (said,) = sustained_of([row for one, _ in parts for row in one], [row for _, one in parts for row in one]).values()
    return said


@pytest.fixture(scope="module")
def flipped() -> Sustained:
    """Four threads win cold and heat the phone most; one thread hardly does."""
    return found(series("4t", 9.6, threads=4), series("1t", 10.4, threads=1))


def test_a_hot_phone_turns_the_ranking_round(flipped: Sustained) -> None:
    four, one = flipped.series
    assert (four.row, four.first_place, four.steady_place) == ("4t", 1, 2)
    assert (one.row, one.first_place, one.steady_place) == ("1t", 2, 1)
    assert four.slower > 0.1 > one.slower
    assert four.end_c is not None
    assert four.start_c is not None
    assert four.end_c > four.start_c + 5
    (flip,) = flipped.flips
    assert (flip.at_first, flip.steady) == ("4t", "1t")
    assert flip.at_s is not None
    assert flipped.first_window_s < flip.at_s < 0.75 * four.points[-1].at_s
    before = [point.p50_s for point in four.points if point.at_s < flip.at_s - 120]
    after = [point.p50_s for point in four.points if point.at_s > flip.at_s + 120]
    assert max(before) < 0.0104 * 1.05 < 1.05 * min(after) * 1.05
    words = sustained_headline(flipped)
    assert words.startswith("sustained: 4t gets ")
    assert words.endswith(" on 1t is faster")


@pytest.mark.parametrize("seed", range(8))
def test_two_settings_that_heat_alike_never_flip(seed: int) -> None:
    said = found(series("4t", 9.6, threads=4, seed=seed), series("again", 9.6, threads=4, seed=seed + 100))
    same = found(series("4t", 9.6, threads=4, seed=seed), series("5t", 10.0, threads=4, seed=seed))
    assert not same.flips
    assert [one.row for one in same.series] == ["4t", "5t"]
    assert {one.first_place for one in said.series} <= {1, 2}


def test_few_points_say_nothing() -> None:
    fast = [Point(float(at), 1.0, None, None) for at in range(2)]
    slow = [Point(float(at), 2.0, None, None) for at in range(9)]
    assert not is_ahead(fast, slow)
    assert is_ahead([*fast, *fast], slow)


def test_a_series_that_was_cut_or_missed_processes_says_so() -> None:
    trials, attempts = series("4t", 9.6, threads=4, minutes=10)
    for late in attempts[30:]:
        late["started_uptime_s"] += 300
        late["ended_uptime_s"] += 300
    del attempts[10:12]
    (one,) = found((trials, attempts)).series
    assert (one.planned, one.missed) == (60, 2)
    assert one.gap_s == pytest.approx(300, abs=1)
    assert one.settled is False or one.slower > 0


def test_no_clock_no_series() -> None:
    trials, attempts = series("4t", 9.6, threads=4, minutes=1)
    for one in attempts:
        one["started_uptime_s"] = None
    assert sustained_of(trials, attempts) == {}


def report(*parts: tuple[list[Any], list[Any]]) -> RunSummary:
    made = Made(rounds=3)
    phone = made.phone("A", "A", "Pixel 8")
    made.case(phone, "net", "4t", 9.6)
    made.case(phone, "net", "1t", 10.4)
    frames = made.frames()
    frames.trials = pd.concat([frames.trials, pd.DataFrame([row for one, _ in parts for row in one])])
    frames.attempts = pd.concat([frames.attempts, pd.DataFrame([row for _, one in parts for row in one])])
    return summarize(frames)


def test_the_report_shows_it_in_80_columns_in_markdown_and_in_json() -> None:
    summary = report(series("4t", 9.6, threads=4), series("1t", 10.4, threads=1))
    shown = render_terminal(summary)
    assert max(cell_len(line) for line in shown.splitlines()) <= 80
    assert "sustained, ms" in shown
    flat = " ".join(shown.split())
    assert "4t leads 1t in the first minute; from " in flat
    assert "sustain: 300 planned = 300 measured" in flat
    timed = summary.models[0].phones[0].rows
    assert [row.row for row in timed] == ["4t", "1t"]
    assert all(row.rounds == 3 for row in timed), "a long series is no round"
    text = render_markdown(summary)
    assert "| after | 4t, ms | 1t, ms |" in text
    assert " at 4" in text
    data = json.loads(render_json(summary))["models"][0]["phones"][0]["sustained"]
    assert [one["row"] for one in data["series"]] == ["4t", "1t"]
    assert len(data["series"][0]["points"]) == 150
    assert data["flips"][0]["steady"] == "1t"


def test_a_curve_runs_from_the_least_to_the_greatest() -> None:
    points = tuple(Point(float(at), value, None, None) for at, value in enumerate(_ramp(32)))
    assert curve(points, 1.0, 2.0, width=8) == "▁▂▃▄▅▆▇█"
    assert curve(points[:1], 1.0, 1.0, width=3) == "▁▁▁"


def _ramp(n: int) -> Sequence[float]:
    return [1.0 + at / (n - 1) for at in range(n)]
