"""Histories with known truth: nights of series that stray, hang together, creep, and step once.

Written, with its seed and every parameter, before any rule was tried on it. What is in a series:

* **Noise.** The level of a night (median of five rounds) strays by `noise`, a standard deviation. 20 to 60 % of that
  variance are the rounds' own; the rest is the night's, autocorrelated of the first order with 0 to 0.7, from
  Student's t with 8 degrees of freedom. A run of the same night that asks again has new rounds and 0.8 of the night.
* **Drift.** A straight line of up to 3 % either way over 90 nights, and a wave of up to 1 % with a period of 30 to 90.
* **Bursts.** In 1 of 400 nights somebody computes beside the case: exponential, 4 % in the mean. Three of four are over
  when it is asked again, the fourth lasts all night.
* **Gaps.** 3 % of nights have no figures.
* **Its phone**, which ten series share: in 1 of 60 nights it becomes slower by 3 to 12 % for some nights, 3 in the
  mean; each case has 0.8 to 1.2 of that, the canary, which strays by 0.7 % itself, all of it. Once in 90 nights, in
  the mean, its system is another, and each case's level moves by up to 10 % either way.
* **A step** of so many per cent up, at a night between the 20th and the 80th, for good; none where none is asked for,
  but half of these series become faster by 2 to 10 % once. In the 15 nights before a step up, and after it, no phone
  gets another system: the rule has nothing to say of a base that it was told to throw away.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np
from numpy.random import Generator, default_rng

from orchestrator.nights.nouns import CaseNight, Circumstances, SeriesKey

SEED = 20261121
NIGHTS = 90
ROUNDS = 5
SIZES = (0.005, 0.01, 0.02, 0.03, 0.05)
"""Noise from night to night, and steps."""
A_PHONE = 10

CORRELATION = (0.0, 0.7)
OF_ROUNDS = (0.2, 0.6)
TAIL = 8
SAME_NIGHT = 0.8
DRIFT = 0.03
WAVE, PERIOD = 0.01, (30, 90)
BURST, BURST_SIZE, BURST_LASTS = 1 / 400, 0.04, 0.25
GAP = 0.03
SLOW, SLOW_NIGHTS, SLOW_SIZE, SLOW_SHARE = 1 / 60, 3.0, (0.03, 0.12), (0.8, 1.2)
CANARY_NOISE = 0.007
SYSTEM, SYSTEM_MOVES = 1 / 90, 0.1
STEP_BETWEEN = (20, 80)
QUIET_BEFORE = 15
FASTER = (0.02, 0.10)
_MEDIAN_COST = math.sqrt(math.pi / 2)


@dataclass(frozen=True, slots=True)
class Truth:
    """A series as it was drawn. `step_at` is the first night of the step up, None without one; `systems` the number of
    each night's system, `slow` whether its phone was slow."""

    noise: float
    step: float
    step_at: int | None
    nights: tuple[CaseNight, ...]
    asked_again: tuple[CaseNight, ...]
    systems: tuple[int, ...]
    slow: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class _Phone:
    slow: np.ndarray
    changes: np.ndarray
    canary: np.ndarray


def _phone(dice: Generator) -> _Phone:
    slow = np.zeros(NIGHTS)
    at = 0
    while at < NIGHTS:
        if dice.random() < SLOW:
            lasts = int(dice.geometric(1 / SLOW_NIGHTS))
            slow[at : at + lasts] = math.log1p(dice.uniform(*SLOW_SIZE))
            at += lasts
        at += 1
    changes = dice.random(NIGHTS) < SYSTEM
    changes[0] = False
    return _Phone(slow=slow, changes=changes, canary=dice.normal(0.0, CANARY_NOISE, NIGHTS) + slow)


