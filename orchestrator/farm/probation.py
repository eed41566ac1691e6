"""Pure: a phone whose quarantine has expired proves itself before it is trusted: by a canary, where the run has one.

It stands between the loop and the state: events go through it. A phone on probation is up for the state only when its
canary measured. Without a canary it is given work as any other, and is released by the first process that measures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.farm.blocks import Canary
from orchestrator.farm.protocol import BlockEnded, Event, PhoneGone, PhoneUp, RunBlock, Work
from orchestrator.outcome import Failed, Measured
from orchestrator.plan.case import Purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the state is told instead of an event, what is to be run first, and what becomes of the phone: the one that
    is `released`, or that `failed` and `why`; empty: neither."""

    events: tuple[Event, ...] = ()
    proof: tuple[RunBlock, ...] = ()
    released: str = ""
    failed: str = ""
    why: str = ""


class Probation:
    """The phones of a run that have to prove themselves."""

    def __init__(self, canary: Canary | None = None, phones: Iterable[str] = ()) -> None:
        self._canary = canary
        self._unproven = set(phones)
        self._proving: set[str] = set()

    def see(self, event: Event) -> Judged:
        """Take an event on its way to the state."""
        phone = getattr(event, "phone", "")
        if phone not in self._unproven:
            return Judged(events=(event,))
        match event:
            case PhoneUp() if self._canary is not None and phone not in self._proving:
                self._proving.add(phone)
                return Judged(proof=(RunBlock(phone, (_work(self._canary),)),))
            case BlockEnded() if phone in self._proving:
                return self._judge(event)
            case BlockEnded(ended=ended) if any(isinstance(one.outcome, Measured) for one in ended):
                self._unproven.discard(phone)
                return Judged(events=(event,), released=phone)
            case PhoneGone():
                self._unproven.discard(phone)
        return Judged(events=(event,))

    def _judge(self, event: BlockEnded) -> Judged:
        self._unproven.discard(event.phone)
        self._proving.discard(event.phone)
        outcomes = [one.outcome for one in event.ended]
        if any(isinstance(one, Measured) for one in outcomes):
            return Judged(events=(PhoneUp(event.phone),), released=event.phone)
        failures = [event.failure, *(one for one in outcomes if isinstance(one, Failed))]
        said = next((one.message for one in failures if one is not None), "it started nothing")
        why = f"on probation its canary did not measure: {said}"
        return Judged(events=(PhoneGone(event.phone, why, for_good=True),), failed=event.phone, why=why)


def _work(canary: Canary) -> Work:
    return Work(case_id=canary.case_id, purpose=Purpose.CANARY, iterations=canary.iterations, round=1, position=0)
