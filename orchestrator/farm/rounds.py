"""Rounds that a run's searches ask for, between the loop and who knows them; nothing where nothing is searched for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from android_runner.deadline import Clock
from orchestrator.farm.lane import Lane
from orchestrator.farm.messages import NextRound
from orchestrator.farm.protocol import Planned, RoundAdded
from orchestrator.farm.watcher import Watcher
from orchestrator.outcome import Outcome
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import AttemptRecord

if TYPE_CHECKING:
    from orchestrator.farm.tuned import Tuner


class Rounds:
    """What the loop tells a run's `tuner`, and asks of it; None where nothing is searched for."""

    def __init__(self) -> None:
        self.tuner: Tuner | None = None

    def saw(self, records: Iterable[AttemptRecord]) -> None:
        """Tries have come in."""
        if self.tuner is not None:
            self.tuner.saw(records)

    def learn(self, trial: Planned, outcome: Outcome) -> None:
        """A trial has ended."""
        if self.tuner is not None:
            self.tuner.learn(trial, outcome)

    def refuse(self, variant_id: str) -> None:
        """A variant turned out to be out of tolerance. Safe from any thread."""
        if self.tuner is not None:
            self.tuner.bar(variant_id)

    def ask(self, lane: Lane, post: Callable[[NextRound], None]) -> None:
        """Have the next round found on the phone's own thread, which has nothing to do: models of all cells take a
        while."""
        if self.tuner is not None:
            ask = self.tuner.question(lane.kit.phone)
            lane.between(lambda: post(ask()))

    def add(
        self, found: NextRound, run_id: str, ledger: Ledger, watcher: Watcher, clock: Clock, *, wanted: bool
    ) -> RoundAdded:
        """Write a round down, unless its phone may not get any more, before that is told of it; the event for the
        state."""
        planned: tuple[Planned, ...] = ()
        if self.tuner is not None and wanted and found.trials:
            ledger.add_round(run_id, found.trials, clock.now())
            planned = self.tuner.take(found.trials)
            watcher.round_added(planned)
        return RoundAdded(found.phone, planned, found.rest_s)
