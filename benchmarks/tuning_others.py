"""What else could find the best setting with the same time of the same phone: random search, halving, Optuna's TPE.

Each gets the whole budget, and says one cell. Blocks, canaries, calibrations, the gate and rejection are those of ours.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.tuning_phone import BLOCK, TuningPhone
from benchmarks.tuning_truth import Pair
from orchestrator.tuning.attempts import Attempt, How
from orchestrator.tuning.goal import Objective
from orchestrator.tuning.search import rest_before_next

RANDOM_ROUNDS = 3


class Told:
    """What counts of a phone's processes, by cell."""

    def __init__(self, phone: TuningPhone, budget_s: float) -> None:
        self.phone, self.budget_s = phone, budget_s
        self.logs: dict[int, list[float]] = {}
        self.attempts: list[Attempt] = []
        self.failed: set[int] = set()

    def run(self, cells: Sequence[int]) -> bool:
        """Each cell once, in blocks, as long as the budget lasts; whether it lasted."""
        for start in range(0, len(cells), BLOCK):
            if self.phone.spent_s >= self.budget_s:
                return False
            number = self.attempts[-1].round + 1 if self.attempts else 1
            rest_s = rest_before_next(self.attempts[-10 * BLOCK :])
            self.learn(self.phone.run(cells[start : start + BLOCK], number, rest_s))
        return self.phone.spent_s < self.budget_s

    def learn(self, attempts: Sequence[Attempt]) -> None:
        self.attempts += attempts
        for one in attempts:
            if (log := one.log(Objective.P50)) is not None:
                self.logs.setdefault(one.cell, []).append(log)
            elif one.how is How.FAILED:
                self.failed.add(one.cell)

    def best(self) -> int | None:
        """The cell of the least median."""
        return min(self.logs, key=lambda cell: statistics.median(self.logs[cell]), default=None)

    def process_s(self, pair: Pair) -> float:
        """What a process will take, before one has run: nothing is waited for."""
        return nominal_s(pair, 1) / len(pair.cells)


def nominal_s(pair: Pair, rounds: int) -> float:
    """Seconds that so many rounds of every cell take on a phone that never waits, throttles or rejects."""
    from benchmarks.simulated_farm import BETWEEN_BLOCKS_S, CANARY_WORK_S, SNAPSHOTS_S, START_S  # noqa: PLC0415
    from benchmarks.tuning_phone import CALIBRATION_S, WORK_S  # noqa: PLC0415

    fails = int(pair.fails.sum())
    works = len(pair.cells) - fails
    each_s = START_S + SNAPSHOTS_S + WORK_S + (START_S + SNAPSHOTS_S + CANARY_WORK_S + BETWEEN_BLOCKS_S) / BLOCK
    return works * (rounds * each_s + START_S + CALIBRATION_S) + fails * (START_S + SNAPSHOTS_S)


def random_search(pair: Pair, phone: TuningPhone, budget_s: float, seed: int) -> int | None:
    """As many cells by chance as get three rounds each, interleaved; the least median."""
    told = Told(phone, budget_s)
    count = max(1, int(budget_s / told.process_s(pair) / RANDOM_ROUNDS))
    dice = np.random.default_rng([seed, 11])
    cells = dice.permutation(len(pair.cells))[:count].tolist()
    while told.run([int(cell) for cell in dice.permutation(cells) if cell not in told.failed]):
        pass
    return told.best()


def halving(pair: Pair, phone: TuningPhone, budget_s: float, seed: int) -> int | None:
    """Successive halving (K. Jamieson, A. Talwalkar, 2016): rungs of equal cost, the better half goes on; interleaved.

    It begins with as many cells by chance as the budget lets, each rung has twice the processes a cell of the last.
    """
    told = Told(phone, budget_s)
    processes = budget_s / told.process_s(pair)
    count = min(len(pair.cells), _to_begin(processes))
    dice = np.random.default_rng([seed, 12])
    alive = [int(cell) for cell in dice.permutation(len(pair.cells))[:count]]
    each = 1
    while told.run([int(cell) for _ in range(each) for cell in dice.permutation(alive)]) and alive:
        alive = sorted(
            (cell for cell in alive if cell in told.logs), key=lambda cell: statistics.median(told.logs[cell])
        )
        alive = alive[: max(1, math.ceil(len(alive) / 2))]
        each = min(2 * each, BLOCK)
    ahead = {cell: told.logs[cell] for cell in alive if cell in told.logs}
    return min(ahead, key=lambda cell: statistics.median(ahead[cell]), default=told.best())


def _to_begin(processes: float) -> int:
    """The most cells n with n × (log2 n + 1) processes: rungs of n, n, …, the last with one cell."""
    count = 2
    while (count + 1) * (math.log2(count + 1) + 1) <= processes:
        count += 1
    return count


def tpe(pair: Pair, phone: TuningPhone, budget_s: float, seed: int) -> int | None:
    """Optuna's TPE, one process after another; the best of its trials, which is what `study.best_trial` gives.

    A combination that is no cell is the cell that it would be merged into, else pruned at no cost. The median over a
    cell's processes decides, which can only help it. Raises ImportError where Optuna is not there.
    """
    import optuna  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - only this experiment needs it

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    places = {tuple(row): at for at, row in enumerate(pair.cells.tolist())}
    told, number = Told(phone, budget_s), 0
    while phone.spent_s < budget_s and number < 20 * len(places):
        number += 1
        trial = study.ask()
        words = {name: trial.suggest_categorical(name, list(levels)) for name, levels in pair.axes.items()}
        cell = places.get(tuple(pair.axes[name].index(word) for name, word in _merged(words).items()))
        if cell is None or cell in told.failed:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            continue
        if told.attempts and told.attempts[-1].how is How.SPOILED:
            phone.phone.rest(30.0)
            phone.spent_s += 30.0
        attempt = phone.one(cell, number)
        told.learn([attempt])
        log = attempt.log(Objective.P50)
        study.tell(trial, log, state=None if log is not None else optuna.trial.TrialState.PRUNED)
    return told.best()


def _merged(words: dict[str, str]) -> dict[str, str]:
    spins = words["threads"] != "1" and words["ep"] != "xnnpack"
    return {**words, "spinning": "on"} if "spinning" in words and not spins else words


Way = Callable[[Pair, TuningPhone, float, int], "int | None"]
OTHERS: dict[str, Way] = {"random search": random_search, "halving": halving, "TPE": tpe}
