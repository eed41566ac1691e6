"""The physics: exact steps against fine integration, limits, and traits that do what was asked of them."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.virtual.heat.bursts import load_average
from android_runner.virtual.heat.model import (
    HeatState,
    HeatTraits,
    advance,
    clock_steps,
    cold,
    current_ma,
    held,
    problems,
    settled_c,
    speed,
    speed_at,
    thermal_status,
    warming_s,
)
from android_runner.virtual.heat.nature import traits_for

DRIFT = traits_for(lost=0.3, time_constant_s=300.0, ambient_c=24.0, throttle_from_c=38.0, settles_above_c=5.0)
COOL = traits_for(lost=0.0, time_constant_s=300.0, ambient_c=24.0, throttle_from_c=38.0, settles_above_c=5.0)


def euler(state: HeatState, traits: HeatTraits, load: float, dt_s: float, pieces: int) -> HeatState:
    """The differential equations themselves, in tiny steps."""
    soc_c, battery_c = state.soc_c, state.battery_c
    step_s = dt_s / pieces
    for _ in range(pieces):
        made = load * speed_at(soc_c, traits) ** traits.power_exponent
        soc_slope = (traits.ambient_c + traits.rise_c * made - soc_c) / traits.time_constant_s
        follows_c = traits.ambient_c + traits.battery_coupling * (soc_c - traits.ambient_c)
        battery_c += step_s * (follows_c - battery_c) / traits.battery_time_constant_s
        soc_c += step_s * soc_slope
    return HeatState(soc_c, battery_c, state.level)


@pytest.mark.parametrize("traits", [DRIFT, COOL])
@pytest.mark.parametrize("load", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("start_c", [24.0, 37.9, 41.0, 60.0])
def test_it_follows_its_differential_equations(traits: HeatTraits, load: float, start_c: float) -> None:
    start = HeatState(start_c, 30.0, 80.0)
    exact, fine = advance(start, traits, load, 400.0), euler(start, traits, load, 400.0, 40_000)
    assert exact.soc_c == pytest.approx(fine.soc_c, abs=0.02)
    assert exact.battery_c == pytest.approx(fine.battery_c, abs=0.02)


def test_one_long_step_at_constant_power_is_many_short_ones() -> None:
    one = held(cold(COOL), COOL, 0.7, 500.0)
    many = cold(COOL)
    for _ in range(500):
        many = held(many, COOL, 0.7, 1.0)
    assert (one.soc_c, one.battery_c, one.level) == pytest.approx((many.soc_c, many.battery_c, many.level), abs=1e-9)


def test_a_battery_as_quick_as_the_chip_is_the_limit_of_one_that_is_nearly_so() -> None:
    same = dataclasses.replace(COOL, battery_time_constant_s=COOL.time_constant_s)
    nearly = dataclasses.replace(COOL, battery_time_constant_s=COOL.time_constant_s * 1.0001)
    exact = held(cold(same), same, 1.0, 200.0)
    assert exact.battery_c == pytest.approx(held(cold(nearly), nearly, 1.0, 200.0).battery_c, abs=1e-3)


@given(
    lost=st.floats(0.01, 0.5),
    time_constant_s=st.floats(60, 900),
    ambient_c=st.floats(10, 30),
    throttle_from_c=st.floats(34, 60),
    settles_above_c=st.floats(1, 15),
)
def test_traits_lose_what_was_asked_in_the_time_that_was_asked(
    lost: float, time_constant_s: float, ambient_c: float, throttle_from_c: float, settles_above_c: float
) -> None:
    traits = traits_for(
        lost=lost,
        time_constant_s=time_constant_s,
        ambient_c=ambient_c,
        throttle_from_c=throttle_from_c,
        settles_above_c=settles_above_c,
    )
    assert problems(traits) == []
    after = advance(cold(traits), traits, 1.0, time_constant_s)
    assert 1.0 - speed(after, traits) == pytest.approx(lost * (1.0 - math.exp(-1.0)), rel=0.02)
    settled = advance(cold(traits), traits, 1.0, 30.0 * time_constant_s)
    assert 1.0 - speed(settled, traits) == pytest.approx(lost, rel=0.01)
    assert settled.soc_c == pytest.approx(settled_c(traits, 1.0), abs=0.05)


def test_without_a_loss_it_gets_warm_and_never_slow() -> None:
    warm = advance(cold(COOL), COOL, 1.0, 10_000.0)
    assert COOL.ambient_c + 5.0 < warm.soc_c < COOL.throttle_from_c
    assert speed(warm, COOL) == 1.0
    with pytest.raises(ValueError, match="never reached"):
        warming_s(COOL, 1.0, COOL.throttle_from_c)


def test_rest_cools_it_down_to_the_air() -> None:
    hot = advance(cold(DRIFT), DRIFT, 1.0, 3000.0)
    rested = advance(hot, DRIFT, 0.0, 20_000.0)
    assert speed(hot, DRIFT) < 0.75
    assert speed(rested, DRIFT) == 1.0
    assert rested.soc_c == pytest.approx(DRIFT.ambient_c, abs=0.01)


def test_clocks_that_root_keeps_low_heat_less_and_may_never_throttle() -> None:
    capped = dataclasses.replace(DRIFT, top_speed=0.6)
    warm = advance(cold(capped), capped, 1.0, 10_000.0)
    assert speed(cold(capped), capped) == speed(warm, capped) == 0.6
    assert warm.soc_c == pytest.approx(capped.ambient_c + capped.rise_c * 0.6**capped.power_exponent)
    assert warm.soc_c < capped.throttle_from_c


def test_status_rises_with_heat() -> None:
    statuses = [thermal_status(HeatState(float(soc_c), 30.0, 80.0), DRIFT) for soc_c in range(20, 70)]
    assert statuses == sorted(statuses)
    assert set(statuses) == {0, 1, 2, 3}


def test_the_battery_drains_under_load_charges_at_rest_and_stops_at_both_ends() -> None:
    start = HeatState(24.0, 24.0, 50.0)
    assert current_ma(start, DRIFT, 1.0) == DRIFT.charge_ma - DRIFT.idle_ma - DRIFT.load_ma
    drained = advance(start, DRIFT, 1.0, 60.0)
    assert 50.0 - drained.level == pytest.approx(1100.0 / 60.0 / DRIFT.battery_mah * 100.0, rel=0.05)
    assert advance(start, DRIFT, 0.0, 3600.0).level == pytest.approx(50.0 + 300.0 / DRIFT.battery_mah * 100.0)
    assert advance(start, DRIFT, 0.0, 1e6).level == 100.0
    assert current_ma(HeatState(24.0, 24.0, 100.0), DRIFT, 0.0) == 0.0
    assert advance(start, COOL, 1.0, 1e6).level == 0.0


@given(share=st.floats(0.05, 1.0))
def test_clock_steps_mean_the_speed(share: float) -> None:
    steps = clock_steps(share, DRIFT)
    assert sum(weight for _, weight in steps) == pytest.approx(1.0)
    assert sum(step * weight for step, weight in steps) == pytest.approx(share)
    assert all(0.0 < step <= 1.0 for step, _ in steps)
    assert max(step for step, _ in steps) - min(step for step, _ in steps) <= DRIFT.clock_step + 1e-9


def test_impossible_traits_are_told() -> None:
    odd = dataclasses.replace(DRIFT, least_speed=0.0, throttle_full_c=30.0, time_constant_s=0.0)
    assert [problem.partition(":")[0] for problem in problems(odd)] == [
        "least_speed",
        "throttle_full_c",
        "time_constant_s",
    ]


def test_the_load_average_is_the_kernels() -> None:
    load = 0.0
    for _ in range(12):  # a minute, every five seconds, with one runnable thread
        load = load * math.exp(-5 / 60) + 1.0 * (1.0 - math.exp(-5 / 60))
    assert load_average(0.0, 1.0, 60.0) == pytest.approx(load)
