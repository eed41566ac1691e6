"""The climb: look, do the next rung, wait for the phone, tell what came of it, until it answers or nothing is left.

What can be done is in other hands (`Hands`), so that this can be held against any world.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from android_runner.deadline import Clock, Deadline
from android_runner.errors import RunnerError
from android_runner.recovery.ladder import MENDS, next_rung
from android_runner.recovery.rungs import Allowed, Means, Result, Rung, Seen, Sighting, Step
from android_runner.recovery.usb import RungFailed


class Hands(Protocol):
    """What can be seen of one phone, and done to it, on this host."""

    def look(self, deadline: Deadline) -> Sighting:
        """What is to be seen now."""
        ...

    def means(self, seen: Seen) -> Means:
        """What this host could do now about a phone that is seen so."""
        ...

    def act(self, rung: Rung, deadline: Deadline) -> str:
        """Carry out one rung (not WAIT); what was done, in words. Raises RungFailed, RunnerError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Seconds: for things to settle before a phone is asked again, for it to come back, for one rung to be carried
    out, between two looks."""

    settle_s: float = 5.0
    return_s: float = 60.0
    act_s: float = 30.0
    look_s: float = 30.0
    pause_s: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Climbed:
    """How a climb ended: the phone answers, or what was seen last, with every rung that was tried."""

    last: Sighting
    steps: tuple[Step, ...]
    stopped: bool = False

    @property
    def back(self) -> bool:
        """Whether the phone answers, as itself."""
        return self.last.seen is Seen.ANSWERS

    @property
    def rebooted(self) -> bool:
        """Whether a reboot was among what was done to it."""
        return any(step.rung is Rung.REBOOT for step in self.steps)

    def why(self) -> str:
        """Why it is given up, and what a person can do, in one sentence."""
        tried = ", ".join(step.rung.value for step in self.steps if step.result is not Result.ENDED)
        words = f" ({self.last.words})" if self.last.words else ""
        return f"{self.last.seen}{words}; tried: {tried or 'nothing'}; {MENDS.get(self.last.seen, 'look after it')}"


@dataclass(slots=True)
class Climb:
    """One climb for one phone. `told` hears of each rung when it is over; `stop` ends the climb between two looks."""

    hands: Hands
    allowed: Allowed
    clock: Clock
    told: Callable[[Step], object]
    stop: Callable[[], bool]
    patience: Patience = field(default_factory=Patience)
    _steps: list[Step] = field(default_factory=list)

    def run(self) -> Climbed:
        """Climb until the phone answers, a person must act, or `stop` says so. Raises nothing of a phone's making."""
        now = self.hands.look(self._within(self.patience.look_s))
        while now.seen is not Seen.ANSWERS:
            if self.stop():
                return Climbed(last=now, steps=tuple(self._steps), stopped=True)
            tried = [step.rung for step in self._steps]
            rung = next_rung(now.seen, tried, self.allowed, self.hands.means(now.seen))
            if rung in (Rung.QUARANTINE, Rung.LEAVE):
                self._note(Step(seen=now.seen, rung=rung, result=Result.ENDED, words=now.words, took_s=0.0))
                break
            now = self._try(rung, now)
        return Climbed(last=now, steps=tuple(self._steps))

    def _try(self, rung: Rung, before: Sighting) -> Sighting:
        began_s = self.clock.monotonic_s()
        result, words, now = Result.IN_VAIN, before.words, before
        try:
            if rung is not Rung.WAIT:
                words = self.hands.act(rung, self._within(self.patience.act_s))
        except (RungFailed, RunnerError) as error:
            result, words = Result.FAILED, str(error)
        else:
            now = self._wait(rung)
            if now.seen is Seen.ANSWERS:
                result = Result.BACK
            elif now.words != before.words:
                words = f"{words}; then {now.seen}: {now.words}" if words else now.words
        took_s = self.clock.monotonic_s() - began_s
        self._note(Step(seen=before.seen, rung=rung, result=result, words=words, took_s=took_s))
        return now

    def _wait(self, rung: Rung) -> Sighting:
        """Look until the phone answers or its time is up; one that is seen booting gets the time for that."""
        self._sleep(self.patience.settle_s)
        began_s = self.clock.monotonic_s()
        booting = rung is Rung.REBOOT
        while True:
            now = self.hands.look(self._within(self.patience.look_s))
            booting |= now.seen is Seen.BOOTING
            limit_s = max(self.patience.return_s, self.allowed.boot_timeout_s if booting else 0.0)
            if now.seen is Seen.ANSWERS or self.stop() or self.clock.monotonic_s() - began_s >= limit_s:
                return now
            self._sleep(self.patience.pause_s)

    def _sleep(self, seconds_s: float) -> None:
        limit = Deadline.after(seconds_s, self.clock)
        while not limit.passed() and not self.stop():
            self.clock.sleep(min(self.patience.pause_s, limit.remaining_s()))

    def _within(self, seconds_s: float) -> Deadline:
        return Deadline.after(seconds_s, self.clock)

    def _note(self, step: Step) -> None:
        self._steps.append(step)
        self.told(step)
