"""A folder of this machine as a phone: its shells, its processes, its files, no adb in between.

For tests of the phone script under each shell, and of what follows it. What adb adds is tested over virtual phones.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from android_runner.block import Block, TrialTask
from android_runner.deadline import Deadline, SystemClock
from android_runner.device import (
    DirEntry,
    FileStat,
    PhonePath,
    PullItem,
    PushedFile,
    PushItem,
    Serial,
    ShellResult,
)
from android_runner.errors import LinkLost
from android_runner.phone.journal import Journal, parse_journal
from android_runner.phone.listing import render_list, script_source

SHELLS = {
    "dash": ("dash",),
    "mksh": ("mksh",),
    "mksh-toybox": ("mksh",),
    "busybox": ("busybox", "ash"),
    "bash": ("bash",),
}
PHONE_SHELLS = ("mksh-toybox", "dash", "busybox")
"""Android's own shell and tools, and the two others that stand for whatever a phone may have."""

TOYBOX_TOOLS = ("cat", "kill", "ls", "mkdir", "mv", "rm", "setsid", "sleep", "sync")
SCRIPT = PhonePath("/data/local/tmp/orch/staged/script/run_block.sh")
ZONES = {"cpu-0-0": "41500", "battery": "30100"}


def shell_or_skip(name: str) -> tuple[str, ...]:
    """The shell's command; skips the test, naming it, where the machine lacks it."""
    wanted = [SHELLS[name][0], *(["toybox"] if name.endswith("toybox") else [])]
    missing = [tool for tool in wanted if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"this machine has no {', '.join(missing)}")
    program, *words = SHELLS[name]
    return (str(shutil.which(program)), *words)


def until(condition: Callable[[], object], *, seconds_s: float = 20.0, what: str = "") -> None:
    """Wait for a condition; fails the test when it does not come true."""
    end_s = time.monotonic() + seconds_s
    while not condition():
        assert time.monotonic() < end_s, f"waited {seconds_s} s for {what or condition}"
        time.sleep(0.01)


