"""The faults of a living phone: its `faults.json`, its schedule, and the deeds that a schedule asks for.

What has happened stands in the phone's folder, in `faults.log`: a JSON object a line, as `Happening` has its fields.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Collection, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from pydantic import TypeAdapter

from android_runner.virtual.fault_book import FaultBook, Happening, as_line
from android_runner.virtual.fault_deeds import (
    TOOL_FAULT,
    TOOL_WORDS,
    Undo,
    asks_nnapi,
    do_to_files,
    mend_files,
    running_trials,
    signal_command,
)
from android_runner.virtual.fault_kinds import DROPS_LINKS, FaultKind
from android_runner.virtual.fault_schedule import HAPPENED_NAME, SCHEDULE_NAME, PutInPlace, read_placed
from android_runner.virtual.fault_steps import Medium, Step
from android_runner.virtual.faults import FAULTS_NAME, NO_FAULTS, FaultMeter, FaultPlan, read_faults

_UNANSWERED = FaultPlan(hang=True)
_ENDS_THE_OPERATION = frozenset(
    {FaultKind.REBOOT, FaultKind.POWER_OFF, FaultKind.DRIVER_REBOOT, FaultKind.ROGUE_OPEN, FaultKind.SERVER_KILLED}
)


class Body(Protocol):
    """What faults can do to a phone, beyond its files."""

    def drop_links(self) -> None:
        """End every transport."""
        ...

    def plug_in(self) -> None:
        """Have the host's adb server see the phone again, soon."""
        ...

    def send_rogue_open(self) -> None:
        """Open a stream to the host, which no phone may."""
        ...

    def kill_server(self) -> None:
        """End the host's adb server."""
        ...

    def restart(self, down_s: float) -> None:
        """Go off at once, and boot after so long."""
        ...

    async def run_inside(self, command: str) -> None:
        """Run a command in the phone's shell, to its end."""
        ...

    async def kill_all(self) -> None:
        """End every process that the shell user has."""
        ...


