"""Pure: which cells a phone is to run in its next round, and when the best is known. One model on one phone.

A search begins with a fraction of all cells (`fraction`), in rounds of `FIRST_ROUND`, each in an order of the seed's.
Then a model of all cells (`surrogate`) is asked again before every round: which cells may be the best? Possible truths
are drawn from what it believes, and the best of each goes into the round (W. Thompson, Biometrika 25, 1933), beside
what leads. So rounds are a race: what can't win any more drops out by what all processes say, never by one of its own;
what may win gets round after round. The race is over when, in all but a share of 1 - `confidence` of the possible
truths, no cell is better than what leads by more than `within` (by variances that were estimated from all processes);
or when the budget is gone. The last word is that of variances
estimated from all processes, the last ones too.

Nothing is kept but the attempts. The same attempts, goal and seed give the same next round: a search that was cut goes
on as if it had not been.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from orchestrator.tuning.attempts import Attempt, How, out_of_question, rounds_of_cells
from orchestrator.tuning.fraction import fraction, fraction_size
from orchestrator.tuning.front import front_of, known_share, possible_fronts
from orchestrator.tuning.goal import FIRST_ROUND, Goal, Objective, check_goal
from orchestrator.tuning.prior import NO_PRIOR, Prior
from orchestrator.tuning.space import Space
from orchestrator.tuning.surrogate import Belief, Data, Floats, Surrogate, triangular_root

DRAWS = 1000
MOST_CANDIDATES = 600
"""Cells of which possible truths are drawn; the others are too far off."""
FEWEST, MOST = 4, 16
"""Cells of a round of the race."""
REFIT = 1.4
"""Variances are estimated again whenever there are so many times the processes."""
BASELINE_ROUNDS = 6
SPOILED_SHARE = 1 / 3
"""A round of which more than this was spoiled: the phone is left alone before the next."""
REST_S, LONGEST_REST_S = 30.0, 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Cells to run, each once, in this order, after the phone was left alone for so long. `number` counts from 1."""

    number: int
    cells: tuple[int, ...]
    rest_s: float = 0.0


class Why(StrEnum):
    """Why a search is over."""

    KNOWN = "the best is known"
    BUDGET = "the budget is gone"
    NOTHING = "no setting that may win could be measured"


