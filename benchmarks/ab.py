"""`orch ab`'s stopping rule with known truth: how often it errs, how often its interval covers, what it saves.

Each comparison draws its phone's noise (the CV of a process's p50, log-uniform between 0.5 and 5 %) and gives pairs of
rounds to the very rule that the scheduler uses (`orchestrator.measure.sequential`), until it stops. Beside it stand
as many pairs as are allowed, looked at once, and the habit of looking at a 95 % interval after every pair.
`ORCH_COMPARISONS` is how many there are at each truth.
"""

from __future__ import annotations

import math
import os
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.row import Row
from orchestrator.measure.interval import CONFIDENCE, MIN_ROUNDS
from orchestrator.measure.sequential import ALPHA, Decision, Finding, Looks, finding_of, interval_at

COMPARISONS = 4000
DELTA = 0.02
CAPS = (30, 100)
CVS = (0.005, 0.05)
TRUTHS = (0.0, 0.5, 1.0, 2.0)
"""B's advantage, in parts of δ."""
HEAVY = "heavy tails: one process in ten has five times the noise"

Noise = Callable[[random.Random], float]


@dataclass(frozen=True, slots=True)
class Told:
    """What was said of one comparison: by the rule, by all pairs looked at once, and by looking after every pair
    (None: not played)."""

    truth: float
    rule: Decision
    fixed: Finding
    naive: Finding | None


def normal(dice: random.Random) -> float:
    """A process's deviation, in parts of its spread."""
    return dice.gauss(0.0, 1.0)


def heavy(dice: random.Random) -> float:
    """The same where one process in ten has five times the noise."""
    return dice.gauss(0.0, 5.0 if dice.random() < 0.1 else 1.0)


def compare(seed: str, truth: float, looks: Looks, noise: Noise = normal, *, naive: bool = False) -> Told:
    """Play one comparison; `truth` is the mean logarithm of A over B."""
    dice = random.Random(seed)
    cv = math.exp(dice.uniform(*(math.log(one) for one in CVS)))
    logs = [truth + cv * (noise(dice) - noise(dice)) for _ in range(looks.cap)]
    rule = Decision(finding=Finding.UNDECIDED, interval=None, resolved=False)
    for number in looks.at:
        rule = looks.decide(logs[:number])
        if rule.resolved:
            break
    fixed = finding_of(interval_at(logs, ALPHA), looks.delta)
    return Told(truth, rule, fixed, _after_every_pair(logs, looks) if naive else None)


def _after_every_pair(logs: Sequence[float], looks: Looks) -> Finding:
    """What a person says who looks after every pair and stops when the interval lets go of 0."""
    for number in range(MIN_ROUNDS, len(logs) + 1):
        found = interval_at(logs[:number], ALPHA)
        if found.low > 0 or found.high < 0:
            return Finding.FASTER if found.low > 0 else Finding.SLOWER
    return Finding.UNDECIDED


def is_wrong(told: Told, finding: Finding) -> bool:
    """Whether a word is false: a direction that is not there, or `same` beyond ± δ."""
    if finding is Finding.SAME:
        return abs(told.truth) > math.log1p(DELTA) + 1e-12
    return (finding is Finding.FASTER and told.truth <= 0) or (finding is Finding.SLOWER and told.truth >= 0)


def covers(told: Told) -> bool:
    """Whether the interval that was reported at the end holds the truth."""
    found = told.rule.interval
    return found is not None and found.low <= told.truth <= found.high


def leg(cap: int, comparisons: int, noise: Noise = normal) -> dict[float, list[Told]]:
    """All comparisons with at most `cap` pairs, by truth in parts of δ."""
    looks = Looks(DELTA, cap)
    return {
        part: [
            compare(f"{cap}/{part}/{seed}", part * math.log1p(DELTA), looks, noise, naive=part == 0.0 and cap == 30)
            for seed in range(comparisons)
        ]
        for part in TRUTHS
    }


def most(share: float, count: int) -> float:
    """What a true share comes out as at most, in 99 of 100 experiments of this size."""
    return share + 2.33 * math.sqrt(share * (1 - share) / count)


def rows_of(cap: int, found: dict[float, list[Told]], beside: dict[float, list[Told]]) -> list[Row]:
    """Error, coverage and thrift of one limit on the pairs."""
    count = len(found[0.0])
    wrong = {part: _share(told, lambda one: is_wrong(one, one.rule.finding)) for part, told in found.items()}
    coverage = {part: _share(told, covers) for part, told in found.items()}
    used = {part: statistics.fmean(one.rule.interval.n for one in told if one.rule.interval) for part, told in
            found.items()}  # fmt: skip
    words = {part: _words(told) for part, told in found.items()}
    naive = [one for one in found[0.0] if one.naive is not None]
    more = f"; looking after every pair says a difference in {_share(naive, _naive_errs):.1%}" if naive else ""
    name = f"≤ {cap} pairs"
    saved = 1.0 - statistics.fmean(used.values()) / cap
    return [
        Row(
            name=f"{name}: errors",
            goal=f"≤ 5 % false words at each truth (99 % bound for {count}: {most(ALPHA, count):.2%})",
            figure=f"{max(wrong.values()):.2%} at worst",
            met=max(wrong.values()) <= most(ALPHA, count),
            detail=_by_truth(wrong) + more,
        ),
        Row(
            name=f"{name}: coverage",
            goal=f"≥ 95 % of the intervals reported hold the truth (99 % bound: {1 - most(ALPHA, count):.2%})",
            figure=f"{min(coverage.values()):.2%} at least",
            met=min(coverage.values()) >= 1 - most(1 - CONFIDENCE, count),
            detail=_by_truth(coverage) + "\n"
            + f"{HEAVY}: " + _by_truth({part: _share(told, covers) for part, told in beside.items()}),
        ),
        Row(
            name=f"{name}: thrift",
            goal="pairs saved beside all of them",
            figure=f"{saved:.0%}",
            met=saved > 0,
            detail="\n".join(f"truth {part:g} δ: {used[part]:.1f} pairs; {words[part]}" for part in found),
        ),
    ]  # fmt: skip


def _words(told: Sequence[Told]) -> str:
    """How often each word was said, in brackets by all pairs looked at once."""
    return ", ".join(
        f"{word.value} {_share(told, lambda one, word=word: one.rule.finding is word):.0%} "  # type: ignore[misc]
        f"({_share(told, lambda one, word=word: one.fixed is word):.0%})"  # type: ignore[misc]
        for word in Finding
    )


def _naive_errs(told: Told) -> bool:
    return told.naive in (Finding.FASTER, Finding.SLOWER)


def _share(told: Sequence[Told], of: Callable[[Told], bool]) -> float:
    return sum(map(of, told)) / len(told)


def _by_truth(shares: dict[float, float]) -> str:
    return ", ".join(f"truth {part:g} δ {share:.2%}" for part, share in shares.items())


def run() -> list[Row]:
    """The rows: δ = 2 %, at most 30 and at most 100 pairs."""
    comparisons = int(os.environ.get("ORCH_COMPARISONS", COMPARISONS))
    rows = []
    for cap in CAPS:
        rows += rows_of(cap, leg(cap, comparisons), leg(cap, comparisons, heavy))
    return rows
