"""False discoveries: matrices of 300 cases with known truth, judged as `orch compare` judges them.

In each matrix some cases differ by a known ratio, most don't; a case's processes vary by 0.5 to 5 %, log-uniform. What
is called faster or slower and is neither, or the other, is false. The promise is on the mean share of false ones over
all matrices. What no rank test assumes is tried as well: skewed rounds, two runs of different spread, a day that all
cases of a run share, and numbers of rounds that the rounds themselves decided. `ORCH_MATRICES` is how many matrices;
power takes a fifth of them for each number of rounds.
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator, default_rng

from benchmarks.row import Row
from orchestrator.measure.contrast import DELTA, Sides, Word, contrasts
from orchestrator.measure.discoveries import FALSE_RATE, rounds_to_tell
from orchestrator.measure.interval import FIRST_STAGE
from orchestrator.measure.stopping import rounds_needed

MATRICES = 2000
CASES = 300
DIFFERING = 0.2
LOG_RATIOS = tuple(math.log1p(share) for share in (0.03, 0.05, 0.1, 0.2))
SPREADS = (0.005, 0.05)
ROUNDS = (4, 6, 8, 10, 15, 20)
PRECISION, MOST = 0.02, 30
SURE = (Word.FASTER, Word.SLOWER)


@dataclass(frozen=True, slots=True)
class Kind:
    """How rounds come out: as a fixed number of them, paired or not, after which noise, or as many as decided."""

    name: str
    rounds: int = 8
    paired: bool = False
    noise: str = "normal"
    differing: float = DIFFERING
    adaptive: bool = False
    day: float = 0.0
    """Spread of what all cases of a phone's second run share, and no canary shows."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One matrix: shares are of what was claimed (false), of what differs (found, by ratio), and of all cases."""

    false: float
    any_false: bool
    found: tuple[tuple[int, int], ...]
    words: tuple[int, ...]
    wrong_same: tuple[int, int]


def noise(dice: Generator, kind: Kind, count: int, spread: float, side: int) -> np.ndarray:
    """Logarithms of rounds around their truth."""
    if kind.noise == "skewed":  # processes are delayed, never hastened: standardized logs of a gamma
        return (dice.gamma(2.0, size=count) - 2.0) / math.sqrt(2.0) * spread
    if kind.noise == "unequal":
        return dice.normal(0.0, spread * (3.0 if side else 1.0), count)
    return dice.normal(0.0, spread, count)


def sides_of(dice: Generator, kind: Kind, truth: float, spread: float) -> Sides:
    """The rounds of one case."""
    first = FIRST_STAGE if kind.adaptive else None
    if kind.paired:
        met = dice.normal(0.0, 0.1, kind.rounds)
        base = met + noise(dice, kind, kind.rounds, spread, 0)
        new = met + truth + noise(dice, kind, kind.rounds, spread, 1)
        return Sides(base=_seconds(base), new=_seconds(new), paired=True)
    logs = []
    for side in (0, 1):
        own = noise(dice, kind, MOST if kind.adaptive else kind.rounds, spread, side) + side * truth
        logs.append(own[: rounds_needed(list(own), PRECISION, cap=MOST)] if kind.adaptive else own)
    return Sides(base=_seconds(logs[0]), new=_seconds(logs[1]), first=first)


def _seconds(logs: np.ndarray) -> dict[int, float]:
    return {at: 0.01 * math.exp(value) for at, value in enumerate(logs, start=1)}


def one_matrix(kind: Kind, seed: int) -> Judged:
    """A matrix of cases, each with its own spread; what was said of them, against what is true."""
    dice = default_rng([seed, kind.rounds, sum(map(ord, kind.name))])
    truths = [
        float(dice.choice(LOG_RATIOS) * dice.choice((-1, 1))) if dice.random() < kind.differing else 0.0
        for _ in range(CASES)
    ]
    low, high = (math.log(one) for one in SPREADS)
    day = float(dice.normal(0.0, kind.day)) if kind.day else 0.0
    sides = [sides_of(dice, kind, truth + day, math.exp(dice.uniform(low, high))) for truth in truths]
    said = [one.word for one in contrasts(sides)]
    claims = [(word, truth) for word, truth in zip(said, truths, strict=True) if word in SURE]
    false = sum(truth == 0.0 or (word is Word.SLOWER) != (truth > 0.0) for word, truth in claims)
    found = [
        (
            sum(word in SURE for word, truth in zip(said, truths, strict=True) if abs(truth) == size),
            sum(abs(truth) == size for truth in truths),
        )
        for size in LOG_RATIOS
    ]
    far = [word for word, truth in zip(said, truths, strict=True) if abs(truth) > math.log1p(DELTA)]
    return Judged(
        false=false / max(1, len(claims)),
        any_false=false > 0,
        found=tuple(found),
        words=tuple(said.count(word) for word in Word),
        wrong_same=(far.count(Word.SAME), len(far)),
    )


