"""One phone's nature, drawn from a scenario by seed: the same scenario and seed give the same phone, everywhere."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from android_runner.virtual.heat.bursts import BurstTraits
from android_runner.virtual.heat.model import POWER_EXPONENT, HeatTraits, warming_s
from android_runner.virtual.heat.scenario import Range, Scenario
from android_runner.virtual.heat.sensors import Honesty, Sensor

_LEAST_SPEED = 0.3
_BATTERY_LAG = 1.5
"""The battery's time constant over that of the chip and its case."""
_UNTHROTTLED = 0.8
"""Where `lost` is 0: how much of the way from the air to the throttle point full load warms the phone."""
_GONE = 1.0 - math.exp(-1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseTraits:
    """How processes that do the same differ; chances and shares as in `scenario.SlowModeRanges`, 0 without."""

    process_cv: float
    slow_enters: float = 0.0
    slow_stays: float = 0.0
    slow_by: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Nature:
    """What a phone is. `level` is its battery's at the start, in percent."""

    heat: HeatTraits
    level: float
    noise: NoiseTraits
    bursts: BurstTraits | None
    honesty: Mapping[Sensor, Honesty]


def draw_nature(scenario: Scenario, seed: str | int) -> Nature:
    """A phone of this scenario. What each part draws does not depend on what the others have drawn."""
    rng = Random(f"{seed}/nature/heat")
    heat = _heat(scenario, rng)
    battery = scenario.battery
    level = _even(battery.level, Random(f"{seed}/nature/battery"))
    return Nature(
        heat=heat,
        level=level,
        noise=_noise(scenario, Random(f"{seed}/nature/noise")),
        bursts=_bursts(scenario, Random(f"{seed}/nature/bursts")),
        honesty=_honesty(scenario, Random(f"{seed}/nature/sensors")),
    )


def traits_for(
    *,
    lost: float,
    time_constant_s: float,
    ambient_c: float,
    throttle_from_c: float,
    settles_above_c: float,
) -> HeatTraits:
    """Traits of a phone that loses the share `lost` of its speed from cold to settled at full load.

    63 % of that are lost after `time_constant_s`. The clocks' line goes through full speed at `throttle_from_c` and
    `1 − lost` at the settled temperature; there heat made and heat given off balance, which gives the rise; all times
    of the model are in proportion to its thermal time constant, which gives that one.
    """
    rise_c = _UNTHROTTLED * (throttle_from_c - ambient_c)
    width_c = settles_above_c
    if lost > 0.0:
        rise_c = (throttle_from_c + settles_above_c - ambient_c) / (1.0 - lost) ** POWER_EXPONENT
        width_c = settles_above_c * (1.0 - _LEAST_SPEED) / lost
    traits = HeatTraits(
        ambient_c=ambient_c,
        rise_c=rise_c,
        time_constant_s=1.0,
        throttle_from_c=throttle_from_c,
        throttle_full_c=throttle_from_c + width_c,
        least_speed=_LEAST_SPEED,
    )
    until_c = throttle_from_c + _GONE * settles_above_c
    tau_s = time_constant_s / (warming_s(traits, 1.0, until_c) if lost > 0.0 else 1.0)
    return dataclasses.replace(traits, time_constant_s=tau_s, battery_time_constant_s=_BATTERY_LAG * tau_s)


def _heat(scenario: Scenario, rng: Random) -> HeatTraits:
    heat, battery = scenario.heat, scenario.battery
    traits = traits_for(
        lost=_even(heat.lost, rng),
        time_constant_s=_even(heat.time_constant_s, rng),
        ambient_c=_even(heat.ambient_c, rng),
        throttle_from_c=_even(heat.throttle_from_c, rng),
        settles_above_c=_even(heat.settles_above_c, rng),
    )
    return dataclasses.replace(
        traits,
        battery_mah=_even(battery.mah, rng),
        charge_ma=_even(battery.charge_ma, rng),
        load_ma=_even(battery.load_ma, rng),
    )


def _noise(scenario: Scenario, rng: Random) -> NoiseTraits:
    low, high = scenario.noise.process_cv
    process_cv = math.exp(rng.uniform(math.log(low), math.log(high)))
    slow = scenario.noise.slow_mode
    if slow is None:
        return NoiseTraits(process_cv=process_cv)
    return NoiseTraits(
        process_cv=process_cv,
        slow_enters=_even(slow.enters, rng),
        slow_stays=_even(slow.stays, rng),
        slow_by=_even(slow.by, rng),
    )


def _bursts(scenario: Scenario, rng: Random) -> BurstTraits | None:
    ranges = scenario.bursts
    if ranges is None:
        return None
    return BurstTraits(
        mean_gap_s=_even(ranges.mean_gap_s, rng),
        mean_length_s=_even(ranges.mean_length_s, rng),
        takes=_even(ranges.takes, rng),
        runnable=_even(ranges.runnable, rng),
    )


def _honesty(scenario: Scenario, rng: Random) -> dict[Sensor, Honesty]:
    found: dict[Sensor, Honesty] = {}
    for sensor in Sensor:
        drawn = rng.random()
        if drawn < scenario.sensors.missing:
            found[sensor] = Honesty.MISSING
        elif drawn < scenario.sensors.missing + scenario.sensors.lying:
            found[sensor] = Honesty.LYING
    return found


def _even(span: Range, rng: Random) -> float:
    return rng.uniform(*span)
