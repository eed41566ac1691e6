"""A phone in simulated time: work takes as long as heat, bursts and chance make it take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from android_runner.facts import Vitals
from android_runner.virtual.heat.body import FULL_LOAD_THREADS, Body
from android_runner.virtual.heat.nature import Nature, NoiseTraits, draw_nature
from android_runner.virtual.heat.scenario import Scenario

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
        self.body = Body(nature, seed)
        self._chance = ProcessChance(nature.noise, Random(f"{seed}/processes"))

    @property
    def now_s(self) -> float:
        """Seconds since its boot."""
        return self.body.now_s

    @property
    def speed(self) -> float:
        """The share of its top clock that it may run at now."""
        return self.body.speed

    def run(self, work_s: float, threads: int = FULL_LOAD_THREADS, *, cv: float | None = None) -> TrialTime:
        """A process with so much work (seconds at the top clock, alone on the phone), to its end.

        `cv` stands in place of the scenario's coefficient of variation between processes.
        """
        body = self.body
        began_s = body.now_s
        factor = self._chance.draw(cv)
        left_s = work_s * factor
        paces: list[tuple[float, float]] = []
        while left_s > 0.0:
            piece = body.next_piece(threads, 1.01 * left_s / (body.free * body.speed))
            pace = body.free * piece.speed
            done_s = pace * piece.took_s
            if done_s >= left_s:
                piece = body.piece_of(threads, left_s / pace)
                done_s = left_s
            body.live(piece, threads)
            left_s -= done_s
            paces.append((factor / pace, done_s))
        took_s = body.now_s - began_s
        return TrialTime(began_s, took_s, took_s / work_s, _weighted_median(paces))

    def rest(self, dt_s: float) -> None:
        """Nothing of ours runs for so long."""
        self.body.hold(0, dt_s)

    def vitals(self) -> Vitals:
        """What a snapshot would tell of it now; figures as the phone's files round them."""
        said = self.body.readings()
        return Vitals(
            uptime_s=round(self.now_s, 2),
            boot_id=_BOOT_ID,
            battery_level=said.battery_level,
            battery_c=None if said.battery_c is None else round(said.battery_c, 1),
            thermal_status=said.thermal_status,
            zones_c={name: round(zone_c, 1) for name, zone_c in (said.zones_c or {}).items()},
            current_freq_khz=() if said.clock is None else (round(_TOP_KHZ * said.clock),),
            residency_s={} if said.residency_s is None else {0: _counters(said.residency_s)},
            load_1m=round(self.body.load_1m, 2),
            running=1 + round(self.body.others),
        )


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
