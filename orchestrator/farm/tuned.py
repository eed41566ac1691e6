"""Pure: what each phone of a run is asked next, where the best setting is searched for.

The searches are the core's (`orchestrator.tuning`), what they are told of the ledger's rows `orchestrator.store.hunts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.errors import UsageError
from orchestrator.farm.messages import NextRound
from orchestrator.farm.protocol import Planned
from orchestrator.outcome import Outcome
from orchestrator.plan.case import Purpose, Trial
from orchestrator.store.hunts import Asked, Hunt, how_of, times_of
from orchestrator.store.records import AttemptRecord, TrialRow
from orchestrator.tuning.search import Ended, Round

MAX_BARREN_ROUNDS = 3
"""Rounds in a row of which the lab spoiled everything, after which a search is not gone on with."""


@dataclass(slots=True)
class _Phone:
    """What was asked of a phone so far: its rounds with the trials of each, how those ended, and all tries."""

    asked: dict[int, list[str]] = field(default_factory=dict)
    ended: dict[Asked, Outcome] = field(default_factory=dict)
    records: list[AttemptRecord] = field(default_factory=list)
    trials: int = 0

    def plan(self, case_id: str, number: int) -> None:
        self.asked.setdefault(number, []).append(case_id)
        self.trials += 1


class Tuner:
    """All searches of a run, and what they were told. `planned` gives a trial as the state knows it."""

    def __init__(
        self,
        hunts: Iterable[Hunt],
        planned: Callable[[Trial], Planned],
        trials: Iterable[TrialRow] = (),
        records: Iterable[AttemptRecord] = (),
    ) -> None:
        """`trials` and `records` are those of an earlier process of the run."""
        self.planned = planned
        self._hunts: dict[str, list[Hunt]] = {}
        self._phones: dict[str, _Phone] = {}
        for hunt in hunts:
            self._hunts.setdefault(hunt.phone, []).append(hunt)
        for row in trials:
            self._phone(row.trial.phone).plan(row.trial.case_id, row.trial.round)
            if row.outcome is not None:
                self._phone(row.trial.phone).ended[row.trial.case_id, row.trial.round] = row.outcome
        self.saw(records)

    def _phone(self, phone: str) -> _Phone:
        return self._phones.setdefault(phone, _Phone())

    def saw(self, records: Iterable[AttemptRecord]) -> None:
        """Take tries in, of any purpose: they tell how long things took."""
        for one in records:
            self._phone(one.phone).records.append(one)

    def learn(self, trial: Planned, outcome: Outcome) -> None:
        """Take a trial's end in."""
        if trial.purpose is Purpose.TIME:
            self._phone(trial.phone).ended[trial.case_id, trial.round] = outcome

    def bar(self, variant_id: str) -> None:
        """A variant is out of tolerance; a model of which nothing else is left is not searched any more."""
        for phone, hunts in self._hunts.items():
            self._hunts[phone] = [hunt for hunt in hunts if _still(hunt, variant_id)]

    def question(self, phone: str) -> Callable[[], NextRound]:
        """What is to be asked of the phone's searches, with all that is known by now; answering takes a while, and may
        be done on any thread."""
        told = self._phone(phone)
        times = times_of(told.records)
        asked = [(hunt, hunt.attempts(told.ended, times)) for hunt in self._hunts.get(phone, ())]
        barren = self._is_barren(told)
        last, position = max(told.asked, default=0), told.trials

        def ask() -> NextRound:
            trials: list[Trial] = []
            rest_s, why = 0.0, {}
            for hunt, attempts in () if barren else asked:
                match hunt.search.next_step(attempts):
                    case Ended(reason):
                        why[hunt.model] = reason.value
                    case Round() as found:
                        rest_s = max(rest_s, found.rest_s)
                        ids = [hunt.case_ids[cell] for cell in found.cells]
                        trials += _trials(phone, ids, last + 1, position + len(trials))
            return NextRound(phone=phone, trials=tuple(trials), rest_s=rest_s, ended=why)

        return ask

    def take(self, trials: Sequence[Trial]) -> tuple[Planned, ...]:
        """A round that will be run."""
        for trial in trials:
            self._phone(trial.phone).plan(trial.case_id, trial.round)
        return tuple(map(self.planned, trials))

    def _is_barren(self, told: _Phone) -> bool:
        last = sorted(told.asked)[-MAX_BARREN_ROUNDS:]
        said = (told.ended.get((case_id, number)) for number in last for case_id in told.asked[number])
        return len(last) == MAX_BARREN_ROUNDS and all(one is None or how_of(one) is None for one in said)


def _still(hunt: Hunt, variant_id: str) -> bool:
    try:
        hunt.bar(variant_id)
    except UsageError:
        return False
    return True


def _trials(phone: str, case_ids: Sequence[str], number: int, position: int) -> list[Trial]:
    return [
        Trial(case_id=case_id, phone=phone, purpose=Purpose.TIME, round=number, position=position + at)
        for at, case_id in enumerate(case_ids)
    ]