def _noise(dice: Generator, noise: float) -> tuple[np.ndarray, np.ndarray, float]:
    """What each night adds, what it adds when it is asked again, and the spread of a round."""
    share = dice.uniform(*OF_ROUNDS)
    round_spread = noise * math.sqrt(share * ROUNDS) / _MEDIAN_COST
    spread, rho = noise * math.sqrt(1 - share), dice.uniform(*CORRELATION)
    fresh = dice.standard_t(TAIL, NIGHTS) * math.sqrt((TAIL - 2) / TAIL)
    nights = np.empty(NIGHTS)
    nights[0] = fresh[0]
    for at in range(1, NIGHTS):
        nights[at] = rho * nights[at - 1] + math.sqrt(1 - rho**2) * fresh[at]
    later = SAME_NIGHT * nights + math.sqrt(1 - SAME_NIGHT**2) * dice.normal(size=NIGHTS)
    return spread * nights, spread * later, round_spread


def _drift(dice: Generator) -> np.ndarray:
    at = np.arange(NIGHTS)
    line = dice.uniform(-DRIFT, DRIFT) * at / NIGHTS
    return line + dice.uniform(0.0, WAVE) * np.sin(2 * math.pi * (at / dice.uniform(*PERIOD) + dice.random()))


def one_series(dice: Generator, phone: _Phone, noise: float, step: float, name: SeriesKey) -> Truth:
    """One series on a phone; `step` 0: none up."""
    own, later, round_spread = _noise(dice, noise)
    step_at = int(dice.integers(*STEP_BETWEEN))
    course = _drift(dice) + phone.slow * dice.uniform(*SLOW_SHARE)
    changes = phone.changes.copy()
    if step > 0.0:
        changes[max(0, step_at - QUIET_BEFORE) :] = False
        course[step_at:] += math.log1p(step)
    elif dice.random() < 0.5:
        course[step_at:] += math.log1p(-dice.uniform(*FASTER))
    systems = np.cumsum(changes)
    course = course + dice.uniform(-SYSTEM_MOVES, SYSTEM_MOVES, NIGHTS)[systems] * (systems > 0)
    burst = np.where(dice.random(NIGHTS) < BURST, dice.exponential(BURST_SIZE, NIGHTS), 0.0)
    lasting = np.where(dice.random(NIGHTS) < BURST_LASTS, burst, 0.0)
    gaps = dice.random(NIGHTS) < GAP
    nights, again = [], []
    for at in range(NIGHTS):
        told = Circumstances(
            fingerprint=f"system {systems[at]}", binary_digest="b", canary_p50_s=0.001 * math.exp(phone.canary[at])
        )
        first = _night(name, at, course[at] + own[at] + burst[at], dice.normal(0.0, round_spread, ROUNDS), told)
        nights.append(replace(first, rounds_s=(), ended="failed: crashed") if gaps[at] else first)
        second = _night(name, at, course[at] + later[at] + lasting[at], dice.normal(0.0, round_spread, ROUNDS), told)
        again.append(replace(second, run_id=f"{first.run_id}-again", confirms=first.run_id))
    return Truth(
        noise=noise,
        step=step,
        step_at=step_at if step > 0.0 else None,
        nights=tuple(nights),
        asked_again=tuple(again),
        systems=tuple(int(one) for one in systems),
        slow=tuple(bool(one) for one in phone.slow > 0.0),
    )


def _night(name: SeriesKey, at: int, level: float, rounds: np.ndarray, told: Circumstances) -> CaseNight:
    return CaseNight(
        key=name,
        run_id=f"r{at}",
        night=(date(2026, 1, 1) + timedelta(days=at)).isoformat(),
        rounds_s=tuple(float(one) for one in 0.01 * np.exp(level + rounds)),
        ended="",
        circumstances=told,
    )


def phones(noise: float, step: float, count: int, seed: int = SEED) -> Iterator[list[Truth]]:
    """So many phones of `A_PHONE` series each, of this noise and this step; the same whenever they are asked for."""
    for at in range(count):
        dice = default_rng([seed, round(noise * 10_000), round(step * 10_000), at])
        phone = _phone(dice)
        names = (SeriesKey(f"phone {at}", f"model {number}", "onnx", "default") for number in range(A_PHONE))
        yield [one_series(dice, phone, noise, step, name) for name in names]
