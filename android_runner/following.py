"""Waits until a block on a phone has ended, whatever happens to the link meanwhile.

The journal is followed by STAT on a kept file session and read when it grew: no process runs on the phone for it. The
script's watchdog makes `beat` grow every second; only when that stops is the phone asked, by a shell, whether the
script still lives.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from android_runner.block import Block, BlockEnding
from android_runner.deadline import Clock, Deadline
from android_runner.device import Device, quoted
from android_runner.errors import DeadlinePassed, HostileAnswer, LinkError, LinkLost, LinkRefused
from android_runner.phone.commands import Probe, end_command, probe_command, read_probe
from android_runner.phone.journal import MAX_JOURNAL_BYTES, Journal, TrialRecord, parse_journal

DeviceSource = Callable[[], Device]
"""The phone as it can be reached now; raises `LinkError` while it can't."""

HURRIED_S = 0.02
MAX_HURRIED = 50
"""How often, and how many times at most, the journal is looked at while the end of a block is due."""

Progress = Callable[[TrialRecord], None]
"""Called when the journal tells of a trial's start, and again at its end."""

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often the phone is asked, how long one answer may take, how long a lost phone is waited for (seconds).

    Files may take as long as an answer, and what their bytes need at `slowest_bytes_s`, bytes a second: half of what
    full-speed USB (12 Mbit/s) carries.
    """

    poll_s: float = 0.2
    answer_s: float = 10.0
    slowest_bytes_s: float = 500_000.0
    silence_s: float = 5.0
    lost_after_s: float = 600.0


class BlockControl:
    """Asks a followed block to end; safe to use from any thread, also before the block is followed."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._kill = threading.Event()

    def stop(self) -> None:
        """End after the trial that runs."""
        self._stop.set()

    def kill(self) -> None:
        """End the trial that runs, too."""
        self._stop.set()
        self._kill.set()

    def asked(self) -> tuple[str, ...]:
        """The names of the files that tell the phone."""
        return ("stop",) * self._stop.is_set() + ("kill",) * self._kill.is_set()


class Line:
    """The phone behind `source`: one device while it answers, another when it doesn't, until it is given up."""

    def __init__(self, source: DeviceSource, clock: Clock, pace: Pace, control: BlockControl) -> None:
        self._source = source
        self._control = control
        self._device: Device | None = None
        self._lost_since_s: float | None = None
        self.clock = clock
        self.pace = pace
        self.renewed = 0

    def attempt(self, action: Callable[[Device], _Answer]) -> _Answer | None:
        """Do `action` on the phone; None when it could not be reached. Raises `LinkLost` when that has lasted too long.

        `HostileAnswer` and all that is no `LinkError` is passed on.
        """
        try:
            if self._device is None:
                self._device = self._source()
                self.renewed += 1
            answer = action(self._device)
        except HostileAnswer:
            raise
        except (LinkLost, DeadlinePassed, LinkRefused) as error:
            self._device = None
            self._give_up_in_time(error)
            return None
        self._lost_since_s = None
        return answer

    def insist(self, action: Callable[[Device], _Answer]) -> _Answer:
        """Do `action`, again and again until the phone answers. Raises `LinkLost` when it is given up."""
        while True:
            done = self.attempt(lambda device: (action(device),))
            if done is not None:
                return done[0]
            self.clock.sleep(self.pace.poll_s)

    def deadline(self) -> Deadline:
        """The time that one answer may take."""
        return Deadline.after(self.pace.answer_s, self.clock)

    def pull_deadline(self, size_bytes: int) -> Deadline:
        """The time that files of so many bytes in all may take."""
        return Deadline.after(self.pace.answer_s + size_bytes / self.pace.slowest_bytes_s, self.clock)

    def _give_up_in_time(self, error: LinkError) -> None:
        now_s = self.clock.monotonic_s()
        if self._lost_since_s is None:
            self._lost_since_s = now_s
        patience_s = self.pace.lost_after_s
        if "kill" in self._control.asked():  # somebody waits for the end: no longer than for one answer
            patience_s = min(patience_s, self.pace.answer_s)
        if now_s - self._lost_since_s > patience_s:
            raise LinkLost(f"given up after {patience_s:.0f} s without an answer; last: {error}") from error


@dataclass(frozen=True, slots=True)
class Ended:
    """How a block ended, and its journal, parsed and raw."""

    ending: BlockEnding
    journal: Journal
    raw: bytes


