"""Pure: the physics of a phone that gets hot: heat, clocks that fall with it, and the battery. Floats and `math` only.

**Heat.** A phone under load is a first-order thermal circuit (lumped capacitance: one resistance R in K/W from chip and
case to the air, one capacity C in J/K; Incropera & DeWitt, Fundamentals of Heat and Mass Transfer, ch. 5):
`C·dT/dt = P − (T − T_air)/R`. With τ = R·C and power held constant its solution is exact for any step:
`T(t) = T∞ + (T0 − T∞)·exp(−t/τ)`, `T∞ = T_air + R·P`. `rise_c` is R·P at full load and top clock.

**Battery.** A second stage that follows the first, `τ_b·dT_b/dt = T_air + c·(T − T_air) − T_b`; driven by the
exponential above it has a closed solution as well: `T_b(t) = T_b∞ + (T_b0 − T_b∞ − K)·e^(−t/τ_b) + K·e^(−t/τ)` with
`K = c·(T0 − T∞)·τ/(τ − τ_b)`.

**Clocks.** CMOS switching power is `a·C·V²·f` (Chandrakasan et al., IEEE JSSC 27(4), 1992); as voltage falls with the
clock (DVFS), it goes with a power of the clock between 1 and 3: `power = load · speed^power_exponent`. A throttling
governor lowers the allowed clock as temperature rises above a trip point; here linearly, from the top clock at
`throttle_from_c` to `least_speed` of it at `throttle_full_c`. Clocks have steps; the governor hops between the two
steps around what it may (the kernel's polls every 100 ms or so), and work sees their mean: that mean is `speed`, and
`clock_steps` says how the time divides.

Clocks feed back on heat. Where they stand still (below the trip point, above the full one) a step is exact; in
between, steps are short against the time constant of the loop, and use the speed at their middle (second order).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_PIECES = 8
"""Steps per time constant of the loop while clocks move; the error of a step is below a thousandth of its change."""
_NEAR_C = 1e-9
POWER_EXPONENT = 2.0
"""How power goes with the clock, of the whole phone: that of its switching part would be nearer to 3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatTraits:
    """What a phone is, heat-wise. °C, seconds, mA, mAh; speeds are shares of the top clock.

    `rise_c`: how far above the air it would settle at full load if its clocks never fell. `battery_coupling`: share of
    the chip's excess over the air that the battery settles at. `charge_ma` comes in by the cable, `idle_ma` and at full
    load and top clock `load_ma` go out. `top_speed`: no clock above this share may be set (root's `scaling_max_freq`).
    """

    ambient_c: float
    rise_c: float
    time_constant_s: float
    throttle_from_c: float
    throttle_full_c: float
    least_speed: float
    power_exponent: float = POWER_EXPONENT
    clock_step: float = 0.05
    battery_time_constant_s: float = 900.0
    battery_coupling: float = 0.6
    battery_mah: float = 4500.0
    charge_ma: float = 450.0
    idle_ma: float = 150.0
    load_ma: float = 1400.0
    top_speed: float = 1.0


@dataclass(frozen=True, slots=True)
class HeatState:
    """How warm it is: chip with case, battery (°C), and the battery's level in percent, 0 to 100, not rounded."""

    soc_c: float
    battery_c: float
    level: float


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of time: the state at its end, how long it took, its mean speed (share of the top clock)."""

    state: HeatState
    took_s: float
    speed: float


def problems(traits: HeatTraits) -> list[str]:
    """What makes traits impossible, a line each; empty when they are sound."""
    checks = {
        "least_speed: outside of (0, 1]": 0.0 < traits.least_speed <= 1.0,
        "top_speed: outside of (0, 1]": 0.0 < traits.top_speed <= 1.0,
        "throttle_full_c: not above throttle_from_c": traits.throttle_full_c > traits.throttle_from_c,
        "rise_c: below 0": traits.rise_c >= 0.0,
        "time_constant_s: not above 0": traits.time_constant_s > 0.0,
        "battery_time_constant_s: not above 0": traits.battery_time_constant_s > 0.0,
        "battery_mah: not above 0": traits.battery_mah > 0.0,
        "clock_step: outside of (0, 0.5]": 0.0 < traits.clock_step <= 0.5,
        "power_exponent: outside of 1 to 3": 1.0 <= traits.power_exponent <= 3.0,
    }
    return [problem for problem, sound in checks.items() if not sound]


def cold(traits: HeatTraits, level: float = 80.0) -> HeatState:
    """A phone that has lain in the air for hours."""
    return HeatState(traits.ambient_c, traits.ambient_c, level)


def speed(state: HeatState, traits: HeatTraits) -> float:
    """The share of its top clock that a phone may run at, in (0, 1]."""
    return speed_at(state.soc_c, traits)


def speed_at(soc_c: float, traits: HeatTraits) -> float:
    """As `speed`, at a chip's temperature in °C."""
    over = (soc_c - traits.throttle_from_c) / (traits.throttle_full_c - traits.throttle_from_c)
    if over <= 0.0:
        return traits.top_speed
    allowed = traits.least_speed if over >= 1.0 else 1.0 - over * (1.0 - traits.least_speed)
    return min(allowed, traits.top_speed)


