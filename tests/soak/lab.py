"""Does to a living lab of virtual phones what a story says."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from android_runner.adb.server import adb_binary
from android_runner.virtual import lifecycle
from android_runner.virtual.faults import (
    NO_FAULTS,
    ConnectFault,
    Drop,
    DropKind,
    FaultPlan,
    ShellExit,
    write_faults,
)
from android_runner.virtual.processes import ProcessId, identify
from android_runner.virtual.root_tree import REBOOT_REQUEST
from android_runner.virtual.state import Places, read_phone, read_server
from tests.soak.story import Fault, PhoneFault, Size

PROFILE = "pixel-8"
DROP_S = 0.1
"""How long a cable is out so that a phone has to connect anew."""
HOSTILE = ("../../escaped", "a/b", "with\nnewline", "..")


class Lab:
    """The phones of one home; `serialnos` in the order of the story's numbers, the hub of each in `hub_of`."""

    def __init__(self, home: Path, size: Size) -> None:
        self.home = home
        self.places = Places(home.resolve())
        self.hub_of = [hub for hub, count in enumerate(size.hubs) for _ in range(count)]
        self.serialnos = [f"virtual-{PROFILE}-{number}" for number in range(1, size.phones + 1)]
        self._until: dict[int, float] = {}
        self._plans: dict[int, FaultPlan] = {}
        self._next: dict[int, tuple[float, FaultPlan]] = {}
        self._stopped: list[tuple[float, ProcessId]] = []
        self.size = size
        self.counts: dict[str, int] = {}

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

    def begin(self, event: PhoneFault, now_s: float) -> None:
        """Let a phone do wrong."""
        self.counts[event.fault.value] = self.counts.get(event.fault.value, 0) + 1
        folder = self.places.phone(self.serialnos[event.phone])
        match event.fault:
            case Fault.REBOOT:
                with suppress(OSError):
                    (folder / "root" / REBOOT_REQUEST).touch()
            case Fault.TOOL_KILLED:
                self._kill_one(folder, "onnxruntime_perf_test")
            case Fault.SCRIPT_KILLED:
                self._kill_one(folder, "run_block.sh")
            case Fault.HUB_HANGS:
                self._hang(event, now_s)
            case Fault.HUB_DIES:
                self._daemon_of(event.phone, signal.SIGKILL)
            case _:
                plan = plan_of(event)
                if plan.connect is not None:  # that is asked at the next connection, so the present one goes first
                    self._put(event.phone, FaultPlan(unplugged=True))
                    self._next[event.phone] = now_s + DROP_S, plan
                else:
                    self._put(event.phone, plan)
                self._until[event.phone] = now_s + event.lasts_s

    def tick(self, now_s: float) -> None:
        """End what has lasted its time."""
        for phone, (at_s, plan) in list(self._next.items()):
            if now_s >= at_s:
                del self._next[phone]
                self._put(phone, plan)
        for phone in [phone for phone, until_s in self._until.items() if now_s >= until_s]:
            self._heal(phone)
        for item in [one for one in self._stopped if now_s >= one[0]]:
            item[1].send(signal.SIGCONT)
            self._stopped.remove(item)

    def calm(self) -> None:
        """End every fault."""
        for phone in list(self._until):
            self._heal(phone)
        for _, process in self._stopped:
            process.send(signal.SIGCONT)
        self._stopped.clear()

    def kill_server(self) -> bool:
        """SIGKILL the adb server; whether there was one."""
        record = read_server(self.places)
        if record is None or not record.process.alive():
            return False
        record.process.send(signal.SIGKILL)
        return True

    def hang_for_ever(self, phone: int) -> None:
        """Stop a phone's daemon until `calm`."""
        process = self._daemon_of(phone, signal.SIGSTOP)
        if process is not None:
            self._stopped.append((float("inf"), process))

    def processes_on(self, serialno: str, word: str) -> list[int]:
        """Pids, as the host sees them, of a phone's processes whose command has `word` in it."""
        mark = str(self.places.phone(serialno) / "root")
        found = []
        for name in os.listdir("/proc"):
            if not name.isdecimal():
                continue
            with suppress(OSError):
                words = Path(f"/proc/{name}/cmdline").read_bytes()
                if word.encode() not in words:
                    continue
                if mark in Path(f"/proc/{name}/mountinfo").read_text(errors="replace") or mark in words.decode(
                    errors="replace"
                ):
                    found.append(int(name))
        return found

    def _heal(self, phone: int) -> None:
        self._until.pop(phone, None)
        self._next.pop(phone, None)
        if self._plans[phone].connect is not None:
            self._put(phone, FaultPlan(unplugged=True))
            time.sleep(DROP_S)
        self._put(phone, NO_FAULTS)

    def _put(self, phone: int, plan: FaultPlan) -> None:
        self._plans[phone] = plan
        write_faults(self.places.phone(self.serialnos[phone]), plan)
        lifecycle.poke(self.home, self.serialnos[phone])

    def _kill_one(self, folder: Path, word: str) -> None:
        for pid in self.processes_on(folder.name, word)[:1]:
            process = identify(pid)
            if process is not None:
                process.send(signal.SIGKILL)

    def _hang(self, event: PhoneFault, now_s: float) -> None:
        process = self._daemon_of(event.phone, signal.SIGSTOP)
        if process is not None:
            self._stopped.append((now_s + event.lasts_s, process))

    def _daemon_of(self, phone: int, number: signal.Signals) -> ProcessId | None:
        record = read_phone(self.places.phone(self.serialnos[phone]))
        if record is None or not record.daemon.alive():
            return None
        record.daemon.send(number)
        return record.daemon


def plan_of(event: PhoneFault) -> FaultPlan:
    """A fault as the phone's `faults.json` has it."""
    drop = {Fault.PUSH_DROP: DropKind.PUSH, Fault.PULL_DROP: DropKind.PULL, Fault.SHELL_DROP: DropKind.SHELL}
    if event.fault in drop:
        times = 1 + event.figure % 3
        return FaultPlan(drop=Drop(kind=drop[event.fault], after_bytes=event.figure, times=times))
    match event.fault:
        case Fault.UNPLUGGED:
            return FaultPlan(unplugged=True)
        case Fault.OFFLINE:
            return FaultPlan(connect=ConnectFault.OFFLINE)
        case Fault.UNAUTHORIZED:
            return FaultPlan(connect=ConnectFault.UNAUTHORIZED)
        case Fault.FULL:
            return FaultPlan(full_after_bytes=event.figure)
        case Fault.HOSTILE_NAMES:
            return FaultPlan(extra_names=HOSTILE)
        case Fault.WRONG_SIZES:
            return FaultPlan(stat_size_bytes=event.figure)
        case Fault.CUT_FILES:
            return FaultPlan(recv_size_bytes=event.figure)
        case Fault.ENDLESS_OUTPUT:
            return FaultPlan(endless_output=True)
        case Fault.EXIT_MISSING:
            return FaultPlan(shell_exit=ShellExit.MISSING)
        case Fault.EXIT_WRONG:
            return FaultPlan(shell_exit=ShellExit.WRONG)
        case _:
            raise ValueError(f"{event.fault} is not in a plan")
