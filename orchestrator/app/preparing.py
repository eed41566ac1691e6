"""Preparing a run's phones before its first trial, and putting them back: at its end, or by `orch devices restore`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

from android_runner.deadline import Clock, Deadline
from android_runner.device import Device
from android_runner.errors import LinkError, RunnerError
from android_runner.preparing.carry_out import Prepared, Restored, prepare, restore
from android_runner.preparing.steps import Standing, StepName
from android_runner.preparing.undo import UndoList
from orchestrator.app.hosts import plugged_in
from orchestrator.app.phones import Phone, virtual_phones
from orchestrator.app.site import Site
from orchestrator.app.undo_lists import UndoLists
from orchestrator.errors import ExitCode
from orchestrator.farm.kit import LaneKit
from orchestrator.farm.lane import Lane
from orchestrator.farm.lock import PhoneLock
from orchestrator.farm.loop import Farm
from orchestrator.home import Home
from orchestrator.report.numbers import plural

PREPARE_S = 120.0
"""A settings command takes up to a second on a slow phone, and there are some twenty."""
_AT_ONCE = 8
_TRY_AGAIN_S = 1.0
_TRIES = 5
"""How often a phone that was just lost is looked for: a cable, a hub."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBack:
    """What became of one phone's undo list: an entry each, or why the phone could not be asked."""

    phone: str
    run_id: str
    restored: tuple[Restored, ...] = ()
    problem: str = ""
    code: ExitCode = ExitCode.DONE

    def lines(self) -> list[str]:
        """For people: what was done, then what a person should know."""
        if self.problem:
            return [f"not put back  {self.phone}: {self.problem}"]
        back = sum(one.back for one in self.restored)
        head = f"put back  {self.phone}: {plural(back, 'setting')} as before {self.run_id}"
        return [head, *(f"  {one.words}" for one in self.restored if one.words)]

    def as_dict(self) -> dict[str, object]:
        """The same for JSON."""
        rows = [
            {
                "setting": one.entry.knob.text(),
                "before": one.entry.before,
                "ours": one.entry.ours,
                "action": one.todo.value,
                "back": one.back,
                "words": one.words,
            }
            for one in self.restored
        ]
        return {"phone": self.phone, "run": self.run_id, "problem": self.problem, "restored": rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Came:
    """What came of one lane's preparation."""

    phone: str
    before: PutBack | None
    prepared: Prepared | None
    changed: bool
    problem: str


@contextmanager
def preparing(farm: Farm, wanted: Callable[[str], Sequence[StepName]], site: Site) -> Iterator[None]:
    """Put back what dead runs left on the farm's phones, carry out the steps `wanted` of each; at the end all back.

    The lanes' kits then say whether a phone is tuned. With trials left running on the phones nothing is put back.
    Raises StoreError when an undo list can't be read or written: nothing is then changed on that phone.
    """
    lists = UndoLists(site.home)
    kits = [lane.kit for lane in farm.lanes.values() if wanted(lane.kit.phone) or lists.of(lane.kit.phone) is not None]
    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for came in pool.map(lambda kit: _prepare(kit, wanted(kit.phone), lists, farm.run_id, site.clock), kits):
                _tell(came, site, farm.run_id, farm.lanes[came.phone])
        yield
    finally:
        _end(farm, lists, site)


def _end(farm: Farm, lists: UndoLists, site: Site) -> None:
    kits = [lane.kit for lane in farm.lanes.values() if lists.of(lane.kit.phone) is not None]
    if farm.left and kits:
        site.say(f"still prepared: {', '.join(kit.phone for kit in kits)}; when their trials are over: {_MEND}")
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for one in pool.map(lambda kit: _put_back(kit.phone, kit.source, lists, site.clock), kits):
            _say_all(one, site.say)


_MEND = "orch devices restore"


def _prepare(kit: LaneKit, wanted: Sequence[StepName], lists: UndoLists, run_id: str, clock: Clock) -> _Came:
    before = _put_back(kit.phone, kit.source, lists, clock) if lists.of(kit.phone) is not None else None
    left = lists.of(kit.phone)
    prepared, problem = None, ""
    if wanted:
        made_at = clock.now().isoformat(timespec="seconds")
        undo = UndoList(phone=kit.phone, run_id=run_id, made_at=made_at, entries=left.entries if left else ())
        try:
            deadline = Deadline.after(PREPARE_S, clock)
            prepared = prepare(kit.source(), kit.facts, wanted, undo, lists.keep, deadline=deadline)
        except RunnerError as error:
            problem = str(error)
    changed = lists.of(kit.phone) is not None or (prepared is not None and prepared.tuned)
    return _Came(phone=kit.phone, before=before, prepared=prepared, changed=changed, problem=problem)


def prepare_one(lane: Lane, wanted: Sequence[StepName], run_id: str, site: Site) -> None:
    """Prepare a phone that joins a run. Raises StoreError as `preparing` does, which also puts it back at the end."""
    lists = UndoLists(site.home)
    if wanted or lists.of(lane.kit.phone) is not None:
        _tell(_prepare(lane.kit, wanted, lists, run_id, site.clock), site, run_id, lane)


def _tell(came: _Came, site: Site, run_id: str, lane: Lane) -> None:
    """Write down and say what came of a preparation, and let the lane know."""
    profile = came.prepared.task_profile if came.prepared is not None else ""
    lane.kit = replace(lane.kit, tuned=came.changed, task_profile=profile)
    reports = came.prepared.reports if came.prepared is not None else ()
    steps = [asdict(one) for one in reports]
    record = {"tuned": came.changed, "problem": came.problem, "steps": steps}
    site.ledger.set_prepared(run_id, came.phone, record)
    if came.before is not None:
        _say_all(came.before, site.say)
    if came.problem:
        site.say(f"not prepared  {came.phone}: {came.problem}")
    for standing in Standing:
        there = [one for one in reports if one.standing is standing]
        if standing is Standing.DONE and there:
            site.say(f"prepared  {came.phone}: {', '.join(one.step for one in there)}")
        elif there:
            site.say(f"  {standing}: " + "; ".join(f"{one.step} ({one.words})" for one in there))


def _put_back(phone: str, source: Callable[[], Device], lists: UndoLists, clock: Clock) -> PutBack:
    undo = lists.of(phone)
    if undo is None:
        return PutBack(phone=phone, run_id="")
    deadline = Deadline.after(PREPARE_S, clock)
    for turn in range(_TRIES):
        try:
            restored = restore(source(), undo, lists.keep, deadline=deadline)
        except LinkError as error:
            if turn == _TRIES - 1 or deadline.passed():
                return PutBack(
                    phone=phone, run_id=undo.run_id, problem=f"{error}; when it is back: {_MEND} {phone}",
                    code=ExitCode.NO_DEVICE,
                )  # fmt: skip
            clock.sleep(_TRY_AGAIN_S)
            undo = lists.of(phone) or undo
        except RunnerError as error:
            return PutBack(phone=phone, run_id=undo.run_id, problem=str(error), code=ExitCode.INCOMPLETE)
        else:
            code = ExitCode.DONE if all(one.back for one in restored) else ExitCode.INCOMPLETE
            return PutBack(phone=phone, run_id=undo.run_id, restored=tuple(restored), code=code)
    raise AssertionError("the last turn returns")


def _say_all(one: PutBack, say: Callable[[str], None]) -> None:
    for words in one.lines():
        say(words)


def still_prepared(home: Home) -> set[str]:
    """Phones of this home with something to put back, those of living runs among them."""
    return {one.phone for one in UndoLists(home).all()}


def put_back(
    names: Sequence[str], home: Home, adb_port: int | None, clock: Clock, say: Callable[[str], object]
) -> list[PutBack]:
    """Put back what runs left on phones (none named: on all): once more changes nothing.

    `adb_port` None leaves the adb servers for real phones alone; `say` is told of hosts that do not answer. Raises
    StoreError for a damaged undo list, UsageError
    when there is no adb server to be had.
    """
    lists = UndoLists(home)
    wanted = [one for one in lists.all() if not names or one.phone in names]
    missing = [name for name in names if name not in {one.phone for one in wanted}]
    phones = {phone.identity: phone for phone in virtual_phones(home)} if wanted else {}
    if adb_port is not None and any(one.phone not in phones for one in wanted):
        phones |= {phone.identity: phone for phone in plugged_in(home, adb_port, say)}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        done = list(pool.map(lambda one: _claimed(one, phones.get(one.phone), lists, clock), wanted))
    return [*done, *(PutBack(phone=name, run_id="") for name in missing)]


def _claimed(undo: UndoList, phone: Phone | None, lists: UndoLists, clock: Clock) -> PutBack:
    nothing = PutBack(phone=undo.phone, run_id=undo.run_id)
    if phone is None or phone.facts is None:
        state = "is not attached" if phone is None else f"is {phone.seen.state}: {phone.mend}"
        return replace(nothing, problem=f"{state}; its list is kept", code=ExitCode.NO_DEVICE)
    lock = PhoneLock(phone.claim_key)
    holder = lock.take("restore")
    if holder is not None:
        return replace(nothing, problem=f"busy: {holder.text()} puts it back at its end", code=ExitCode.USAGE)
    try:
        return _put_back(undo.phone, phone.source, lists, clock)
    finally:
        lock.release()