def power(traits: HeatTraits, load: float, speed_share: float) -> float:
    """Heat made, as a share of that at full load and top clock. `load` is the share of the cores that compute."""
    return load if speed_share == 1.0 else load * float(speed_share**traits.power_exponent)


def current_ma(state: HeatState, traits: HeatTraits, load: float) -> float:
    """What flows into the battery (negative: out of it) in mA; a full one takes nothing."""
    return _current_ma(state.level, traits, power(traits, load, speed(state, traits)))


def _current_ma(level: float, traits: HeatTraits, power_share: float) -> float:
    flow = traits.charge_ma - traits.idle_ma - traits.load_ma * power_share
    return 0.0 if flow > 0.0 and level >= 100.0 else flow


def advance(state: HeatState, traits: HeatTraits, load: float, dt_s: float) -> HeatState:
    """The state after `dt_s` at a constant load (share of the cores that compute, 0 to 1)."""
    left = dt_s
    while left > 0.0:
        piece = next_piece(state, traits, load, left)
        state = piece.state
        left -= piece.took_s
    return state


def next_piece(state: HeatState, traits: HeatTraits, load: float, limit_s: float) -> Piece:
    """The first piece of `limit_s` at a constant load over which one speed may stand for all of it; at most all."""
    dt_s = min(limit_s, _steady_s(state.soc_c, traits, load))
    return piece_of(state, traits, load, dt_s)


def piece_of(state: HeatState, traits: HeatTraits, load: float, dt_s: float) -> Piece:
    """Exactly `dt_s` as one piece; what is longer than `next_piece` gives loses accuracy."""
    share = speed_at(state.soc_c, traits)
    if load > 0.0:
        target = traits.ambient_c + traits.rise_c * power(traits, load, share)
        middle_c = target + (state.soc_c - target) * math.exp(-0.5 * dt_s / traits.time_constant_s)
        share = speed_at(middle_c, traits)
    return Piece(held(state, traits, power(traits, load, share), dt_s), dt_s, share)


def held(state: HeatState, traits: HeatTraits, power_share: float, dt_s: float) -> HeatState:
    """The exact state after `dt_s` at constant power (a share of that at full load and top clock)."""
    tau, tau_b, coupling = traits.time_constant_s, traits.battery_time_constant_s, traits.battery_coupling
    target = traits.ambient_c + traits.rise_c * power_share
    fades, fades_b = math.exp(-dt_s / tau), math.exp(-dt_s / tau_b)
    excess = state.soc_c - target
    target_b = traits.ambient_c + coupling * traits.rise_c * power_share
    drive = coupling * excess
    if abs(tau - tau_b) > 1e-6 * tau:
        follows = drive * tau / (tau - tau_b)
        battery_c = target_b + (state.battery_c - target_b - follows) * fades_b + follows * fades
    else:  # the limit of the above where both time constants are the same
        battery_c = target_b + (state.battery_c - target_b + drive * dt_s / tau) * fades
    flow_ma = _current_ma(state.level, traits, power_share)
    level = state.level + 100.0 * flow_ma * dt_s / (3600.0 * traits.battery_mah)
    return HeatState(target + excess * fades, battery_c, min(100.0, max(0.0, level)))


