"""Tuning against known truth: is the best of hundreds of settings found, and what does it cost?

Each of many (phone, model) pairs (`tuning_truth`: at least 400 cells, with interactions) is tuned on a simulated phone
of the scenario `drift`, which throttles, and whose processes vary by 0.5 to 5 %. The exhaustive way, every cell in six
valid rounds, is carried out on the same phone from cold, by the same blocks, gate, rests and rejection; tuning may use
15 % of what it takes. Other ways get those 15 % whole, from cold, on the same phone. `ORCH_PAIRS` is how many pairs;
`ORCH_OPTUNA` a folder that has Optuna, for whoever doesn't want it installed.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.row import Row
from benchmarks.tuning_others import OTHERS, Told, nominal_s
from benchmarks.tuning_phone import TuningPhone, regret
from benchmarks.tuning_truth import Pair, draw_pair
from orchestrator.tuning.answer import Tuned, tuned
from orchestrator.tuning.attempts import Attempt
from orchestrator.tuning.goal import Goal
from orchestrator.tuning.search import Round, Search
from orchestrator.tuning.space import Space, space_of

PAIRS = 200
SHARE = 0.15
WITHIN = 0.02
ROUNDS = 6
FOUND = 0.95


@dataclass(frozen=True, slots=True)
class Seen:
    """One pair: by way the share by which its choice is slower than the true best; what ours and all cells cost."""

    kind: str
    cv: float
    regrets: dict[str, float]
    answer: Tuned
    exhaustive_s: float
    nominal_s: float

    @property
    def share(self) -> float:
        """Our part of the device time of all cells."""
        return self.answer.spent_s / self.exhaustive_s


def space_of_pair(pair: Pair) -> Space:
    """A pair as the search sees it."""
    words = [
        {name: levels[at] for (name, levels), at in zip(pair.axes.items(), row, strict=True)}
        for row in pair.cells.tolist()
    ]
    return space_of([" ".join(said.values()) for said in words], words)


def tune(pair: Pair, phone: TuningPhone, budget_s: float, seed: int) -> tuple[Tuned, list[Attempt]]:
    """Ours, to its end."""
    goal = Goal(budget_s=budget_s, trial_s=nominal_s(pair, 1) / len(pair.cells), within=WITHIN, seed=seed)
    search = Search(space_of_pair(pair), goal)
    attempts: list[Attempt] = []
    while isinstance(step := search.next_step(attempts), Round):
        attempts += phone.run(step.cells, step.number, step.rest_s)
    return tuned(search, attempts), attempts


def exhaustive(pair: Pair, phone: TuningPhone, seed: int) -> int | None:
    """Every cell until it has six valid rounds, interleaved; the least median."""
    told = Told(phone, math.inf)
    dice = np.random.default_rng([seed, 13])
    while left := [
        cell for cell in range(len(pair.cells)) if cell not in told.failed and len(told.logs.get(cell, ())) < ROUNDS
    ]:
        told.run([int(cell) for cell in dice.permutation(left)])
    return told.best()


def one_pair(number: int, others: Sequence[str] = tuple(OTHERS), name: str = "pair") -> Seen:
    """One pair, tuned in every way, each from cold."""
    seed = f"{name}/{number}"
    pair = draw_pair(seed)
    whole = TuningPhone(pair, seed)
    regrets = {"exhaustive": regret(pair, exhaustive(pair, whole, number))}
    budget_s = SHARE * whole.spent_s
    answer, _ = tune(pair, TuningPhone(pair, seed), budget_s, number)
    regrets["ours"] = regret(pair, answer.winner.cell if answer.winner is not None else None)
    for way in others:
        regrets[way] = regret(pair, OTHERS[way](pair, TuningPhone(pair, seed), budget_s, number))
    cv = whole.phone.nature.noise.process_cv
    return Seen(pair.kind, cv, regrets, answer, whole.spent_s, nominal_s(pair, ROUNDS))


def found_share(seen: Sequence[Seen], way: str) -> float:
    """How often a way's choice is within what was asked of the true best."""
    return sum(one.regrets[way] <= WITHIN for one in seen) / len(seen)


def _slower(seen: Sequence[Seen], way: str) -> str:
    values = sorted(one.regrets[way] for one in seen)
    return f"{statistics.median(values):.1%} / {values[math.ceil(0.95 * len(values)) - 1]:.1%}"


def table(seen: Sequence[Seen], ways: Sequence[str]) -> str:
    """A line for each way: how often within 2 %, how far off in the median and in the 95th of 100."""
    lines = ["within 2 % of the true best; slower than it by (median / 95th of 100):"]
    lines += [f"  {way:13} {found_share(seen, way):6.1%}   {_slower(seen, way)}" for way in ways]
    return "\n".join(lines)


def rows_of(seen: Sequence[Seen], ways: Sequence[str]) -> list[Row]:
    """The rows of the experiment."""
    shares = [one.share for one in seen]
    nominal = [one.answer.spent_s / one.nominal_s for one in seen]
    found = found_share(seen, "ours")
    known = [one for one in seen if one.answer.known]
    right = sum(one.regrets["ours"] <= WITHIN for one in known)
    kinds = sorted({one.kind for one in seen})
    noisy = [one for one in seen if one.cv > 0.02]
    cost = f"{statistics.fmean(shares):.1%} on average, {max(shares):.1%} at most"
    return [
        Row(
            name="tuning",
            goal=f"ends within 2 % of the true best in ≥ {FOUND:.0%} of the pairs",
            figure=f"{found:.1%} of {len(seen)}",
            met=found >= FOUND,
            detail=table(seen, ["ours", *ways, "exhaustive"])
            + "\nours by what is tuned: "
            + ", ".join(
                f"{kind} {found_share([one for one in seen if one.kind == kind], 'ours'):.1%}" for kind in kinds
            )
            + (f"; where processes vary by more than 2 % {found_share(noisy, 'ours'):.1%}" if noisy else "")
            + f"\nsays that it knows in {len(known)} pairs, and is right in {right} of them",
        ),
        Row(
            name="tuning, cost",
            goal=f"≤ {SHARE:.0%} of the device time of every cell × {ROUNDS} rounds, in every pair",
            figure=cost,
            met=max(shares) <= SHARE,
            detail=(
                f"{statistics.fmean(one.answer.processes for one in seen):.0f} processes of "
                f"{statistics.fmean(one.answer.tried for one in seen):.0f} cells; against every cell on a phone that "
                f"never throttles {statistics.fmean(nominal):.1%} on average, {max(nominal):.1%} at most; exhaustive: "
                f"{statistics.fmean(one.exhaustive_s for one in seen) / 60:.0f} min a pair, ours "
                f"{statistics.fmean(one.answer.spent_s for one in seen) / 60:.1f}"
            ),
        ),
    ]


def run() -> list[Row]:
    """The rows of the speed table."""
    if folder := os.environ.get("ORCH_OPTUNA"):
        sys.path.append(folder)
    ways = list(OTHERS)
    try:
        import optuna  # type: ignore[import-not-found,unused-ignore]  # noqa: F401, PLC0415 - may be absent
    except ImportError:
        ways.remove("TPE")
        print("Optuna is not here: no TPE (pip install --target DIR optuna; ORCH_OPTUNA=DIR)")
    count = int(os.environ.get("ORCH_PAIRS", PAIRS))
    return rows_of([one_pair(number, ways) for number in range(count)], ways)
