"""The nightly's rule on histories with known truth (`benchmarks.simulated_nights`), beside asv's on the same nights.

Each series is judged night after night, as a nightly does it; where a night is suspected it is asked again. A *false
alarm* is a regression that is said for the first time of a night without a change; nights when the phone was slow, and
its canary with it, are such nights, too. A step is *found* when it is called a regression in the first two nights that
have figures from it on. asv gets what its graphs would hold: a series of its own for each system of the phone, and the
same nights to say something of. It has no canary and asks nothing again.

The series were drawn, and their seed fixed, before a rule was tried on them; the rule was then mended on series of
another seed (1). A third seed (2) that nobody had looked at is judged, too, and its two figures stand in the detail.
`ORCH_SERIES` is how many series each cell of the table has (120); asv, which takes longer, judges a sixth of them.
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from benchmarks.asv_rule import Potts, regressions
from benchmarks.row import Row
from benchmarks.simulated_nights import A_PHONE, SEED, SIZES, Truth, phones
from orchestrator.nights.nouns import Verdict
from orchestrator.nights.rule import LIMITS, Night, Series, after

SERIES = 120
UNSEEN = 2
FOR_ASV = 6
"""Every so manieth phone is judged by asv's rule, too."""
FALSE_A_THOUSAND = 1.0
FOUND = 0.9
QUIET = 0.01
PROMISED = 0.05
ASV_THRESHOLDS = (0.05, 0.01)
_NEAR = 3
"""A step that moves by so many nights, as more of them are seen, is still the same alarm."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a rule said of a series: nights without a change that it judged, false alarms among them (and how many of
    those while the phone was slow), how often it asked again, whether it found the step (None: there was none)."""

    nights: int = 0
    false: int = 0
    false_slow: int = 0
    asked: int = 0
    found: bool | None = None


def ours(truth: Truth) -> Score:
    """Our rule, night after night."""
    series, nights, false, slow, asked, found = Series(), 0, 0, 0, 0, False
    window = _first_two(truth)
    alarmed = ""
    for at, own in enumerate(truth.nights):
        told, later = after(series, Night(own))
        if told.verdict is Verdict.SUSPECTED:
            told, later = after(series, Night(own, (truth.asked_again[at],)))
            asked += 1
        series = later
        fresh = told.verdict is Verdict.REGRESSED and told.first_bad != alarmed
        if told.verdict is not Verdict.INSUFFICIENT:  # a night without figures closes no alarm
            alarmed = told.first_bad if told.verdict is Verdict.REGRESSED else ""
        if truth.step_at is None or at < truth.step_at:
            nights += told.change is not None
            false += fresh
            slow += fresh and truth.slow[at]
        elif at in window:
            found |= fresh and int(told.first_bad[1:]) >= truth.step_at - 1
    return Score(nights, false, slow, asked, None if truth.step_at is None else found)


def _first_two(truth: Truth) -> tuple[int, ...]:
    if truth.step_at is None:
        return ()
    return tuple(at for at, one in enumerate(truth.nights) if at >= truth.step_at and one.rounds_s)[:2]


def asvs(truth: Truth, threshold: float) -> Score:
    """asv's rule after each night, on the nights of the newest system."""
    nights, false, slow, found = 0, 0, 0, False
    window = _first_two(truth)
    for system in dict.fromkeys(truth.systems):
        of = [at for at, one in enumerate(truth.nights) if truth.systems[at] == system and one.rounds_s]
        if not of:
            continue
        potts = Potts([statistics.median(truth.nights[at].rounds_s) for at in of])
        known: set[int] = set()
        for end in range(LIMITS.base + 1, len(of) + 1):
            at = of[end - 1]
            said = [of[first] for first in regressions(potts.pieces(end), threshold)]
            fresh = [one for one in said if not any(abs(one - had) <= _NEAR for had in known)]
            known.update(said)
            if truth.step_at is None or at < truth.step_at:
                nights += 1
                false += bool(fresh)
                slow += bool(fresh) and truth.slow[at]
            elif at in window:
                found |= any(truth.step_at - 1 <= one for one in said)
    return Score(nights, false, slow, 0, None if truth.step_at is None else found)


@dataclass(frozen=True, slots=True)
class Total:
    """Scores of many series together."""

    nights: int
    false: int
    false_slow: int
    asked: int
    found: int
    steps: int

    @classmethod
    def of(cls, scores: Sequence[Score]) -> Total:
        told = [one.found for one in scores if one.found is not None]
        return cls(
            nights=sum(one.nights for one in scores),
            false=sum(one.false for one in scores),
            false_slow=sum(one.false_slow for one in scores),
            asked=sum(one.asked for one in scores),
            found=sum(told),
            steps=len(told),
        )

    @property
    def a_thousand(self) -> float:
        """False alarms in 1,000 case-nights."""
        return 1000 * self.false / max(1, self.nights)

    @property
    def power(self) -> float:
        """The part of the steps that was found."""
        return self.found / max(1, self.steps)


