"""Work in simulated time takes what heat, bursts and chance make it take."""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics

import pytest

from android_runner.validity import Limits, Standing, judge_validity, residency_loss
from android_runner.virtual.heat.bursts import BurstTraits
from android_runner.virtual.heat.nature import NoiseTraits, draw_nature
from android_runner.virtual.heat.scenario import load_scenario
from android_runner.virtual.heat.sensors import Honesty, Sensor
from android_runner.virtual.heat.simulated import SimulatedPhone, draw

EXACT = NoiseTraits(process_cv=1e-9)


def silent(scenario: str, seed: int) -> SimulatedPhone:
    """A phone whose processes do not differ."""
    nature = draw_nature(load_scenario(scenario), seed)
    return SimulatedPhone(dataclasses.replace(nature, noise=EXACT), seed)


def test_a_cool_phone_takes_the_work_and_no_more() -> None:
    phone = silent("quiet", 1)
    trial = phone.run(5.0)
    assert (trial.began_s, trial.took_s) == (0.0, pytest.approx(5.0))
    assert (trial.mean_slowdown, trial.median_slowdown) == pytest.approx((1.0, 1.0))
    assert phone.now_s == pytest.approx(5.0)


def test_a_hot_phone_takes_longer_by_its_clocks_and_work_is_conserved() -> None:
    phone = silent("drift", 1)
    phone.run(3600.0)
    trial = phone.run(1.0)
    assert trial.mean_slowdown == pytest.approx(1.0 / phone.speed, rel=0.01)
    assert trial.mean_slowdown > 1.15
    split, whole = silent("drift", 1), silent("drift", 1)
    for _ in range(600):
        split.run(1.0)
    assert whole.run(600.0).took_s == pytest.approx(split.now_s, rel=0.002)


def test_rest_brings_the_speed_back() -> None:
    phone = silent("drift", 1)
    phone.run(3600.0)
    hot = phone.speed
    phone.rest(3600.0)
    assert hot < 0.86
    assert phone.speed == 1.0
    assert phone.run(1.0).mean_slowdown == pytest.approx(1.0)


def test_fewer_threads_heat_less() -> None:
    one, four = silent("drift", 1), silent("drift", 1)
    one.run(1000.0, threads=1)
    four.run(1000.0, threads=4)
    assert one.body.state.soc_c < four.body.state.soc_c
    assert one.speed > four.speed


def test_a_burst_takes_its_share_and_shows_in_the_load() -> None:
    nature = draw_nature(load_scenario("quiet"), 1)
    bursts = BurstTraits(mean_gap_s=1e-3, mean_length_s=1e9, takes=0.5, runnable=3.0)
    phone = SimulatedPhone(dataclasses.replace(nature, noise=EXACT, bursts=bursts), 1)
    phone.rest(1.0)
    before = phone.vitals().load_1m
    trial = phone.run(60.0)
    assert trial.mean_slowdown == pytest.approx(2.0)
    assert trial.took_s == pytest.approx(120.0)
    assert before == pytest.approx(3.0 * (1 - math.exp(-1 / 60)), abs=0.01)
    assert phone.vitals().load_1m == pytest.approx(7.0 * (1 - math.exp(-2)), abs=0.03)


def test_a_burst_shorter_than_half_of_a_trial_leaves_its_median_alone() -> None:
    phone = silent("bursts", 3)
    trials = [phone.run(10.0) for _ in range(300)]
    touched = [trial for trial in trials if trial.mean_slowdown > 1.01]
    assert touched
    assert any(trial.median_slowdown == pytest.approx(1.0) for trial in touched)
    assert any(trial.median_slowdown > 1.2 for trial in touched)


def test_bursts_come_at_the_same_times_whatever_we_do() -> None:
    rested, busy = silent("bursts", 5), silent("bursts", 5)
    rested.rest(1000.0)
    while busy.now_s < 900.0:
        busy.run(1.0)
    busy.rest(1000.0 - busy.now_s)
    waits = [(rested.run(5.0).mean_slowdown, busy.run(5.0).mean_slowdown) for _ in range(100)]
    assert any(one > 1.05 for one, _ in waits)
    assert all(one == pytest.approx(other) for one, other in waits)


def test_processes_differ_by_the_coefficient_of_variation() -> None:
    phone = draw(load_scenario("quiet"), 7)
    logs = [math.log(phone.run(1.0, cv=0.03).mean_slowdown) for _ in range(2000)]
    assert statistics.stdev(logs) == pytest.approx(0.03, rel=0.08)
    assert statistics.mean(logs) == pytest.approx(0.0, abs=0.003)


def test_a_slow_mode_comes_in_a_row() -> None:
    nature = draw_nature(load_scenario("quiet"), 1)
    noise = NoiseTraits(process_cv=1e-9, slow_enters=0.1, slow_stays=0.7, slow_by=0.2)
    phone = SimulatedPhone(dataclasses.replace(nature, noise=noise), 3)
    slow = [phone.run(1.0).mean_slowdown > 1.1 for _ in range(4000)]
    assert statistics.mean(slow) == pytest.approx(0.1 / (0.1 + 0.3), abs=0.04)
    after_slow = [now for before, now in itertools.pairwise(slow) if before]
    assert statistics.mean(after_slow) == pytest.approx(0.7, abs=0.06)


def test_vitals_tell_of_heat_and_a_missing_sensor_is_not_offered() -> None:
    phone = silent("drift", 2)
    before = phone.vitals()
    phone.run(2400.0)
    after = phone.vitals()
    assert before.battery_c is not None
    assert after.battery_c is not None
    assert after.battery_c > before.battery_c + 3.0
    assert after.zones_c["soc"] > before.zones_c["soc"] + 10.0
    assert (before.thermal_status, after.thermal_status) == (0, 1)
    assert after.current_freq_khz < before.current_freq_khz
    blind = SimulatedPhone(dataclasses.replace(phone.nature, honesty=dict.fromkeys(Sensor, Honesty.MISSING)), 2)
    seen = blind.vitals()
    assert (seen.battery_c, seen.thermal_status, seen.current_freq_khz, dict(seen.zones_c)) == (None, None, (), {})


def test_lying_sensors_stay_cold() -> None:
    nature = draw_nature(load_scenario("drift"), 2)
    phone = SimulatedPhone(dataclasses.replace(nature, honesty=dict.fromkeys(Sensor, Honesty.LYING)), 2)
    before = phone.vitals()
    phone.run(2400.0)
    after = phone.vitals()
    assert phone.speed < 0.9
    assert (after.battery_c, after.thermal_status, after.zones_c) == (before.battery_c, 0, before.zones_c)
    assert set(phone.body.readings().residency_s or {}) == {1.0}
    assert len(phone.body.truth().residency_s or {}) > 1


def test_vitals_say_what_the_verdict_needs() -> None:
    phone = draw(load_scenario("drift"), 2)
    phone.rest(1.0)
    before = phone.vitals()
    phone.run(600.0)
    after = phone.vitals()
    assert (before.running, after.running) == (1, 1)
    assert judge_validity(before, after, None, Limits()).standing is Standing.INVALID
    assert residency_loss(before, after) > 0.15
