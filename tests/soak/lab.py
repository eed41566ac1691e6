"""Does to a living lab of virtual phones what a story says."""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path

from android_runner.adb.server import adb_binary
from android_runner.virtual import lifecycle
from android_runner.virtual.fault_life import happened
from android_runner.virtual.fault_schedule import FaultSchedule, write_schedule
from android_runner.virtual.processes import ProcessId
from android_runner.virtual.state import Places, read_phone, read_server
from tests.soak.story import HubEvent, HubFault, Size, Story

PROFILE = "pixel-8"


class Lab:
    """The phones of one home; `serialnos` in the order of the story's numbers, the hub of each in `hub_of`."""

    def __init__(self, home: Path, size: Size) -> None:
        self.home = home
        self.size = size
        self.places = Places(home.resolve())
        self.hub_of = [hub for hub, count in enumerate(size.hubs) for _ in range(count)]
        self.serialnos = [f"virtual-{PROFILE}-{number}" for number in range(1, size.phones + 1)]
        self.counts: Counter[str] = Counter()
        self._stopped: list[tuple[float, ProcessId]] = []

    def up(self) -> None:
        """Start the phones, a daemon for each hub."""
        count = 0
        for of_hub in self.size.hubs:
            count += of_hub
            lifecycle.up(self.home, [(PROFILE, count)], adb_binary(), idle_exit_s=900.0, slots=self.size.phones)

    def down(self) -> None:
        """End everything."""
        self.calm()
        lifecycle.down(self.home)

    def begin(self, story: Story, seed: int) -> None:
        """From now on the phones do wrong."""
        for serialno, faults in zip(self.serialnos, story.faults, strict=True):
            write_schedule(self.places.phone(serialno), FaultSchedule(fault=faults), seed=seed)
            lifecycle.poke(self.home, serialno)

    def befall(self, event: HubEvent, now_s: float) -> None:
        """A hub hangs, or dies."""
        number = signal.SIGSTOP if event.fault is HubFault.HANGS else signal.SIGKILL
        process = self._daemon_of(self.hub_of.index(event.hub))
        if process is None:
            return
        process.send(number)
        self.counts[event.fault.value] += 1
        if event.fault is HubFault.HANGS:
            self._stopped.append((now_s + event.for_s, process))

    def tick(self, now_s: float) -> None:
        """End what has lasted its time."""
        for item in [one for one in self._stopped if now_s >= one[0]]:
            item[1].send(signal.SIGCONT)
            self._stopped.remove(item)

    def calm(self) -> None:
        """End every fault; those that have happened are counted in `counts`."""
        for _, process in self._stopped:
            process.send(signal.SIGCONT)
        self._stopped.clear()
        for serialno in self.serialnos:
            folder = self.places.phone(serialno)
            if folder.is_dir():
                self.counts.update(one.kind.value for one in happened(folder))
                write_schedule(folder, None)
                (folder / "faults.log").unlink(missing_ok=True)
                lifecycle.poke(self.home, serialno)

    def kill_server(self) -> bool:
        """SIGKILL the adb server; whether there was one."""
        record = read_server(self.places)
        if record is None or not record.process.alive():
            return False
        record.process.send(signal.SIGKILL)
        return True

    def hang_for_ever(self, phone: int) -> None:
        """Stop a phone's daemon until `calm`."""
        process = self._daemon_of(phone)
        if process is not None:
            process.send(signal.SIGSTOP)
            self._stopped.append((float("inf"), process))

    def processes_on(self, serialno: str, word: str) -> list[int]:
        """Pids, as the host sees them, of a phone's processes whose command has `word` in it."""
        mark = str(self.places.phone(serialno) / "root")
        found = []
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with suppress(OSError):
                    words = Path(f"/proc/{name}/cmdline").read_bytes().decode(errors="replace")
                    if word in words and (
                        mark in words or mark in Path(f"/proc/{name}/mountinfo").read_text(errors="replace")
                    ):
                        found.append(int(name))
        return found

    def _daemon_of(self, phone: int) -> ProcessId | None:
        record = read_phone(self.places.phone(self.serialnos[phone]))
        return record.daemon if record is not None and record.daemon.alive() else None