@dataclass(frozen=True, slots=True)
class Ended:
    """There is no further round."""

    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a race stands: the cells in front (one where there is one objective), and how surely they are what is looked
    for; what each candidate is believed to be, in logarithms, by objective; `chances` to be the best (on the front), of
    the cells that have one."""

    front: tuple[int, ...]
    confidence: float
    beliefs: Mapping[Objective, Belief]
    chances: Mapping[int, float]


class Search:
    """The search on one phone for one model. Raises UsageError for a goal that can't be reached."""

    def __init__(self, space: Space, goal: Goal, prior: Prior = NO_PRIOR) -> None:
        check_goal(goal, len(space) - len(space.barred))
        self.space, self.goal, self.prior = space, goal, prior
        self._levels = np.array(space.cells, dtype=np.int64).reshape(len(space), len(space.axes))
        self._fits: dict[tuple[Objective, int], Floats] = {}

    def next_step(self, attempts: Sequence[Attempt]) -> Round | Ended:
        """What to run after all these attempts, of whole rounds; or why it is over."""
        number = max((one.round for one in attempts), default=0) + 1
        without = out_of_question(self.space, attempts)
        measured = rounds_of_cells(attempts)
        to_begin = fraction_size(self.space, self.prior.trust) - len(measured)
        chosen = fraction(self.space, to_begin, self.goal.seed, without, measured.keys() - without.keys())[:FIRST_ROUND]
        if not chosen:
            standing = self.standing(attempts)
            if standing is None:
                return Ended(Why.NOTHING)
            if self.is_known(standing, attempts):
                standing = self.standing(attempts, afresh=True) or standing
                if self.is_known(standing, attempts):
                    return Ended(Why.KNOWN)
            chosen = self._race(standing, number)
        chosen = self._with_baseline(chosen, measured, without)
        rest_s = rest_before_next(attempts)
        room = self._room(attempts, rest_s)
        if room < min(FEWEST, len(chosen)):
            return Ended(Why.BUDGET)
        chosen = chosen[:room]
        order = np.random.default_rng([self.goal.seed, number]).permutation(len(chosen))
        return Round(number=number, cells=tuple(chosen[at] for at in order), rest_s=rest_s)

    def is_known(self, standing: Standing, attempts: Sequence[Attempt]) -> bool:
        """Whether what is in front has rounds enough of its own, and is surely enough what is looked for."""
        counts = rounds_of_cells(attempts)
        proved = all(counts[cell] >= self.goal.least_rounds for cell in standing.front)
        return proved and standing.confidence >= self.goal.confidence

    def standing(self, attempts: Sequence[Attempt], *, afresh: bool = False) -> Standing | None:
        """How the race stands; None while nothing that may win was measured.

        Variances are those of the last time that they were estimated (`fitted_at`); `afresh`: of all that is known now.
        """
        without = out_of_question(self.space, attempts)
        counts = rounds_of_cells(attempts)
        beliefs = {}
        for objective in self.goal.objectives:
            data = data_of(attempts, objective)
            if set(data.cells.tolist()) <= without.keys():
                return None
            stage = max(one.round for one in attempts) if afresh else fitted_at(attempts)
            theta = self._fitted(attempts, objective, stage)
            most = MOST_CANDIDATES if len(self.goal.objectives) == 1 else len(self.space)
            beliefs[objective] = self._model(objective).believed(theta, data, most, sorted(without))
        cells = next(iter(beliefs.values())).cells.tolist()
        enough = np.array([counts[cell] >= self.goal.least_rounds for cell in cells])
        if not enough.any():
            enough = np.array([counts[cell] > 0 for cell in cells])
        if not enough.any():
            enough = np.ones(len(cells), dtype=np.bool_)
        front = front_of(np.stack([belief.mean for belief in beliefs.values()]), enough)
        draws = self._draws(beliefs, len(attempts))
        chances = Counter(cells[at] for one in possible_fronts(draws) for at in one)
        return Standing(
            front=tuple(cells[at] for at in front),
            confidence=known_share(draws, front, self.goal.margin),
            beliefs=beliefs,
            chances={cell: count / DRAWS for cell, count in sorted(chances.items())},
        )

    def _model(self, objective: Objective) -> Surrogate:
        return Surrogate(self._levels, self.prior.logs(objective, len(self.space)), self.prior.trust)

    def _fitted(self, attempts: Sequence[Attempt], objective: Objective, stage: int) -> Floats:
        """The variances by the end of a round: always the same, whatever came after it."""
        if (objective, stage) not in self._fits:
            by_then = data_of([one for one in attempts if one.round <= stage], objective)
            self._fits[objective, stage] = self._model(objective).fitted(by_then, self.goal.seed)
        return self._fits[objective, stage]

    def _draws(self, beliefs: Mapping[Objective, Belief], salt: int) -> Floats:
        """Possible truths: objectives × draws × candidates."""
        found = []
        for at, belief in enumerate(beliefs.values()):
            dice = np.random.default_rng([self.goal.seed, salt, at])
            found.append(
                belief.mean + dice.standard_normal((DRAWS, len(belief.mean))) @ triangular_root(belief.covariance).T
            )
        return np.stack(found)

    def _race(self, standing: Standing, number: int) -> list[int]:
        """What leads, and cells that are best in some possible truth, the likelier the more often it is so."""
        chosen = list(standing.front[:MOST])
        others = [cell for cell in standing.chances if cell not in chosen]
        dice = np.random.default_rng([self.goal.seed, number, 1])
        # a weighted draw without putting back (P. Efraimidis, P. Spirakis, Information Processing Letters 97, 2006)
        keys = {cell: dice.random() ** (1.0 / standing.chances[cell]) for cell in others}
        chosen += sorted(others, key=lambda cell: -keys[cell])[: MOST - len(chosen)]
        if len(chosen) < FEWEST:
            beliefs = list(standing.beliefs.values())
            nearest = np.argsort(np.stack([belief.mean for belief in beliefs]).min(axis=0))
            chosen += [cell for cell in beliefs[0].cells[nearest].tolist() if cell not in chosen][
                : FEWEST - len(chosen)
            ]
        return chosen

    def _with_baseline(self, chosen: list[int], measured: Counter[int], without: Mapping[int, str]) -> list[int]:
        base = self.space.baseline
        if base is None or base in without or base in chosen or measured[base] >= BASELINE_ROUNDS:
            return chosen
        return [base, *chosen]

    def _room(self, attempts: Sequence[Attempt], rest_s: float) -> int:
        """How many processes the budget still has room for."""
        spent_s = sum(one.took_s for one in attempts)
        each_s = spent_s / len(attempts) if attempts else self.goal.trial_s
        return int((self.goal.budget_s - spent_s - rest_s) / max(each_s, 1e-9))


def rest_before_next(attempts: Sequence[Attempt]) -> float:
    """Seconds: doubled by each spoiled round, halved by each that was not, none below `REST_S`."""
    by_round: dict[int, list[bool]] = {}
    for one in attempts:
        by_round.setdefault(one.round, []).append(one.how is How.SPOILED)
    rest_s = 0.0
    for number in sorted(by_round):
        if sum(by_round[number]) > SPOILED_SHARE * len(by_round[number]):
            rest_s = min(LONGEST_REST_S, max(REST_S, 2.0 * rest_s))
        else:
            rest_s = rest_s / 2.0 if rest_s > REST_S else 0.0
    return rest_s


def data_of(attempts: Sequence[Attempt], objective: Objective) -> Data:
    """What counts of them."""
    found = [(one.cell, one.at_s, log) for one in attempts if (log := one.log(objective)) is not None]
    cells, at_s, logs = zip(*found, strict=True) if found else ((), (), ())
    return Data(
        cells=np.array(cells, dtype=np.int64),
        at_s=np.array(at_s, dtype=np.float64),
        logs=np.array(logs, dtype=np.float64),
    )


def fitted_at(attempts: Sequence[Attempt]) -> int:
    """After which round variances are estimated: the last by whose end there were `REFIT` times as many valid processes
    as at the estimate before."""
    counts = Counter(one.round for one in attempts if one.how is How.MEASURED)
    total, last, stage = 0, 0.0, 0
    for number in sorted(counts):
        total += counts[number]
        if total >= REFIT * last:
            last, stage = total, number
    return stage