class FaultLife:
    """One phone's faults; it belongs to the event loop of its phone."""

    def __init__(self, phone_dir: Path, body: Body) -> None:
        self._dir = phone_dir
        self._root = phone_dir / "root"
        self._body = body
        self._base = NO_FAULTS
        self._book: FaultBook | None = None
        self._undo: list[tuple[Happening, Undo]] = []
        self._seen_trials: set[str] = set()
        self._told = ""
        self._said = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self.meter = FaultMeter()
        with suppress(OSError):
            mend_files(self._root)

    @property
    def scheduled(self) -> bool:
        """Whether a schedule lies there: what it does to the transport is done as by a cable."""
        return self._book is not None

    # --- what holds -----------------------------------------------------------------------------------------------

    def look(self) -> FaultPlan:
        """Read both files again where they have changed; what holds now."""
        try:
            self._base = read_faults(self._dir)
        except ValueError as error:
            self._say_once(f"{FAULTS_NAME} is left out: {error}")
        try:
            placed = read_placed(self._dir)
        except ValueError as error:
            self._say_once(f"{SCHEDULE_NAME} is left out: {error}")
            placed = None
        if placed != (self._book.placed if self._book is not None else None):
            self._take_up(placed)
        return self.meter.see(self._plan())

    def connecting(self) -> FaultPlan:
        """A host says CNXN. Deeds of its faults are done soon."""
        self.look()
        begun = self._begun([Step.CONNECT], Medium.CONNECTION)
        for happening in begun:
            self._soon(self._begin(happening))
        return self._plan(begun)

    async def operation(self, step: Step, medium: Medium) -> FaultPlan:
        """An operation of this step begins: what goes wrong with it, its deeds being done."""
        if self._book is None:
            return self._base
        steps = [step, Step.RUN] if any(running_trials(self._root)) else [step]
        begun = self._begun(steps, medium)
        for happening in begun:
            await self._begin(happening)
        plan = self._plan(begun)
        return _UNANSWERED.over(plan) if any(one.kind in _ENDS_THE_OPERATION for one in begun) else plan

    async def pass_time(self) -> None:
        """Let time go by: what is due begins, what is over ends, a trial that runs is met."""
        self.look()
        if self._book is None:
            return
        begun, over = self._book.pass_time(self._now_s())
        self._log(begun)
        for happening in over:
            self._end(happening)
        for happening in begun:
            await self._begin(happening)
        self._prepare_tool()
        waited = self._book.waits_for(Step.RUN, self._now_s())
        if any(kind not in TOOL_WORDS for kind in waited):
            await self._meet_trials()

    # --- what begins and ends -------------------------------------------------------------------------------------

    def _take_up(self, placed: PutInPlace | None) -> None:
        for happening in list(self._book.active if self._book is not None else []):
            self._end(happening)
        (self._root / TOOL_FAULT).unlink(missing_ok=True)
        self._book = None
        self._seen_trials.clear()
        if placed is not None:
            self._book = FaultBook(placed, self._dir.name)
            self._book.begin(self._now_s(), Counter(one.entry for one in happened(self._dir)))

    def _begun(self, steps: Collection[Step], medium: Medium | None = None, *, nnapi: bool = False) -> list[Happening]:
        leave_out = () if nnapi else (FaultKind.DRIVER_REBOOT,)
        begun = self._book.operation(steps, self._now_s(), medium, leave_out) if self._book is not None else []
        self._log(begun)
        return begun

    async def _begin(self, happening: Happening) -> None:
        kind = happening.kind
        with suppress(OSError):
            undo = do_to_files(kind, self._root)
            if undo is not None and happening.lasts:
                self._undo.append((happening, undo))
        if command := signal_command(kind):
            await self._body.run_inside(command)
        match kind:
            case FaultKind.REBOOT | FaultKind.DRIVER_REBOOT:
                self._body.restart(0.0)
            case FaultKind.POWER_OFF:
                self._body.restart(happening.until_s - happening.begun_s)
            case FaultKind.ROGUE_OPEN:
                self._body.send_rogue_open()
            case FaultKind.SERVER_KILLED:
                self._body.kill_server()
            case FaultKind.ALL_KILLED:
                await self._body.kill_all()
            case FaultKind.DROP if happening.step in (None, Step.RUN):
                self._body.drop_links()
            case _ if kind in DROPS_LINKS:
                self._body.drop_links()

    def _end(self, happening: Happening) -> None:
        for done, undo in list(self._undo):
            if done == happening:
                self._undo.remove((done, undo))
                if any(other.kind is happening.kind for other, _ in self._undo):
                    continue  # another of its kind lasts on
                with suppress(OSError):
                    undo()
        if self._book is not None and happening in self._book.active:
            self._book.active.remove(happening)
        plan = happening.plan
        if happening.kind in DROPS_LINKS or plan.hang or plan.stall_after_bytes is not None:
            self._body.drop_links()
            self._body.plug_in()

    async def _meet_trials(self) -> None:
        """A trial that is seen running for the first time is an occasion for what waits for one."""
        for trial in list(running_trials(self._root)):
            if trial in self._seen_trials:
                continue
            self._seen_trials.add(trial)
            for happening in self._begun([Step.RUN], nnapi=asks_nnapi(self._root, trial)):
                await self._begin(happening)

    def _prepare_tool(self) -> None:
        """Tell the next perf_test what it is to do wrong; it takes the file away when it does it."""
        assert self._book is not None
        path = self._root / TOOL_FAULT
        waiting = [kind for kind in self._book.waits_for(Step.RUN, self._now_s()) if kind in TOOL_WORDS]
        if self._told and not path.exists():
            self._told = ""
            self._begun([Step.RUN])
        elif waiting and not self._told:
            self._told = TOOL_WORDS[waiting[0]]
            with suppress(OSError):
                path.write_text(f"{self._told}\n", encoding="ascii")

    # --- by the way -----------------------------------------------------------------------------------------------

    def _plan(self, begun: Collection[Happening] = ()) -> FaultPlan:
        return self._book.plan(self._base, begun) if self._book is not None else self._base

    def _now_s(self) -> float:
        return time.monotonic() - self._book.placed.since_s if self._book is not None else 0.0

    def _log(self, begun: Collection[Happening]) -> None:
        if begun:
            with (self._dir / HAPPENED_NAME).open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(as_line(one)) + "\n" for one in begun)

    def _soon(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _say_once(self, text: str) -> None:
        if text != self._said:
            self._said = text
            sys.stderr.write(f"{self._dir.name}: {text}\n")


def happened(phone_dir: Path) -> Iterator[Happening]:
    """What has gone wrong on a phone on purpose since its schedule was put in place, in its order."""
    path = phone_dir / HAPPENED_NAME
    if path.exists():
        adapter = TypeAdapter(Happening)
        for line in path.read_text(encoding="utf-8").splitlines():
            yield adapter.validate_json(line)
