"""Load bursts: what others do on a phone, now and then; drawn by seed, the same whatever we do meanwhile."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstTraits:
    """Bursts come as a Poisson process: gaps and lengths are exponential with these means, in seconds.

    While one lasts it takes the share `takes` of what we would compute, and has `runnable` threads in the load average.
    """

    mean_gap_s: float
    mean_length_s: float
    takes: float
    runnable: float


@dataclass(frozen=True, slots=True)
class Phase:
    """What others do until `until_s`: the share of our computing that they take, and their threads."""

    until_s: float
    takes: float
    runnable: float


def phases(traits: BurstTraits | None, rng: Random) -> Iterator[Phase]:
    """One quiet phase, one burst, and so on for ever, from time 0 on; without traits one phase without an end."""
    if traits is None:
        yield Phase(math.inf, 0.0, 0.0)
        return
    at = 0.0
    while True:
        at += rng.expovariate(1.0 / traits.mean_gap_s)
        yield Phase(at, 0.0, 0.0)
        at += rng.expovariate(1.0 / traits.mean_length_s)
        yield Phase(at, traits.takes, traits.runnable)


def load_average(load_1m: float, runnable: float, dt_s: float) -> float:
    """Linux's one-minute load average after `dt_s` with a constant number of runnable threads.

    The kernel keeps `load = load·e + n·(1 − e)` every five seconds with `e = exp(−5/60)` (`kernel/sched/loadavg.c`);
    this is the same for any step.
    """
    fades = math.exp(-dt_s / 60.0)
    return load_1m * fades + runnable * (1.0 - fades)
