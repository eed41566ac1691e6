"""A run's turns on a phone that several runs share: never both at once, none longer than its stretch while one waits.

A turn is given between two blocks, when the stretch is over and somebody waits for the phone. It comes back after those
who waited before; the phone is then held under a new epoch, above what the others left there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from android_runner.deadline import Clock, Deadline
from android_runner.errors import RunnerError
from android_runner.lease import held_epoch
from orchestrator.farm.lock import PhoneLock
from orchestrator.farm.messages import Report, TurnMissed, TurnTaken

if TYPE_CHECKING:
    from orchestrator.farm.lane import Lane

LEASE_S = 60.0


class Turn:
    """A run's claim on one phone. `stretch_s` None: it is kept to the run's end."""

    def __init__(self, lock: PhoneLock, run_id: str, stretch_s: float | None, clock: Clock) -> None:
        self.lock = lock
        self.run_id = run_id
        self.stretch_s = stretch_s
        self.clock = clock
        self._since_s = clock.monotonic_s()
        self._given = False
        self._blocks = 0

    def begins_block(self) -> bool:
        """Whether a block begins now under this turn. Its first one does, however long that took to come: a turn in
        which nothing is measured would only cost time."""
        if self.stretch_s is None:
            return True
        over = self._blocks > 0 and self.clock.monotonic_s() - self._since_s >= self.stretch_s
        if self._given or (over and self.lock.waiting() is not None):
            return False
        self._blocks += 1
        return True

    def idle(self) -> bool:
        """Whether somebody waits for a phone that the run has nothing for now."""
        return self.stretch_s is not None and not self._given and self.lock.waiting() is not None

    def next_one(self) -> str:
        """Who waits, for people; empty when nobody does."""
        holder = self.lock.waiting() or (self.lock.holder() if self._given else None)
        return holder.text() if holder is not None else ""

    def give(self, lane: Lane) -> None:
        """Let the next one have the phone, after what its lane was told before; it is not ours from now on."""
        self._given = True
        lane.between(self.lock.release)

    def pass_on(self, lane: Lane, stopped: Callable[[], bool]) -> Report:
        """Give the phone to who waits, wait for it, and say under which epoch it was last held."""
        self._given = True
        self.lock.release()
        if not self.lock.wait(self.run_id, stopped):
            return TurnMissed(lane.kit.phone)
        self._since_s, self._given, self._blocks = self.clock.monotonic_s(), False, 0
        lane.swept = False  # the other run may have died
        try:
            epoch = held_epoch(lane.kit.source(), deadline=Deadline.after(LEASE_S, self.clock))
        except RunnerError:
            epoch = 0  # the block will say what is wrong with the phone
        return TurnTaken(lane.kit.phone, epoch)
