"""A lane's phone does not answer: the ladder is climbed, each rung is told to the loop, and it is back or given up."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from android_runner.deadline import Clock, Deadline
from android_runner.device import Device
from android_runner.errors import HostileAnswer, LinkError, LinkLost
from android_runner.following import DeviceSource
from android_runner.recovery.climb import Climb, Hands, Patience
from android_runner.recovery.ladder import quarantine_s
from android_runner.recovery.rungs import Allowed, Result, Rung, Seen, Step
from orchestrator.farm.messages import PutAside, Report, RungTried
from orchestrator.farm.protocol import PhoneGone

MAX_RETURNS = 20
"""So often a phone may be lost and found again over one block, before it is given up as one that never stays."""
BREATH_S = 0.5
AWAY_POLL_S = 1.0
"""How often a phone that was given up is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """What can be seen of one phone and done to it, what of that is allowed, and how long all takes. `stuck` tells the
    keeper of its adb server that it hangs, for as long as its block. `boot_id`: its boot when the run met it."""

    hands: Hands
    allowed: Allowed = field(default_factory=Allowed)
    patience: Patience = field(default_factory=Patience)
    stuck: Callable[[], AbstractContextManager[None]] = nullcontext
    boot_id: str = ""


def reach(source: DeviceSource, ladder: Ladder, clock: Clock) -> Device:
    """The phone, as one that answers. Raises LinkError, also for one that says pages to nothing: it is looked at again
    before its block is thrown away."""
    device = source()
    try:
        device.shell("true", deadline=Deadline.after(ladder.patience.answer_s, clock), max_output_bytes=4096)
    except HostileAnswer as error:
        raise LinkLost(str(error)) from error
    return device


def answers_again(ladder: Ladder, clock: Clock, ended: Callable[[], bool]) -> bool:
    """Wait for a phone that was given up, until `ended` says so; whether it answers again, as itself."""
    while not ended():
        if ladder.hands.look(Deadline.after(ladder.patience.look_s, clock)).seen is Seen.ANSWERS:
            return True
        clock.sleep(AWAY_POLL_S)
    return False


class Returns:
    """The returns of one phone over one block. `post` hands reports to the loop; `stop` ends a climb. `put_aside` when
    the phone went into quarantine: nothing more is to be expected of it in this run."""

    def __init__(
        self, phone: str, ladder: Ladder, clock: Clock, post: Callable[[Report], None], stop: Callable[[], bool]
    ) -> None:
        self._phone = phone
        self._ladder = ladder
        self._clock = clock
        self._post = post
        self._stop = stop
        self._count = 0
        self.put_aside = False

    def back_after(self, error: LinkError) -> bool:
        """Whether the phone answers again, after a link error; when it does not, the loop has been told why."""
        self._count += 1
        if self._count > MAX_RETURNS:
            words = f"its link broke {self._count} times over one block; last: {error}"
            self._tell(Step(seen=Seen.OFFLINE, rung=Rung.QUARANTINE, result=Result.ENDED, words=words, took_s=0.0))
            return self._give_up(Seen.OFFLINE, words, words)
        ladder = self._ladder
        with ladder.stuck():
            climb = Climb(
                ladder.hands, ladder.allowed, self._clock, self._tell, self._stop, ladder.patience, ladder.boot_id
            )
            ended = climb.run()
        if ended.back:
            self._clock.sleep(BREATH_S)
            return True
        if ended.stopped:
            self._post(PhoneGone(self._phone, str(error)))
            return False
        evidence = "; ".join(f"{step.rung}: {step.result}, {step.words}" for step in ended.steps)
        return self._give_up(ended.last.seen, ended.why(), evidence, aside=ended.steps[-1].rung is Rung.QUARANTINE)

    def _give_up(self, seen: Seen, why: str, evidence: str, *, aside: bool = True) -> bool:
        if aside:
            self.put_aside = True
            self._post(PutAside(self._phone, why, evidence, quarantine_s(seen)))
        self._post(PhoneGone(self._phone, why, for_good=aside))
        return False

    def _tell(self, step: Step) -> None:
        self._post(RungTried(self._phone, step))
