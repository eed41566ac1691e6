"""Time as a thing that is passed down: a clock, and a deadline that calls share.

No layer invents a timeout of its own; nobody sleeps except through a `Clock`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from android_runner.errors import DeadlinePassed


class Clock(Protocol):
    """What the program knows of time."""

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back."""
        ...

    def now(self) -> datetime:
        """The wall clock, aware, UTC."""
        ...

    def sleep(self, seconds_s: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's clock."""

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()

    def now(self) -> datetime:
        """The wall clock, aware, UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds_s: float) -> None:
        """Wait."""
        time.sleep(max(0.0, seconds_s))


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time by which a call must have ended; a child's is clipped by its parent's."""

    at_s: float
    clock: Clock

    @classmethod
    def after(cls, seconds_s: float, clock: Clock | None = None) -> Deadline:
        """The deadline `seconds_s` from now."""
        used = clock if clock is not None else SystemClock()
        return cls(used.monotonic_s() + seconds_s, used)

    def remaining_s(self) -> float:
        """Seconds left; 0.0 when passed."""
        return max(0.0, self.at_s - self.clock.monotonic_s())

    def passed(self) -> bool:
        """Whether no time is left."""
        return self.remaining_s() <= 0.0

    def clip(self, seconds_s: float) -> Deadline:
        """A deadline `seconds_s` from now, but never later than this one."""
        return Deadline(min(self.at_s, self.clock.monotonic_s() + seconds_s), self.clock)

    def check(self, what: str) -> None:
        """Raise `DeadlinePassed`, naming `what`, when no time is left."""
        if self.passed():
            raise DeadlinePassed(f"{what}: no answer within its deadline")
