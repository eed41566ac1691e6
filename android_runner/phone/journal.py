"""Pure: the phone script's journal, read strictly.

A line is `SEQ EVENT FIELDS... CHECK`:

    begin EPOCH TASKS PID UPTIME BOOTID              first line
    resume PID UPTIME BOOTID                         the script was started again on the same block
    gate INDEX ID SECONDS OUTCOME CAUSE              it had to wait for the phone before its start, and how that ended
    start INDEX ID SNAPSHOT UPTIME                   a trial begins; SNAPSHOT is the one before it
    exited|timed_out|stopped INDEX ID CODE SNAPSHOT UPTIME   it has ended; SNAPSHOT is the one after it
    lost INDEX ID                                    nobody saw how it ended
    finish done|stopped|lease UPTIME                 last line

SEQ counts from 1. CHECK chains over all numbers of all lines so far (`_chain`), modulo 65521, so that lost, swapped and
changed lines are found; names are compared with the block's. A line that the phone's crash tore is tolerated at the
end, and before a `resume`. All bounds are checked: the bytes come from a phone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from android_runner.block import Block, BlockEnding, Ending, GateOutcome, GateWait

MAX_JOURNAL_BYTES = 4 * 1024 * 1024
"""Bound on a journal: 10,000 tasks need about 1 MB."""

_MODULUS = 65_521
_KINDS = {
    "number": r"(0|[1-9][0-9]{0,9})",
    "uptime": r"((?:0|[1-9][0-9]{0,9})\.[0-9]{2})",
    "boot": r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})",
    "name": r"([a-z0-9][a-z0-9-]{0,63})",
    "reason": r"(done|stopped|lease)",
    "outcome": r"(ready|flat|timeout)",
    "cause": r"(battery|zone|level|load|status)",
}
_REASONS = {
    "done": (1, BlockEnding.DONE),
    "stopped": (2, BlockEnding.STOPPED),
    "lease": (3, BlockEnding.LEASE_LOST),
}
_WORDS = {
    "outcome": ("ready", "flat", "timeout"),
    "cause": ("battery", "zone", "level", "load", "status"),
}
"""Words that count in the chain by their place, from 1."""


@dataclass(frozen=True, slots=True)
class _Form:
    """One kind of line: its number in the chain, the kinds of its fields, and these as one pattern."""

    code: int
    kinds: tuple[str, ...]
    pattern: re.Pattern[str]


def _form(code: int, *kinds: str) -> _Form:
    return _Form(code, kinds, re.compile(" ".join(_KINDS[kind] for kind in kinds)))


_FORMS = {
    "begin": _form(1, "number", "number", "number", "uptime", "boot"),
    "resume": _form(2, "number", "uptime", "boot"),
    "start": _form(3, "number", "name", "number", "uptime"),
    "exited": _form(4, "number", "name", "number", "number", "uptime"),
    "timed_out": _form(5, "number", "name", "number", "number", "uptime"),
    "stopped": _form(6, "number", "name", "number", "number", "uptime"),
    "lost": _form(7, "number", "name"),
    "finish": _form(8, "reason", "uptime"),
    "gate": _form(9, "number", "name", "number", "outcome", "cause"),
}
_LINE = re.compile(rf"{_KINDS['number']} ([a-z_]+) (.+) {_KINDS['number']}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """What the journal says of one task; `ending` is None while it runs, or when the journal ends there.

    `before` and `after` are numbers of snapshots in the vitals file, times are uptimes in seconds.
    """

    task_id: str
    started_uptime_s: float
    before: int
    ending: Ending | None = None
    exit_code: int | None = None
    after: int | None = None
    ended_uptime_s: float | None = None
    gate: GateWait | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """A journal as far as it can be trusted.

    `records` by task id in the order of their starts; `script_pid` and `boot_id` of the last start of the script;
    `ending` None while it goes on; `torn` whether the last line is incomplete; `damage` says in words where the first
    line stands that cannot be what the script wrote: nothing from there on is used.
    """

    script_pid: int | None = None
    boot_id: str | None = None
    ending: BlockEnding | None = None
    records: dict[str, TrialRecord] = field(default_factory=dict)
    torn: bool = False
    damage: str | None = None

    def running(self) -> TrialRecord | None:
        """The trial that was started and has not ended."""
        last = next(reversed(self.records.values()), None)
        return last if last is not None and last.ending is None else None


class _BadLine(Exception):
    """A line that the script, run on this block, cannot have written."""


@dataclass(slots=True)
class _Reader:
    """The state of reading: what the next line must continue."""

    block: Block
    seq: int = 0
    chain: int = 0
    index: int = 0
    script_pid: int | None = None
    boot_id: str | None = None
    ending: BlockEnding | None = None
    open_id: str | None = None
    waited: GateWait | None = None
    records: dict[str, TrialRecord] = field(default_factory=dict)

    def take(self, raw: bytes) -> None:
        """Apply one whole line, or raise `_BadLine` and change nothing."""
        try:
            line = _LINE.fullmatch(raw.decode("ascii"))
        except UnicodeDecodeError:
            line = None
        if line is None or line[2] not in _FORMS:
            raise _BadLine("not a line of a journal")
        form = _FORMS[line[2]]
        fields = form.pattern.fullmatch(line[3])
        if fields is None:
            raise _BadLine(f"not the fields of {line[2]!r}")
        if int(line[1]) != self.seq + 1:
            raise _BadLine(f"number {line[1]} after {self.seq}")
        chain = _chain(self.chain, self.seq + 1, form, fields.groups())
        if int(line[4]) != chain:
            raise _BadLine("wrong check figure")
        self._apply(line[2], fields.groups())
        self.seq, self.chain = self.seq + 1, chain

    def _apply(self, event: str, fields: tuple[str, ...]) -> None:
        if (event == "begin") != (self.seq == 0):
            raise _BadLine(f"{event!r} out of place")
        if self.ending is not None and event != "resume":
            raise _BadLine(f"{event!r} after the end")
        match event:
            case "begin":
                self._begin(fields)
            case "resume":
                self.script_pid, self.boot_id, self.ending = int(fields[0]), fields[2], None
            case "gate":
                self._next(int(fields[0]), fields[1])
                self.waited = GateWait(waited_s=int(fields[2]), outcome=GateOutcome(fields[3]), cause=fields[4])
            case "start":
                self._start(int(fields[0]), fields[1], int(fields[2]), float(fields[3]))
            case "finish":
                if self.open_id is not None:
                    raise _BadLine("an end while a trial runs")
                self.ending = _REASONS[fields[0]][1]
            case _:
                self._end(event, fields)

    def _begin(self, fields: tuple[str, ...]) -> None:
        if int(fields[0]) != self.block.epoch or int(fields[1]) != len(self.block.tasks):
            raise _BadLine("the journal of another block")
        self.script_pid, self.boot_id = int(fields[2]), fields[4]

    def _next(self, index: int, task_id: str) -> None:
        """Raise `_BadLine` unless this is a trial that may begin now."""
        if self.open_id is not None:
            raise _BadLine(f"a start while {self.open_id} runs")
        if not self.index < index <= len(self.block.tasks) or self.block.tasks[index - 1].task_id != task_id:
            raise _BadLine("a start out of order")

    def _start(self, index: int, task_id: str, snapshot: int, uptime_s: float) -> None:
        self._next(index, task_id)
        self.index, self.open_id = index, task_id
        self.records[task_id] = TrialRecord(
            task_id=task_id, started_uptime_s=uptime_s, before=snapshot, gate=self.waited
        )
        self.waited = None

    def _end(self, event: str, fields: tuple[str, ...]) -> None:
        if self.open_id is None or fields[1] != self.open_id or int(fields[0]) != self.index:
            raise _BadLine("the end of a trial that does not run")
        begun = self.records[self.open_id]
        lost = event == "lost"
        if not lost and int(fields[2]) > 255:
            raise _BadLine(f"exit code {fields[2]}")
        self.records[self.open_id] = TrialRecord(
            task_id=begun.task_id,
            started_uptime_s=begun.started_uptime_s,
            before=begun.before,
            gate=begun.gate,
            ending=Ending(event),
            exit_code=None if lost else int(fields[2]),
            after=None if lost else int(fields[3]),
            ended_uptime_s=None if lost else float(fields[4]),
        )
        self.open_id = None


def parse_journal(data: bytes, block: Block) -> Journal:
    """Read a journal of `block`; never raises for what is in it: see `Journal.damage`."""
    reader = _Reader(block)
    *lines, rest = data[:MAX_JOURNAL_BYTES].split(b"\n")
    damage = f"longer than {MAX_JOURNAL_BYTES} bytes" if len(data) > MAX_JOURNAL_BYTES else None
    for number, line in enumerate(lines, start=1):
        try:
            reader.take(line)
        except _BadLine as bad:
            if number < len(lines) and lines[number].startswith(b"%d resume " % (reader.seq + 1)):
                continue
            damage = f"line {number}: {bad}"
            break
    return Journal(
        script_pid=reader.script_pid,
        boot_id=reader.boot_id,
        ending=reader.ending if damage is None else None,
        records=reader.records,
        torn=rest != b"" and damage is None,
        damage=damage,
    )


def _chain(chain: int, seq: int, form: _Form, fields: tuple[str, ...]) -> int:
    """The check figure after one more line: `chain * 33 + n`, modulo 65521, for its number, code and numbers."""
    chain = (chain * 33 + seq) % _MODULUS
    for number in (form.code, *_numbers(form, fields)):
        chain = (chain * 33 + number) % _MODULUS
    return chain


def _numbers(form: _Form, fields: tuple[str, ...]) -> Iterator[int]:
    """The fields as the script counts them: an uptime as two numbers, a boot id as eight, a word as one, no names."""
    for kind, text in zip(form.kinds, fields, strict=True):
        match kind:
            case "number":
                yield int(text)
            case "reason":
                yield _REASONS[text][0]
            case "outcome" | "cause":
                yield _WORDS[kind].index(text) + 1
            case "uptime":
                seconds, _, hundredths = text.partition(".")
                yield int(seconds)
                yield int(f"1{hundredths}")
            case "boot":
                digits = text.replace("-", "")
                yield from (int(digits[at : at + 4], 16) for at in range(0, 32, 4))