def _steady_s(soc_c: float, traits: HeatTraits, load: float) -> float:
    """For how long one speed may be taken as constant; infinite where it stays."""
    start, full = traits.throttle_from_c, traits.throttle_full_c
    if load <= 0.0:
        return math.inf  # nothing computes: what clocks would be allowed changes nothing
    if soc_c < start - _NEAR_C:
        target = traits.ambient_c + traits.rise_c * power(traits, load, traits.top_speed)
        return _crossing_s(soc_c, start, target, traits.time_constant_s)
    if soc_c > full + _NEAR_C:
        target = traits.ambient_c + traits.rise_c * power(traits, load, speed_at(soc_c, traits))
        return _crossing_s(soc_c, full, target, traits.time_constant_s)
    slope = (1.0 - traits.least_speed) / (full - start)
    gain = traits.rise_c * load * traits.power_exponent * slope
    return traits.time_constant_s / (_PIECES * (1.0 + gain))


def _crossing_s(soc_c: float, border_c: float, target_c: float, tau_s: float) -> float:
    """When a temperature that moves towards `target_c` crosses a border; infinite for never."""
    if (border_c - soc_c) * (target_c - border_c) <= 0.0:
        return math.inf
    return tau_s * math.log((target_c - soc_c) / (target_c - border_c))


def settled_c(traits: HeatTraits, load: float) -> float:
    """The chip's temperature in °C at which a constant load settles, clocks and heat in balance."""
    low, high = traits.ambient_c, traits.ambient_c + traits.rise_c * load
    for _ in range(80):
        middle = 0.5 * (low + high)
        made = traits.ambient_c + traits.rise_c * power(traits, load, speed_at(middle, traits))
        low, high = (middle, high) if made > middle else (low, middle)
    return 0.5 * (low + high)


def warming_s(traits: HeatTraits, load: float, until_c: float) -> float:
    """Seconds that a cold phone under a constant load takes to a temperature below the one where it settles.

    By Simpson's rule over `dt = τ·dT / (T∞(T) − T)` where clocks fall, exact before. Raises ValueError for a
    temperature that is never reached.
    """
    if until_c >= settled_c(traits, load):
        raise ValueError(f"{until_c:g} °C is never reached")

    def pace(soc_c: float) -> float:
        made = traits.ambient_c + traits.rise_c * power(traits, load, speed_at(soc_c, traits))
        return traits.time_constant_s / (made - soc_c)

    bend = min(until_c, traits.throttle_from_c)
    target = traits.ambient_c + traits.rise_c * power(traits, load, traits.top_speed)
    total = _crossing_s(traits.ambient_c, bend, target, traits.time_constant_s)
    intervals = 64
    width = (until_c - bend) / intervals
    weights = [1.0, *([4.0, 2.0] * (intervals // 2 - 1)), 4.0, 1.0]
    return total + sum(weight * pace(bend + at * width) for at, weight in enumerate(weights)) * width / 3.0


def thermal_status(state: HeatState, traits: HeatTraits) -> int:
    """As Android counts (`PowerManager.THERMAL_STATUS_*`): 0 none, 1 light, 2 moderate, 3 severe."""
    over = (state.soc_c - traits.throttle_from_c) / (traits.throttle_full_c - traits.throttle_from_c)
    return 0 if over <= 0.0 else 1 if over < 0.4 else 2 if over < 1.0 else 3


def clock_steps(speed_share: float, traits: HeatTraits) -> tuple[tuple[float, float], ...]:
    """The clock steps (shares of the top clock) that a governor hops between, each with its share of the time.

    Their mean is `speed_share`.
    """
    steps = round(1.0 / traits.clock_step)
    below = min(steps - 1, math.floor(speed_share * steps + 1e-9))
    weight = speed_share * steps - below
    if weight <= 1e-9:
        return ((below / steps, 1.0),)
    if weight >= 1.0 - 1e-9:
        return (((below + 1) / steps, 1.0),)
    return (((below + 1) / steps, weight), (below / steps, 1.0 - weight))
