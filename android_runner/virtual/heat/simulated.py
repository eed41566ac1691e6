"""A phone in simulated time: work takes as long as heat, bursts and chance make it take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from android_runner.facts import Vitals
from android_runner.virtual.heat.bursts import Phase, load_average, phases
from android_runner.virtual.heat.model import (
    Piece,
    clock_steps,
    cold,
    current_ma,
    next_piece,
    piece_of,
    speed,
    thermal_status,
)
from android_runner.virtual.heat.nature import Nature, NoiseTraits, draw_nature
from android_runner.virtual.heat.scenario import Scenario
from android_runner.virtual.heat.sensors import Readings, shown

FULL_LOAD_THREADS = 4
"""So many computing threads are full load: they heat a phone as much as it can be heated."""
_TOP_KHZ = 2_000_000
_BOOT_ID = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class TrialTime:
    """How long one process took. Slowdowns are against the work at the top clock, the process's own chance included.

    `median_slowdown` is that of the inference in the middle (what p50 sees, where all do the same work),
    `mean_slowdown` is the mean over inferences (what the average sees): `took_s / work_s`.
    """

    began_s: float
    took_s: float
    mean_slowdown: float
    median_slowdown: float


class SimulatedPhone:
    """One phone of a nature; `now_s` is its own clock, from 0 at its boot, cold."""

    def __init__(self, nature: Nature, seed: str | int) -> None:
        self.nature = nature
        self.now_s = 0.0
        self.state = cold(nature.heat, nature.level)
        self._load_1m = 0.0
        self._residency_s: dict[float, float] = {}
        self._phases = phases(nature.bursts, Random(f"{seed}/bursts"))
        self._phase = next(self._phases)
        self._chance = ProcessChance(nature.noise, Random(f"{seed}/processes"))
        self._cold = self.truth()

    @property
    def speed(self) -> float:
        """The share of its top clock that it may run at now."""
        return speed(self.state, self.nature.heat)

    def run(self, work_s: float, threads: int = FULL_LOAD_THREADS, *, cv: float | None = None) -> TrialTime:
        """A process with so much work (seconds at the top clock, alone on the phone), to its end.

        `cv` stands in place of the scenario's coefficient of variation between processes.
        """
        began_s = self.now_s
        factor = self._chance.draw(cv)
        load = min(1.0, threads / FULL_LOAD_THREADS)
        left_s = work_s * factor
        paces: list[tuple[float, float]] = []
        while left_s > 0.0:
            free = 1.0 - self._current_phase().takes
            piece = self._next(load, left_s / (free * self.speed))
            done_s = piece.speed * free * piece.took_s
            if done_s >= left_s * (1.0 - 1e-9):
                piece = piece_of(self.state, self.nature.heat, self._heat_load(load), left_s / (free * piece.speed))
                done_s = left_s
            self._pass(piece, threads)
            left_s -= done_s
            paces.append((factor / (free * piece.speed), done_s))
        took_s = self.now_s - began_s
        return TrialTime(began_s, took_s, took_s / work_s, _weighted_median(paces))

    def rest(self, dt_s: float) -> None:
        """Nothing of ours runs for so long."""
        until_s = self.now_s + dt_s
        while (left_s := until_s - self.now_s) > 1e-9:
            self._pass(self._next(0.0, left_s), 0)

    def truth(self) -> Readings:
        """How it is, were every sensor there and honest."""
        state, traits = self.state, self.nature.heat
        skin_c = traits.ambient_c + 0.8 * (state.soc_c - traits.ambient_c)
        return Readings(
            battery_level=int(state.level),
            battery_c=state.battery_c,
            battery_current_ma=current_ma(state, traits, self._heat_load(0.0)),
            zones_c={"soc": state.soc_c, "skin": skin_c},
            thermal_status=thermal_status(state, traits),
            clock=clock_steps(self.speed, traits)[0][0],
            residency_s=dict(self._residency_s),
        )

    def readings(self) -> Readings:
        """What its sensors say now."""
        return shown(self.truth(), self._cold, self.nature.honesty)

    def vitals(self) -> Vitals:
        """What a snapshot would tell of it now; figures as the phone's files round them."""
        said = self.readings()
        return Vitals(
            uptime_s=round(self.now_s, 2),
            boot_id=_BOOT_ID,
            battery_level=said.battery_level,
            battery_c=None if said.battery_c is None else round(said.battery_c, 1),
            thermal_status=said.thermal_status,
            zones_c={name: round(zone_c, 1) for name, zone_c in (said.zones_c or {}).items()},
            current_freq_khz=() if said.clock is None else (round(_TOP_KHZ * said.clock),),
            residency_s={} if said.residency_s is None else {0: _counters(said.residency_s)},
            load_1m=round(self._load_1m, 2),
            running=1 + round(self._current_phase().runnable),
        )

    def _heat_load(self, own: float) -> float:
        """The share of the cores that compute, with what others take."""
        return min(1.0, own + self._phase.takes)

    def _current_phase(self) -> Phase:
        while self._phase.until_s - self.now_s <= 1e-9:
            self._phase = next(self._phases)
        return self._phase

    def _next(self, load: float, limit_s: float) -> Piece:
        """The next stretch with one speed and one phase; a burst's begin or end on the way shortens it."""
        limit_s = min(limit_s, self._current_phase().until_s - self.now_s)
        return next_piece(self.state, self.nature.heat, self._heat_load(load), limit_s)

    def _pass(self, piece: Piece, threads: int) -> None:
        self.state = piece.state
        self.now_s += piece.took_s
        self._load_1m = load_average(self._load_1m, threads + self._phase.runnable, piece.took_s)
        for step, share in clock_steps(piece.speed, self.nature.heat):
            self._residency_s[step] = self._residency_s.get(step, 0.0) + share * piece.took_s


def _counters(residency_s: Mapping[float, float]) -> tuple[tuple[int, float], ...]:
    """`time_in_state` of the one policy, by clock; the kernel counts in 10 ms."""
    return tuple(sorted((round(_TOP_KHZ * step), round(spent_s, 2)) for step, spent_s in residency_s.items()))


class ProcessChance:
    """Draws, for one process after another, the factor by which it takes longer than its phone's clocks explain."""

    def __init__(self, noise: NoiseTraits, rng: Random) -> None:
        self._noise = noise
        self._rng = rng
        self._slow = False

    def draw(self, cv: float | None = None) -> float:
        """Log-normal with median 1 and a coefficient of variation `cv` (σ² = ln(1 + cv²)), times the slow mode's."""
        noise = self._noise
        wanted = noise.process_cv if cv is None else cv
        factor = math.exp(self._rng.gauss(0.0, math.sqrt(math.log1p(wanted * wanted))))
        self._slow = self._rng.random() < (noise.slow_stays if self._slow else noise.slow_enters)
        return factor * (1.0 + noise.slow_by) if self._slow else factor


def draw(scenario: Scenario, seed: str | int) -> SimulatedPhone:
    """A cold phone of a scenario; the same seed gives the same nature, bursts and chances of its processes."""
    return SimulatedPhone(draw_nature(scenario, seed), seed)


def _weighted_median(paces: list[tuple[float, float]]) -> float:
    """The slowdown at which half of the work was done faster; each with its share of the work."""
    if len(paces) == 1:
        return paces[0][0]
    ordered = sorted(paces)
    half = 0.5 * sum(done for _, done in ordered)
    for slowdown, done in ordered:
        half -= done
        if half <= 0.0:
            return slowdown
    return ordered[-1][0]