Cell = tuple[float, float]
"""Noise and step."""


def judged(asked: tuple[Cell, int, int]) -> tuple[Cell, dict[str, list[Score]]]:
    """All series of a cell, by every rule; asv's get every `FOR_ASV`th phone of the first seed."""
    (noise, step), count, seed = asked
    rules: dict[str, list[Score]] = {name: [] for name in ("ours", *map(asv_name, ASV_THRESHOLDS))}
    for at, phone in enumerate(phones(noise, step, max(1, count // A_PHONE), seed)):
        rules["ours"] += [ours(one) for one in phone]
        if at % FOR_ASV == 0 and seed == SEED:
            for threshold in ASV_THRESHOLDS:
                rules[asv_name(threshold)] += [asvs(one, threshold) for one in phone]
    return (noise, step), rules


def asv_name(threshold: float) -> str:
    """What a table calls asv's rule with a threshold."""
    return f"asv, {threshold:.0%}"


Told = dict[Cell, dict[str, list[Score]]]


def experiment(series: int, seed: int = SEED, spread: Callable[..., object] | None = None) -> Told:
    """Every cell of the table; `spread` is a map over processes."""
    cells = [((noise, step), series, seed) for noise in SIZES for step in (0.0, *SIZES)]
    told = map(judged, cells) if spread is None else spread(judged, cells)
    return dict(told)  # type: ignore[call-overload, no-any-return]


def all_of(told: Told) -> Total:
    """Our rule on every series."""
    return Total.of([one for rules in told.values() for one in rules["ours"]])


def quiet_of(told: Told) -> Total:
    """Our rule on the promised step, where the noise is as low as the promise has it."""
    cells = [rules for (noise, step), rules in told.items() if noise <= QUIET and step == PROMISED]
    return Total.of([one for rules in cells for one in rules["ours"]])


def table(told: Told, rule: str) -> str:
    """One rule's table: false alarms by noise, and what it found of each step."""
    lines = [f"{rule:9} false alarms   found within two nights, by the size of the step"]
    lines.append("noise     in 1,000    " + "".join(f"{size:>9.1%}" for size in SIZES))
    for noise in SIZES:
        every = Total.of([one for (had, _), rules in told.items() if had == noise for one in rules[rule]])
        found = [Total.of(told[noise, step][rule]).power for step in SIZES]
        lines.append(f"{noise:5.1%}     {every.a_thousand:8.2f}    " + "".join(f"{one:>9.0%}" for one in found))
    whole = Total.of([one for rules in told.values() for one in rules[rule]])
    part = f", {whole.false_slow} of them while the phone was slow" if whole.false else ""
    lines.append(f"all       {whole.a_thousand:8.2f}    ({whole.false} in {whole.nights:,} case-nights{part})")
    return "\n".join(lines)


def rows(told: Told, unseen: Told) -> list[Row]:
    """What is promised, and the tables; `unseen` are the series of a seed that nobody had looked at."""
    whole, quiet, other = all_of(told), quiet_of(told), quiet_of(unseen)
    count = sum(len(rules["ours"]) for rules in told.values())
    asks = 1000 * whole.asked / (90 * count)
    error = math.sqrt(quiet.power * (1 - quiet.power) / max(1, quiet.steps))
    beside = "\n".join(table(told, asv_name(one)) for one in ASV_THRESHOLDS)
    asv_count = sum(len(rules[asv_name(ASV_THRESHOLDS[0])]) for rules in told.values())
    return [
        Row(
            name="false alarms",
            goal=f"≤ {FALSE_A_THOUSAND:g} in 1,000 case-nights without a change",
            figure=f"{whole.a_thousand:.2f}",
            met=whole.a_thousand <= FALSE_A_THOUSAND,
            detail=f"{count:,} series × 90 nights; {asks:.0f} of 1,000 nights were asked again\n{table(told, 'ours')}\n"
            f"seed {UNSEEN}, unseen: {all_of(unseen).a_thousand:.2f}",
        ),
        Row(
            name="steps of 5 %",
            goal=f"≥ {FOUND:.0%} within two nights, where the noise is ≤ {QUIET:.0%}",
            figure=f"{quiet.power:.1%}",
            met=quiet.power >= FOUND,
            detail=f"{quiet.found} of {quiet.steps}; standard error {error:.1%}\n"
            f"seed {UNSEEN}, unseen: {other.power:.1%}\n"
            f"asv's published rule with its own threshold and with 1 %, on {asv_count} of the same series\n{beside}",
        ),
    ]


def run() -> list[Row]:
    """The rows of the experiment."""
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        series = int(os.environ.get("ORCH_SERIES", SERIES))
        return rows(experiment(series, spread=pool.map), experiment(series, UNSEEN, pool.map))