class HostPhone:
    """`android_runner.device.Device` over a folder, with a switch that cuts the link."""

    def __init__(self, root: Path, shell_name: str) -> None:
        self.root = root
        self.shell_command = shell_or_skip(shell_name)
        self.up = True
        self.calls = 0
        self.boot_id = root / "proc/sys/kernel/random/boot_id"
        self._env = dict(os.environ, ORCH_ROOT=str(root))
        tools = root / "tools"
        tools.mkdir(parents=True)
        if shell_name.endswith("toybox"):
            for tool in TOYBOX_TOOLS:
                (tools / tool).symlink_to(str(shutil.which("toybox")))
        (tools / "sh").write_text(f'#!/bin/sh\nexec {" ".join(self.shell_command)} "$@"\n')
        (tools / "sh").chmod(0o755)
        self._env["PATH"] = f"{tools}:{self._env['PATH']}"
        self.tools = tools
        self.boot("11111111-2222-3333-4444-555555555555")
        for number, (name, raw) in enumerate(ZONES.items()):
            self.write(f"/sys/class/thermal/thermal_zone{number}/type", name)
            self.write(f"/sys/class/thermal/thermal_zone{number}/temp", raw)
        self.write("/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "1800000")
        self.write("/sys/class/power_supply/battery/capacity", "88")
        self.write("/sys/class/power_supply/battery/temp", "301")
        self.write(SCRIPT, script_source().decode())

    @property
    def serial(self) -> Serial:
        return Serial("host")

    def local(self, path: str) -> Path:
        """Where a path of the phone lies on this machine."""
        return self.root / path.lstrip("/")

    def write(self, path: str, text: str) -> None:
        """Put a text file on the phone, one line end added."""
        target = self.local(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n")

    def keep_tools(self, *names: str) -> None:
        """From now on PATH holds only these commands and `sh`: toybox's on a phone that has it, else this machine's."""
        for name in names:
            if not (self.tools / name).is_symlink():
                (self.tools / name).symlink_to(str(shutil.which(name)))
        self._env["PATH"] = str(self.tools)

    def boot(self, boot_id: str) -> None:
        """Give the phone a new boot id."""
        self.write("/proc/sys/kernel/random/boot_id", boot_id)

    def lease(self) -> str:
        """What the lease reads."""
        return self.local("/data/local/tmp/orch/lease").read_text().strip()

    # --- processes ---

    def start(self, block: Block) -> subprocess.Popen[bytes]:
        """Start the script on a block as start_block does, but as a child of the test."""
        self.write(block.directory / "list", render_list(block).decode().rstrip("\n"))
        argv = [*self.shell_command, str(self.local(SCRIPT)), str(self.local(block.directory)), str(block.epoch)]
        return subprocess.Popen(
            argv,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def run(self, block: Block, *, seconds_s: float = 30.0) -> Journal:
        """Run a block to its end."""
        self.start(block).wait(timeout=seconds_s)
        return self.journal(block)

    def journal(self, block: Block) -> Journal:
        """The journal as it is now."""
        path = self.local(block.directory / "journal")
        return parse_journal(path.read_bytes() if path.exists() else b"", block)

    def processes(self) -> dict[int, str]:
        """Every living process that was started on this phone, by pid."""
        mark = f"ORCH_ROOT={self.root}".encode()
        found: dict[int, str] = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if mark not in (entry / "environ").read_bytes().split(b"\0"):
                    continue
                state = (entry / "stat").read_text().rpartition(") ")[2][:1]
                if state != "Z":
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def end_all(self) -> None:
        """End what a failed test left."""
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    # --- the port ---

    def _answer(self) -> None:
        self.calls += 1
        if not self.up:
            raise LinkLost("host: cut by the test")

    def shell(
        self, command: str, *, deadline: Deadline, stdin: bytes = b"", max_output_bytes: int = 1 << 24
    ) -> ShellResult:
        self._answer()
        done = subprocess.run(
            [*self.shell_command, "-c", command],
            env=self._env,
            input=stdin,
            capture_output=True,
            timeout=deadline.remaining_s(),
            cwd="/",
            check=False,
        )
        return ShellResult(done.returncode & 255, done.stdout, done.stderr, 0.0)

    def push(self, items: Sequence[PushItem], *, deadline: Deadline) -> list[PushedFile]:
        self._answer()
        for item in items:
            target = self.local(item.target)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(item.source if isinstance(item.source, bytes) else item.source.read_bytes())
            target.chmod(item.mode)
        return [PushedFile(item.target, self.local(item.target).stat().st_size, "") for item in items]

    def pull(self, items: Sequence[PullItem], *, deadline: Deadline) -> list[bool]:
        self._answer()
        there = [self.local(item.source).is_file() for item in items]
        for item, found in zip(items, there, strict=True):
            if found:
                shutil.copyfile(self.local(item.source), item.target)
        return there

    def read(self, path: PhonePath, *, deadline: Deadline, max_bytes: int) -> bytes | None:
        self._answer()
        return self.local(path).read_bytes() if self.local(path).is_file() else None

    def stat(self, paths: Sequence[PhonePath], *, deadline: Deadline) -> list[FileStat | None]:
        self._answer()
        return [_stat(self.local(path)) for path in paths]

    def listing(self, path: PhonePath, *, deadline: Deadline) -> list[DirEntry]:
        self._answer()
        folder = self.local(path)
        entries = sorted(folder.iterdir()) if folder.is_dir() else []
        return [DirEntry(entry.name, stat) for entry in entries if (stat := _stat(entry)) is not None]


def _stat(path: Path) -> FileStat | None:
    if not path.is_symlink() and not path.exists():
        return None
    stat = path.lstat()  # as adbd's LIST does
    return FileStat(stat.st_mode, stat.st_size, int(stat.st_mtime))


def task(task_id: str, *argv: str, deadline_s: int = 20, env: dict[str, str] | None = None) -> TrialTask:
    """A trial of shell words; `sh` in it is the machine's."""
    return TrialTask(task_id=task_id, argv=argv, deadline_s=deadline_s, env=env or {})


def block_of(*tasks: TrialTask, block_id: str = "b1", epoch: int = 5) -> Block:
    """A block under epoch 5."""
    return Block(block_id=block_id, epoch=epoch, tasks=tasks)


def soon(seconds_s: float = 20.0) -> Deadline:
    """A deadline for one call."""
    return Deadline.after(seconds_s, SystemClock())
