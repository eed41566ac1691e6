"""Turns at the cable: how many phones take files at once below one USB hub, and on this host.

A hub shares one bus, some 35 MB/s at high speed; phones that push together only make each other wait, and time out.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from android_runner.deadline import Clock, SystemClock

LENT_S = 60.0
"""A turn that is kept for longer is over: a phone that hangs must not keep its siblings waiting. The slowest USB
(12 Mbit/s) carries a group of files (64 MB) in about that time."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A phone below `hub` ("": none known) pushes since `since_s`."""

    hub: str
    since_s: float


@dataclass(slots=True)
class Lending:
    """Pure: who has a turn, and whether another may have one."""

    per_hub: int
    per_host: int
    lent: list[Turn] = field(default_factory=list)

    def lend(self, hub: str, now_s: float) -> Turn | None:
        """A turn for a phone below this hub; None while there is none."""
        running = [turn for turn in self.lent if now_s - turn.since_s < LENT_S]
        beside = sum(turn.hub == hub for turn in running) if hub else 0
        if len(running) >= self.per_host or beside >= self.per_hub:
            return None
        turn = Turn(hub, now_s)
        self.lent.append(turn)
        return turn

    def give_back(self, turn: Turn) -> None:
        """The files are there, or will never be."""
        self.lent[:] = [one for one in self.lent if one is not turn]

    def wait_s(self, now_s: float) -> float:
        """When to ask again at the latest, if nobody gives a turn back: in so many seconds."""
        ends = [turn.since_s + LENT_S - now_s for turn in self.lent]
        return min((end for end in ends if end > 0), default=0.0)


class PushTurns:
    """`Lending` for threads."""

    def __init__(self, per_hub: int, per_host: int, clock: Clock | None = None) -> None:
        self._lending = Lending(per_hub, per_host)
        self._clock = clock if clock is not None else SystemClock()
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, hub: str) -> Iterator[None]:
        """Wait for a turn below this hub, and have it inside the block."""
        with self._changed:
            while (turn := self._lending.lend(hub, self._clock.monotonic_s())) is None:
                self._changed.wait(self._lending.wait_s(self._clock.monotonic_s()) + 0.01)
        try:
            yield
        finally:
            with self._changed:
                self._lending.give_back(turn)
                self._changed.notify_all()