def probe(device: Device, block: Block, deadline: Deadline) -> Probe:
    """Ask the phone for its boot and the block's script. Raises `LinkError`."""
    result = device.shell(probe_command(block), deadline=deadline, max_output_bytes=4096)
    answer = read_probe(result.text())
    if answer is None:
        raise HostileAnswer(f"{device.serial}: no answer to a probe: {result.text()[:200]!r}")
    return answer


def read_journal(device: Device, block: Block, deadline: Deadline) -> bytes:
    """The journal as it is; empty when there is none. Raises `LinkError`."""
    limit = MAX_JOURNAL_BYTES + 1
    return device.read(block.directory / "journal", deadline=deadline, max_bytes=limit) or b""


class Follower:
    """Follows one block to its end."""

    def __init__(self, line: Line, block: Block, control: BlockControl, on_progress: Progress | None) -> None:
        self._line = line
        self._block = block
        self._control = control
        self._on_progress = on_progress
        self._told: frozenset[str] = frozenset()
        self._seen: dict[str, TrialRecord] = {}
        self._sizes: tuple[int, ...] = ()
        self._changed_s = self._grew_s = line.clock.monotonic_s()
        self._hurried = 0
        self._renewed = 0
        self._raw = b""

    def wait(self) -> Ended:
        """Return when the block has ended; what was left running by a script that died is then ended too."""
        while True:
            ended = self._line.attempt(self._look)
            if ended is not None:
                break
            self._line.clock.sleep(self._pause_s())
        if ended.ending is BlockEnding.VANISHED:
            self._line.insist(self._end_leftovers)
        return ended

    def _pause_s(self) -> float:
        """Until the next look: short when the last trial is about to end, as the shortest so far says.

        From then on the phone waits for us. It is bounded: a longer trial is not disturbed for long.
        """
        pace = self._line.pace
        spans_s = [one.ended_uptime_s - one.started_uptime_s for one in self._seen.values() if one.ended_uptime_s]
        over = len(spans_s) == len(self._block.tasks)
        since_s = self._line.clock.monotonic_s() - self._grew_s
        due = len(self._seen) == len(self._block.tasks) and spans_s and since_s + pace.poll_s >= min(spans_s)
        if not (over or due) or self._hurried >= MAX_HURRIED:
            return pace.poll_s
        self._hurried += 1
        return min(pace.poll_s, HURRIED_S)

    def _look(self, device: Device) -> Ended | None:
        self._tell(device)
        paths = [self._block.directory / name for name in ("journal", "beat")]
        sizes = tuple(stat.size_bytes if stat else 0 for stat in device.stat(paths, deadline=self._line.deadline()))
        if sizes != self._sizes:
            ended = self._read(device) if sizes[:1] != self._sizes[:1] else None
            self._sizes, self._changed_s = sizes, self._line.clock.monotonic_s()
            if ended is not None:
                return ended
        if self._renewed != self._line.renewed or self._silent():
            return self._ask(device)
        return None

    def _silent(self) -> bool:
        return self._line.clock.monotonic_s() - self._changed_s > self._line.pace.silence_s

    def _tell(self, device: Device) -> None:
        for name in self._control.asked():
            if name not in self._told:
                path = quoted(self._block.directory / name)
                device.shell(f": >{path}", deadline=self._line.deadline(), max_output_bytes=4096)
                self._told |= {name}

    def _read(self, device: Device) -> Ended | None:
        self._raw = read_journal(device, self._block, self._line.deadline())
        journal = parse_journal(self._raw, self._block)
        self._grew_s = self._line.clock.monotonic_s()
        for task_id, record in journal.records.items():
            if self._seen.get(task_id) != record:
                self._seen[task_id] = record
                if self._on_progress is not None:
                    self._on_progress(record)
        if journal.damage is not None:
            return Ended(BlockEnding.VANISHED, journal, self._raw)
        return Ended(journal.ending, journal, self._raw) if journal.ending is not None else None

    def _ask(self, device: Device) -> Ended | None:
        """The script lives, or the block has ended: the journal is read once more, as it may just have said so."""
        answer = probe(device, self._block, self._line.deadline())
        self._renewed, self._changed_s = self._line.renewed, self._line.clock.monotonic_s()
        if answer.running:
            return None
        ended = self._read(device)
        return ended or Ended(BlockEnding.VANISHED, parse_journal(self._raw, self._block), self._raw)

    def _end_leftovers(self, device: Device) -> None:
        device.shell(end_command(self._block), deadline=self._line.deadline(), max_output_bytes=64 * 1024)
