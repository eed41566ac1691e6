"""One `orch run` after another over a home, each going on where the one before was killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import ExitCode
from orchestrator.home import LEDGER_FILE, Home
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import RunState
from tests.forked_orch import ROOT, Forked, fork_orch

SURPRISES = (ExitCode.BUG, ExitCode.USAGE, ExitCode.GATE_FAILED)
"""Exit codes that nothing in a story asks for."""


class Lives:
    """`begin` begins a run; what each process said lies in `logs`, a file a process."""

    def __init__(self, home: Path, begin: Sequence[str]) -> None:
        self.home = home
        self.begin = list(begin)
        self.logs = home.parent / "logs"
        self.logs.mkdir(exist_ok=True)
        self.codes: list[int] = []
        self.surprises: list[str] = []
        self._env = environment(home)
        self._command: Forked | None = None
        self._ended = threading.Event()
        self._log = self.logs
        self._code = 0

    def start(self, words: Sequence[str]) -> None:
        """Start a command in the background."""
        number = len(self.codes) + 1
        log = self.logs / f"{number:03d}-{words[0]}"
        self._ended.clear()
        log.touch()  # who is killed at once has not made it
        self._command = fork_orch(words, env=self._env, cwd=self.home.parent, out=log, err=log)
        self._log = log
        threading.Thread(target=self._wait, args=(self._command,), daemon=True).start()

    def go_on(self) -> None:
        """Go on with the newest run, also where nothing is left of it; begin one where there is none."""
        newest = next(iter(self.runs()), "")
        self.start(self.resume(newest) if newest else self.begin)

    def resume(self, run_id: str) -> list[str]:
        """The words that go on with a run."""
        return ["resume", run_id]

    def running(self) -> bool:
        """Whether the command that was started last still runs; its code is kept once it does not."""
        if self._command is None or not self._ended.is_set():
            return self._command is not None
        self._command = None
        self.codes.append(self._code)
        if self._code in SURPRISES or "Traceback" in self._log.read_text(errors="replace"):
            self.surprises.append(f"{self._log.name}: exit {self._code}: {_last_lines(self._log)}")
        return False

    def kill(self) -> bool:
        """SIGKILL it; whether it still ran."""
        if self._command is None or self._ended.is_set():
            return False
        self._command.send(signal.SIGKILL)
        self._ended.wait(30.0)
        return True

    def finish(self, timeout_s: float) -> bool:
        """Wait for its end; whether it came."""
        return self._ended.wait(timeout_s) and not self.running()

    def runs(self) -> dict[str, RunState]:
        """Every run, newest first, and where it stands."""
        if not (self.home / LEDGER_FILE).exists():
            return {}
        ledger = Ledger.open(Home(self.home).root)
        try:
            return {one.run.run_id: one.state for one in ledger.runs()}
        finally:
            ledger.close()

    def said(self) -> str:
        """What the command that was started last has said."""
        return self._log.read_text(errors="replace")

    def _wait(self, command: Forked) -> None:
        self._code = command.wait()
        self._ended.set()


def environment(home: Path) -> Mapping[str, str]:
    """What a command over this home runs in."""
    rest = {name: value for name, value in os.environ.items() if not name.startswith("ORCH_")}
    return {**rest, "ORCH_HOME": str(home), "PYTHONPATH": str(ROOT), "ORCH_TRACEBACK": "1", "NO_COLOR": "1"}


def strays(home: Path, own: set[int]) -> list[str]:
    """Processes that still have this home in their environment, but for `own` (daemons, the adb server)."""
    mark = f"ORCH_HOME={home}".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) not in own:
            with suppress(OSError):
                if mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    words = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ")
                    found.append(f"{name} {words.decode(errors='replace')[:200]}")
    return found


def _last_lines(log: Path) -> str:
    return " | ".join(log.read_text(errors="replace").strip().splitlines()[-4:])
