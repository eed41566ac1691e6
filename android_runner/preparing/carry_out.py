"""Prepares one phone, and puts it back. The host is told of the undo list before the first change, and after each.

Raises LinkError where the phone can't be reached, PhoneRefused where it doesn't let us begin, LeaseLost when somebody
else prepares it meanwhile; whatever the caller's `keep` raises comes through, and ends it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from android_runner.deadline import Deadline
from android_runner.device import Device
from android_runner.errors import DeadlinePassed, HostileAnswer, LeaseLost, PhoneRefused
from android_runner.facts import PhoneFacts, cleaned
from android_runner.preparing import commands
from android_runner.preparing.knobs import Knob, same
from android_runner.preparing.steps import (
    TASK_PROFILE,
    About,
    Standing,
    Step,
    StepName,
    StepReport,
    fixed_clocks,
    reached_by_network,
    steps_for,
)
from android_runner.preparing.undo import Todo, UndoEntry, UndoList, merged, todo

Keep = Callable[[UndoList], None]
"""Has the list on disk, whatever then happens, when it returns; an empty one is forgotten."""
ROOT_ANSWER_S = 10.0
"""How long a `su` may take; one that asks its owner on the screen never answers."""
_REREADS = 5
_REREAD_S = 0.2
"""A phone needs a moment to wake up, or to switch its radios."""
_MAX_ANSWER_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What came of a preparation: each wanted step, and the task profile to start processes with ("": none)."""

    reports: tuple[StepReport, ...]
    task_profile: str

    @property
    def tuned(self) -> bool:
        """Whether anything was done: measured on such a phone, a series is not one of a stock phone."""
        return any(one.standing is Standing.DONE for one in self.reports)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What became of one entry of an undo list; `words` are for people where there is more to say."""

    entry: UndoEntry
    todo: Todo
    back: bool
    words: str = ""


def prepare(
    device: Device, facts: PhoneFacts, wanted: Sequence[StepName], undo: UndoList, keep: Keep, *, deadline: Deadline
) -> Prepared:
    """Carry the wanted steps out. `undo` is what an earlier run could not put back, or an empty list for this phone."""
    phone = _Phone(device, deadline)
    steps = steps_for(phone.about(facts, wanted), wanted)
    knobs = [knob for one in steps if isinstance(one, Step) for knob, _ in one.targets]
    before = phone.begin(knobs)
    new = [
        UndoEntry(step=one.name, knob=knob, before=value, ours=target)
        for one in steps
        if isinstance(one, Step)
        for knob, target in one.targets
        if (value := before[knob]) is not None and not same(value, target)
    ]
    undo = merged(undo, replace(undo, entries=tuple(new)))
    keep(undo)
    reports: list[StepReport] = []
    for step in steps:
        if isinstance(step, StepReport):
            reports.append(step)
        elif step.name is StepName.PROFILE:
            reports.append(phone.profile())
        else:
            report, undo = _change(phone, step, before, undo, keep)
            reports.append(report)
    profiled = any(one.step is StepName.PROFILE and one.standing is Standing.DONE for one in reports)
    return Prepared(reports=tuple(reports), task_profile=TASK_PROFILE if profiled else "")


def restore(device: Device, undo: UndoList, keep: Keep, *, deadline: Deadline) -> list[Restored]:
    """Put back what the list names, last change first, and strike it off as it goes; once more changes nothing.

    What somebody else has changed since is left as it is, said, and struck off. What the phone refuses stays listed.
    """
    phone = _Phone(device, deadline)
    entries = undo.entries[::-1]
    now = phone.begin([one.knob for one in entries])
    restored: list[Restored] = []
    for _, group in groupby(entries, key=lambda one: one.step):
        members = list(group)
        fates = [(one, todo(one, now[one.knob])) for one in members]
        done = _put_back(phone, fates, now)
        restored += done
        for one in done:
            undo = undo.without(one.entry.knob) if one.back else undo
        keep(undo)
    return restored


def _put_back(phone: _Phone, fates: Sequence[tuple[UndoEntry, Todo]], now: dict[Knob, str | None]) -> list[Restored]:
    writing = [one for one, what in fates if what in (Todo.PUT_BACK, Todo.PUT_BACK_UNSURE)]
    reads, said = phone.change([(one.knob, one.before) for one in writing]) if writing else ({}, {})
    done = []
    for one, what in fates:
        found = now[one.knob]
        name = one.knob.name
        if one in writing:
            back = same(reads[one.knob], one.before)
            words = "" if back else f"{name} still reads {reads[one.knob]}, not {one.before}: {said[one.knob]}"
            if back and what is Todo.PUT_BACK_UNSURE:
                words = f"{name} read {found}: {what}"
        else:
            back = what is not Todo.UNKNOWN
            words = f"{name} reads {found}, {what} (it was {one.before})" if what is Todo.LEAVE else ""
            words = f"{name} {what} (it was {one.before})" if what is Todo.UNKNOWN else words
        done.append(Restored(entry=one, todo=what, back=back, words=words.rstrip(": ")))
    return done


def _change(
    phone: _Phone, step: Step, before: dict[Knob, str | None], undo: UndoList, keep: Keep
) -> tuple[StepReport, UndoList]:
    there = [(knob, target) for knob, target in step.targets if before[knob] is not None]
    if not there:
        words = f"the phone does not tell its {step.targets[0][0].name}"
        return StepReport(step=step.name, standing=Standing.NOT_OFFERED, words=words), undo
    targets = [(knob, target) for knob, target in there if not same(before[knob], target)]
    reads, said = phone.change(targets) if targets else ({}, {})
    refused = [knob for knob, target in targets if not same(reads[knob], target)]
    for knob, _ in targets:
        undo = undo.told(knob, reads[knob])
    if targets:
        keep(undo)
    parts = [f"{knob.name} {target}" for knob, target in there if knob not in refused]
    parts += [f"{knob.name} stays {reads[knob]}: {said[knob]}".rstrip(": ") for knob in refused]
    parts += [f"{knob.name} is not offered" for knob, _ in step.targets if before[knob] is None]
    standing = Standing.REFUSED if refused else Standing.DONE
    return StepReport(step=step.name, standing=standing, words=cleaned("; ".join(parts))), undo


class _Phone:
    """The phone under one token, within one deadline."""

    def __init__(self, device: Device, deadline: Deadline) -> None:
        self._device = device
        self._deadline = deadline
        self._token = secrets.token_hex(8)

    def about(self, facts: PhoneFacts, wanted: Sequence[StepName]) -> About:
        """What decides on the steps."""
        clocks = StepName.CLOCKS in wanted
        text = self._device.shell(commands.clocks_command(), deadline=self._deadline).text() if clocks else ""
        return About(
            api_level=facts.api_level,
            no_root=self._no_root(facts) if clocks or StepName.AIRPLANE in wanted else "",
            by_network=reached_by_network(str(self._device.serial)),
            clocks=fixed_clocks(text),
        )

    def _no_root(self, facts: PhoneFacts) -> str:
        """Why we get no root here; empty where we do."""
        if not facts.rooted:
            return "this phone is not rooted"
        try:
            limit = self._deadline.clip(ROOT_ANSWER_S)
            said = self._device.shell(commands.ROOT_COMMAND, deadline=limit, max_output_bytes=4096)
        except DeadlinePassed:
            return "its su does not answer; does its screen ask?"
        lines = said.text().split()
        return "" if lines[-1:] == ["0"] else f"its su gives none: {cleaned(said.text() + _errors(said.stderr))}"

    def begin(self, knobs: Sequence[Knob]) -> dict[Knob, str | None]:
        """Be the one who may change this phone, and read the knobs."""
        nonce = secrets.token_hex(8)
        text = self._run(commands.reading_command(nonce, self._token, knobs), "preparing can't begin")
        return self._values(text, nonce, knobs)

    def change(self, targets: Sequence[tuple[Knob, str]]) -> tuple[dict[Knob, str | None], dict[Knob, str]]:
        """Set knobs; what each reads then, and what the phone said while it was set."""
        nonce = secrets.token_hex(8)
        text = self._run(commands.changing_command(nonce, self._token, targets), "preparing can't go on")
        knobs = [knob for knob, _ in targets]
        said = dict(zip(knobs, map(cleaned, commands.complaints_in(text, nonce, len(knobs))), strict=True))
        reads = self._values(text, nonce, knobs)
        for _ in range(_REREADS):
            late = [knob for knob, target in targets if not same(reads[knob], target) and not said[knob]]
            if not late or self._deadline.passed():
                break
            self._deadline.clock.sleep(_REREAD_S)
            again = self._run(commands.reread_command(nonce, late), "preparing can't be checked")
            reads |= self._values(again, nonce, late)
        return reads, said

    def profile(self) -> StepReport:
        """Try the task profile on a shell of its own."""
        result = self._device.shell(commands.profile_command(), deadline=self._deadline, max_output_bytes=64 * 1024)
        text = result.text()
        step = StepName.PROFILE
        if result.exit_code == 127:
            return StepReport(step=step, standing=Standing.NOT_OFFERED, words="no settaskprofile on this phone")
        done = commands.profile_applied(text)
        standing = Standing.DONE if done else Standing.REFUSED
        return StepReport(step=step, standing=standing, words=cleaned(" ".join(text.split("\n"))))

    def _run(self, command: str, what: str) -> str:
        result = self._device.shell(command, deadline=self._deadline, max_output_bytes=_MAX_ANSWER_BYTES)
        if result.exit_code == commands.OVERTAKEN:
            raise LeaseLost(f"{self._device.serial}: somebody else prepares this phone, or puts it back")
        if result.exit_code:
            raise PhoneRefused(f"{self._device.serial}: {what}; the phone says: {_errors(result.stderr)}")
        return result.text()

    def _values(self, text: str, nonce: str, knobs: Sequence[Knob]) -> dict[Knob, str | None]:
        values = commands.values_in(text, nonce, knobs)
        if values is None:
            raise HostileAnswer(f"{self._device.serial}: its settings can't be read: {cleaned(text)!r}")
        return values


def _errors(stderr: bytes) -> str:
    return cleaned(stderr.decode("utf-8", errors="replace"))
