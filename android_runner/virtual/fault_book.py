"""Pure: which faults of a phone's schedule begin, hold and end, given the time and the operations that come.

The phone tells of every operation and of the passing of time; the book says what has begun and what is over.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from android_runner.virtual.fault_kinds import CATALOGUE, FaultKind, plan_of
from android_runner.virtual.fault_schedule import Fault, PutInPlace, RandomFaults
from android_runner.virtual.fault_steps import Medium, Step
from android_runner.virtual.faults import NO_FAULTS, FaultPlan

_PROMPT_S = 5.0
"""Within this time after a schedule was put in place, its phone has taken it up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """A fault that has begun. `entry` says which of the schedule; times in seconds since that was put in place."""

    entry: str
    kind: FaultKind
    step: Step | None
    begun_s: float
    until_s: float
    after_bytes: int | None

    @property
    def lasts(self) -> bool:
        """Whether it holds for a time, not for one operation."""
        return self.until_s > self.begun_s

    @property
    def plan(self) -> FaultPlan:
        """What the phone does wrong meanwhile."""
        return plan_of(self.kind, self.after_bytes)


@dataclass(slots=True)
class _Entry:
    """A fault of the schedule, and how far it has come."""

    name: str
    fault: Fault
    happened: int = 0
    skipped: int = 0
    before: _Entry | None = None

    def armed(self, now_s: float) -> bool:
        if self.happened >= self.fault.times or now_s < self.fault.at_s:
            return False
        return self.before is None or self.before.happened > 0


@dataclass(slots=True)
class _Drawn:
    """The faults of one `[[random]]`: the one that is due next, and the rest."""

    name: str
    rest: Iterator[Fault]
    next: Fault | None = None
    count: int = 0

    def advance(self) -> None:
        self.next = next(self.rest, None)
        self.count += 1


@dataclass(slots=True)
class FaultBook:
    """One phone's schedule while it is lived. `now_s` counts from when the schedule was put in place."""

    placed: PutInPlace
    serialno: str
    active: list[Happening] = field(default_factory=list)
    _entries: list[_Entry] = field(default_factory=list)
    _drawn: list[_Drawn] = field(default_factory=list)

    def begin(self, now_s: float, happened: Mapping[str, int] | None = None) -> None:
        """Take the schedule up at `now_s`, which is later than 0 when the phone's process is not the first one.

        `happened` counts by entry what has begun before; what has no step and was over by then is let go by.
        """
        late_s = now_s - _PROMPT_S
        before: _Entry | None = None
        for index, fault in enumerate(self.placed.schedule.fault):
            entry = _Entry(f"fault.{index}", fault, before=before if fault.follows else None)
            entry.happened = (happened or {}).get(entry.name, 0)
            if fault.step is None and not fault.follows and fault.at_s + fault.lasts_s < late_s:
                entry.happened = fault.times
            self._entries.append(entry)
            before = entry
        for index, one in enumerate(self.placed.schedule.random):
            drawn = _Drawn(f"random.{index}", one.drawn(self._seed_of(index, one)))
            drawn.advance()
            while drawn.next is not None and drawn.next.at_s + drawn.next.lasts_s < late_s:
                drawn.advance()
            self._drawn.append(drawn)

    def pass_time(self, now_s: float) -> tuple[list[Happening], list[Happening]]:
        """What has begun because its time has come, and what is over."""
        over = [one for one in self.active if one.lasts and one.until_s <= now_s]
        self.active = [one for one in self.active if one not in over]
        begun = []
        for entry in self._entries:
            if entry.fault.step is None and entry.armed(now_s):
                entry.happened += 1
                begun.append(self._begun(entry.name, entry.fault, now_s))
        for drawn in self._drawn:
            self._let_go_by(drawn, now_s)
            if drawn.next is not None and drawn.next.step is None and drawn.next.at_s <= now_s:
                begun.append(self._begun(f"{drawn.name}.{drawn.count}", drawn.next, now_s))
                drawn.advance()
        return begun, over

    def operation(
        self,
        steps: Collection[Step],
        now_s: float,
        medium: Medium | None = None,
        leave_out: Collection[FaultKind] = (),
    ) -> list[Happening]:
        """What begins because an operation begins that is of these steps, carried by `medium` (None: by any).

        What `follows` a fault comes with a later operation than that one.
        """
        begun = []
        met = [one for one in self._entries if self._meets(one.fault, steps, medium) and one.armed(now_s)]
        for entry in (one for one in met if one.fault.kind not in leave_out):
            if entry.skipped < entry.fault.skip:
                entry.skipped += 1
                continue
            entry.happened += 1
            begun.append(self._begun(entry.name, entry.fault, now_s))
        for drawn in self._drawn:
            due = drawn.next is not None and drawn.next.at_s <= now_s and drawn.next.kind not in leave_out
            if due and drawn.next is not None and self._meets(drawn.next, steps, medium):
                begun.append(self._begun(f"{drawn.name}.{drawn.count}", drawn.next, now_s))
                drawn.advance()
        return begun

    def _meets(self, fault: Fault, steps: Collection[Step], medium: Medium | None) -> bool:
        return fault.step in steps and (medium is None or medium in CATALOGUE[fault.kind].media)

    def waits_for(self, step: Step, now_s: float) -> list[FaultKind]:
        """The kinds that the next operation of this step brings on."""
        kinds = [entry.fault.kind for entry in self._entries if entry.fault.step is step and entry.armed(now_s)]
        drawn = [one.next for one in self._drawn if one.next is not None]
        return kinds + [one.kind for one in drawn if one.step is step and one.at_s <= now_s]

    def plan(self, base: FaultPlan, now: Collection[Happening] = ()) -> FaultPlan:
        """What the phone does wrong: `base`, over that what holds, over that what has begun with this operation."""
        for one in itertools.chain(self.active, (one for one in now if not one.lasts)):
            if one.plan != NO_FAULTS:
                base = one.plan.over(base)
        return base

    def _begun(self, name: str, fault: Fault, now_s: float) -> Happening:
        happening = Happening(
            entry=name,
            kind=fault.kind,
            step=fault.step,
            begun_s=now_s,
            until_s=now_s + fault.lasts_s,
            after_bytes=fault.after_bytes,
        )
        if happening.lasts:
            self.active.append(happening)
        return happening

    def _let_go_by(self, drawn: _Drawn, now_s: float) -> None:
        """A fault whose step did not come while it would have lasted makes room for the next."""
        while drawn.next is not None and drawn.next.step is not None and drawn.next.at_s + drawn.next.lasts_s < now_s:
            drawn.advance()

    def _seed_of(self, index: int, one: RandomFaults) -> str:
        return f"{self.placed.seed}/{index}/{'' if one.together else self.serialno}"


def as_line(happening: Happening) -> dict[str, object]:
    """A happening's fields by name, for the phone's log."""
    return dataclasses.asdict(happening)
