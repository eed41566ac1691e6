"""Scenario files: strict, every problem told; those that come with the project keep what their text promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from android_runner.virtual.heat.model import cold, problems, settled_c, speed_at
from android_runner.virtual.heat.nature import draw_nature
from android_runner.virtual.heat.scenario import ScenarioError, load_scenario, parse_scenario, scenario_names
from android_runner.virtual.heat.sensors import Honesty, Readings, Sensor, shown

SEEDS = range(100)


@pytest.mark.parametrize("name", scenario_names())
def test_each_scenario_reads_and_draws_sound_phones(name: str) -> None:
    scenario = load_scenario(name)
    assert scenario.name == name
    natures = [draw_nature(scenario, seed) for seed in SEEDS]
    assert [found for nature in natures for found in problems(nature.heat)] == []
    assert all(0.005 <= nature.noise.process_cv <= 0.05 for nature in natures)
    assert natures == [draw_nature(scenario, seed) for seed in SEEDS]
    assert len({nature.heat for nature in natures}) == len(natures)


@pytest.mark.parametrize("name", ["drift", "lying-sensors"])
def test_drift_loses_15_to_40_percent(name: str) -> None:
    scenario = load_scenario(name)
    for seed in SEEDS:
        traits = draw_nature(scenario, seed).heat
        assert 0.149 <= 1.0 - speed_at(settled_c(traits, 1.0), traits) <= 0.401
        assert cold(traits).soc_c == traits.ambient_c


@pytest.mark.parametrize("name", ["quiet", "bursts", "slow-mode"])
def test_others_never_throttle(name: str) -> None:
    for seed in SEEDS:
        traits = draw_nature(load_scenario(name), seed).heat
        assert speed_at(settled_c(traits, 1.0), traits) == 1.0


def test_sensors_are_missing_and_lie_as_often_as_said() -> None:
    scenario = load_scenario("lying-sensors")
    drawn = [draw_nature(scenario, seed).honesty for seed in range(500)]
    for sensor in Sensor:
        states = [honesty.get(sensor, Honesty.HONEST) for honesty in drawn]
        for state, chance in ((Honesty.MISSING, 0.3), (Honesty.LYING, 0.3), (Honesty.HONEST, 0.4)):
            assert abs(states.count(state) / 500 - chance) < 0.1  # four standard errors are 0.09


def test_a_lying_sensor_says_what_it_said_when_cold() -> None:
    boot = Readings(battery_level=80, battery_c=25.0, thermal_status=0, clock=1.0)
    hot = Readings(
        battery_level=70,
        battery_c=39.0,
        thermal_status=2,
        clock=0.7,
        zones_c={"soc": 44.0},
        residency_s={1.0: 9, 0.7: 3},
    )
    honesty = {
        Sensor.BATTERY_TEMPERATURE: Honesty.LYING,
        Sensor.RESIDENCY: Honesty.LYING,
        Sensor.THERMAL_STATUS: Honesty.MISSING,
        Sensor.CLOCKS: Honesty.HONEST,
    }
    seen = shown(hot, boot, honesty)
    assert seen == Readings(
        battery_level=70, battery_c=25.0, thermal_status=None, clock=0.7, zones_c={"soc": 44.0}, residency_s={1.0: 12}
    )


HEAD = "name = 'x'\nabout = 'y'\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD, ["heat"]),
        ("name = ", ["not TOML"]),
        (f"{HEAD}[heat]\nlost = [0.4, 0.1]\ntime_constant_s = [10, 20]", ["heat.lost"]),
        (f"{HEAD}[heat]\nlost = [0, 0.9]\ntime_constant_s = [0, 20]", ["heat.lost", "heat.time_constant_s"]),
        ("name = 'X y'\nabout = 'y'\n[heat]\nlost = [0, 0]\ntime_constant_s = 10", ["name", "heat.time_constant_s"]),
        (
            f"{HEAD}[heat]\nlost = [0, 0]\ntime_constant_s = [10, 20]\nhot = 1\n[sensors]\nlying = 2",
            ["heat.hot", "sensors.lying"],
        ),
        (
            f"{HEAD}[heat]\nlost = [0, 0]\ntime_constant_s = [9, 9]\nambient_c = [20, 35]\n"
            "[sensors]\nmissing = 0.6\nlying = 0.6",
            ["heat.throttle_from_c", "sensors"],
        ),
    ],
)
def test_every_problem_is_told_with_its_path(text: str, expected: list[str]) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text.encode(), source="s.toml")
    paths = [problem.partition(":")[0] for problem in caught.value.problems]
    assert all(any(path.startswith(want) for path in paths) for want in expected)
    assert len({path for path in paths if any(path.startswith(want) for want in expected)}) >= len(expected)


def test_unknown_names_and_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="there are: bursts, drift"):
        load_scenario("warm")
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(tmp_path / "none.toml")
