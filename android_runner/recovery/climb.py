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
    """Seconds: for things to settle before a phone is asked again, for it to come back, the same after a new link only,
    for one rung to be carried out, for one look, between two looks. Before a climb: for one answer of a phone that is
    at work, and for it to answer again, where it is asked anyway."""

    settle_s: float = 5.0
    return_s: float = 60.0
    again_s: float = 20.0
    act_s: float = 30.0
    look_s: float = 30.0
    answer_s: float = 10.0
    lost_after_s: float = 15.0
    pause_s: float = 0.5

    @classmethod
    def of(cls, return_s: float, *, settle_s: float | None = None) -> Patience:
        """Patience for a phone that is waited for so long; what follows from that is in proportion."""
        usual = cls()
        settle_s = usual.settle_s if settle_s is None else settle_s
        return cls(
            settle_s=min(settle_s, return_s / 4),
            return_s=return_s,
            again_s=min(usual.again_s, return_s),
            look_s=max(2.0, min(usual.look_s, return_s)),
            answer_s=max(2.0, min(usual.answer_s, return_s)),
            lost_after_s=min(usual.lost_after_s, return_s),
        )

    @property
    def given_up_s(self) -> float:
        """After so long a phone that stays away is given up, where nothing but waiting and reconnecting is allowed."""
        return self.lost_after_s + self.return_s + self.again_s + 2 * self.settle_s

    def after(self, rung: Rung) -> float:
        """How long a phone is waited for after a rung: whole enumerations take longer than a new link."""
        return self.again_s if rung is Rung.RECONNECT else self.return_s


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
    """One climb for one phone. `told` hears of each rung when it is over; `stop` ends the climb between two looks.

    `boot_id`: the boot in which the phone was last seen, as far as that is known: one that was told to reboot and
    answers in the same boot is about to go down, and not back.
    """

    hands: Hands
    allowed: Allowed
    clock: Clock
    told: Callable[[Step], object]
    stop: Callable[[], bool]
    patience: Patience = field(default_factory=Patience)
    boot_id: str = ""
    _steps: list[Step] = field(default_factory=list)

    def run(self) -> Climbed:
        """Climb until the phone answers, a person must act, or `stop` says so. Raises nothing of a phone's making."""
        now = self._look()
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
        before = self.boot_id
        self._sleep(self.patience.settle_s)
        began_s = self.clock.monotonic_s()
        booting = rung is Rung.REBOOT
        while True:
            now = self._look()
            waited_s = self.clock.monotonic_s() - began_s
            booting |= now.seen is Seen.BOOTING
            limit_s = max(self.patience.after(rung), self.allowed.boot_timeout_s if booting else 0.0)
            staying = rung is Rung.REBOOT and before == now.boot_id != "" and waited_s < self.patience.return_s
            if (now.seen is Seen.ANSWERS and not staying) or self.stop() or waited_s >= limit_s:
                return now
            self._sleep(self.patience.pause_s)

    def _look(self) -> Sighting:
        now = self.hands.look(self._within(self.patience.look_s))
        self.boot_id = now.boot_id or self.boot_id
        return now

    def _sleep(self, seconds_s: float) -> None:
        limit = Deadline.after(seconds_s, self.clock)
        while not limit.passed() and not self.stop():
            self.clock.sleep(min(self.patience.pause_s, limit.remaining_s()))

    def _within(self, seconds_s: float) -> Deadline:
        return Deadline.after(seconds_s, self.clock)

    def _note(self, step: Step) -> None:
        self._steps.append(step)
        self.told(step)
