"""The real `orch`, run as a process over a home of its own.

`start_afresh` starts it as people do; `start` and a call, to its end, fork a process that has its modules loaded.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.forked_orch import ROOT, Piped, fork_orch, fork_piped
from tests.no_phones import PORT_VARIABLE, empty_server_port


def cpu_plan(folder: Path) -> Path:
    """A plan without models, of four settings on the CPU: for what does not depend on how much is measured."""
    plan = folder / "cpu.toml"
    plan.write_text('[[matrix]]\nrecipe = ["onnx", "basic", "all", "all runtime"]\n')
    return plan


def wait_for_line(process: subprocess.Popen[str] | Piped, start: str) -> None:
    """Read a command's stderr up to a line that starts so."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(start):
            return
    raise AssertionError(f"no line {start!r} before the end: exit {process.wait()}")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, its streams as text."""

    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Orch:
    """The command line over one home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.env = {
            **os.environ,
            "ORCH_HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "ORCH_TRACEBACK": "1",
            "NO_COLOR": "1",
            PORT_VARIABLE: str(empty_server_port()),
        }

    def start(self, *words: str | Path) -> Piped:
        """Start a command and leave it running, with its streams as pipes."""
        return fork_piped(list(map(str, words)), env=self.env, cwd=self.home.parent)

    def start_afresh(self, *words: str | Path, **extra: object) -> subprocess.Popen[str]:
        """The same with a Python of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "orchestrator", *map(str, words)],
            env=self.env,
            cwd=self.home.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **extra,  # type: ignore[call-overload]
        )

    def __call__(self, *words: str | Path, timeout_s: float = 180.0) -> Ended:
        """Run a command to its end, in a fork of a process that has its modules loaded."""
        argv = list(map(str, words))
        with tempfile.TemporaryDirectory(prefix="orch-said-") as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            command = fork_orch(argv, env=self.env, cwd=self.home.parent, out=out, err=err)
            try:
                code = command.wait(timeout_s)
            except TimeoutError:
                command.send(signal.SIGKILL)
                command.wait()
                said = f"{out.read_text()}\n{err.read_text()}"
                raise AssertionError(f"orch {' '.join(argv)} took over {timeout_s} s\n{said}") from None
            return Ended(code, out.read_text(), err.read_text())

    def counts(self, run: str = "@last") -> dict[str, int]:
        """A run's planned, measured, failed, skipped."""
        ended = self("runs", "--json")
        rows = json.loads(ended.out)
        row = rows[0] if run == "@last" else next(one for one in rows if one["run_id"] == run)
        return {name: row[name] for name in ("planned", "measured", "failed", "skipped")}

    def end(self) -> None:
        """End the virtual phones of this home."""
        self("virtual", "down")
