"""A phone's body: its heat, clocks, load and battery as time goes by, and what its sensors say of them."""

from __future__ import annotations

import dataclasses
from random import Random

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
from android_runner.virtual.heat.nature import Nature
from android_runner.virtual.heat.sensors import Readings, shown

FULL_LOAD_THREADS = 4
"""So many computing threads are full load: they heat a phone as much as it can be heated."""
_SKIN = 0.8
"""Share of the chip's excess over the air that the case has."""


class Body:
    """One phone of a nature, booted when cold; `now_s` counts from then on."""

    def __init__(self, nature: Nature, seed: str | int) -> None:
        self.nature = nature
        self.now_s = 0.0
        self.state = cold(nature.heat, nature.level)
        self.load_1m = 0.0
        self._traits = nature.heat
        self._residency_s: dict[float, float] = {}
        self._phases = phases(nature.bursts, Random(f"{seed}/bursts"))
        self._phase = next(self._phases)
        self._cold = self.truth()

    @property
    def speed(self) -> float:
        """The share of its top clock that it may run at now."""
        return speed(self.state, self._traits)

    @property
    def free(self) -> float:
        """The share of its computing that others leave."""
        return 1.0 - self._phase.takes

    @property
    def others(self) -> float:
        """How many threads of others are runnable now."""
        return self._current_phase().runnable

    def limit(self, top_speed: float) -> None:
        """Let no clock be above this share of the top one, as root may."""
        if top_speed != self._traits.top_speed:
            self._traits = dataclasses.replace(self.nature.heat, top_speed=top_speed)

    def reboot(self) -> None:
        """Forget what a kernel counts since its boot; heat stays."""
        self._residency_s = {}
        self.load_1m = 0.0

    def next_piece(self, threads: int, limit_s: float) -> Piece:
        """The next stretch with one speed and one phase, at most `limit_s`, with so many threads of ours."""
        limit_s = min(limit_s, self._current_phase().until_s - self.now_s)
        return next_piece(self.state, self._traits, self._load(threads), limit_s)

    def piece_of(self, threads: int, dt_s: float) -> Piece:
        """The beginning of what `next_piece` has given, `dt_s` long."""
        return piece_of(self.state, self._traits, self._load(threads), dt_s)

    def live(self, piece: Piece, threads: int) -> None:
        """Let this stretch go by."""
        self.state = piece.state
        self.now_s += piece.took_s
        self.load_1m = load_average(self.load_1m, threads + self._phase.runnable, piece.took_s)
        for step, share in clock_steps(piece.speed, self._traits):
            self._residency_s[step] = self._residency_s.get(step, 0.0) + share * piece.took_s

    def hold(self, threads: int, dt_s: float) -> None:
        """Let `dt_s` go by with so many threads of ours computing."""
        until_s = self.now_s + dt_s
        while (left_s := until_s - self.now_s) > 1e-9:
            self.live(self.next_piece(threads, left_s), threads)
        self._current_phase()

    def truth(self, threads: int = 0) -> Readings:
        """How it is with so many threads of ours, were every sensor there and honest.

        Its zones: the chip (`soc`) and the case (`skin`).
        """
        state, traits = self.state, self._traits
        return Readings(
            battery_level=int(state.level),
            battery_c=state.battery_c,
            battery_current_ma=current_ma(state, traits, self._load(threads)),
            zones_c={"soc": state.soc_c, "skin": traits.ambient_c + _SKIN * (state.soc_c - traits.ambient_c)},
            thermal_status=thermal_status(state, traits),
            clock=clock_steps(self.speed, traits)[0][0],
            residency_s=dict(self._residency_s),
        )

    def readings(self, threads: int = 0, *, clock: float | None = None) -> Readings:
        """What its sensors say now; `clock` is the one that it hops to at this moment, where it is known."""
        truth = self.truth(threads)
        if clock is not None:
            truth = dataclasses.replace(truth, clock=clock)
        return shown(truth, self._cold, self.nature.honesty)

    def _current_phase(self) -> Phase:
        while self._phase.until_s - self.now_s <= 1e-9:
            self._phase = next(self._phases)
        return self._phase

    def _load(self, threads: int) -> float:
        """The share of the cores that compute, with what others take."""
        return min(1.0, threads / FULL_LOAD_THREADS + self._phase.takes)