def judged(kind: Kind, matrices: int, pool: ProcessPoolExecutor) -> list[Judged]:
    return list(pool.map(partial(one_matrix, kind), range(matrices), chunksize=max(1, matrices // 64)))


def false_row(kind: Kind, told: Sequence[Judged], *, promised: bool = True) -> Row:
    """The mean share of false discoveries; the bound adds what chance alone makes of it in one of 100 experiments."""
    shares = [one.false for one in told]
    mean, error = statistics.fmean(shares), statistics.stdev(shares) / math.sqrt(len(shares))
    met = mean <= FALSE_RATE + 2.326 * error if promised else True
    counts = [sum(one.words[at] for one in told) / len(told) for at in range(len(Word))]
    return Row(
        name=f"false {kind.name}",
        goal=f"mean share of false discoveries ≤ {FALSE_RATE:.0%}"
        if promised
        else "only said: an assumption is broken",
        figure=f"{mean:.2%}",
        met=met,
        detail=(
            f"{len(told)} matrices of {CASES} cases, {kind.differing:.0%} differ; standard error {error:.2%}; "
            f"some false one in {sum(one.any_false for one in told) / len(told):.0%} of matrices\n"
            + ", ".join(f"{word} {count:.0f}" for word, count in zip(Word, counts, strict=True))
            + f"; of cases that differ by more than ± {DELTA:.0%} {_part([one.wrong_same for one in told]):.2%} "
            "were called the same"
        ),
    )


def _part(pairs: Sequence[tuple[int, int]]) -> float:
    return sum(yes for yes, _ in pairs) / max(1, sum(count for _, count in pairs))


def power_row(told: dict[int, list[Judged]]) -> Row:
    """How much of what differs is found, by rounds."""
    lines = []
    for rounds, matrices in told.items():
        parts = [_part([one.found[at] for one in matrices]) for at in range(len(LOG_RATIOS))]
        said = ", ".join(f"{math.expm1(size):.0%}: {part:.0%}" for size, part in zip(LOG_RATIOS, parts, strict=True))
        short = statistics.fmean(one.words[list(Word).index(Word.INSUFFICIENT)] for one in matrices) / CASES
        lines.append(f"{rounds:2} rounds: {said}; insufficient data {short:.0%}")
    powers = {n: _part([one.found[2] for one in matrices]) for n, matrices in told.items()}
    return Row(
        name="power",
        goal=f"≥ 80 % of differences of 10 % with {rounds_to_tell(CASES)} rounds a run",
        figure=f"{powers[rounds_to_tell(CASES)]:.0%}",
        met=powers[rounds_to_tell(CASES)] >= 0.8,
        detail="found, of differences by their size, spreads 0.5 to 5 %, two runs\n" + "\n".join(lines),
    )


KINDS: tuple[tuple[Kind, bool], ...] = (
    (Kind("two runs"), True),
    (Kind("nothing differs", differing=0.0), True),
    (Kind("one run, paired", paired=True, rounds=12), True),
    (Kind("skewed", noise="skewed"), True),
    (Kind("stopped early", adaptive=True), True),
    (Kind("unequal spread", noise="unequal"), False),
    (Kind("another day", day=0.005), False),
)


def run() -> list[Row]:
    """The rows of the experiment."""
    matrices = int(os.environ.get("ORCH_MATRICES", MATRICES))
    rows: list[Row] = []
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        rows += [false_row(kind, judged(kind, matrices, pool), promised=promised) for kind, promised in KINDS]
        fewer = max(2, matrices // 5)
        rows.append(power_row({n: judged(Kind("power", rounds=n), fewer, pool) for n in ROUNDS}))
    return rows
