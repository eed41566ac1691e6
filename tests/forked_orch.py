"""The real `orch` as a fork of a process that has its modules loaded: many short processes to kill, in little time.

with ForkedOrch(home) as forked:
    forked.start("run", model, "--prepare")
    forked.send(signal.SIGKILL)
    code = forked.wait()
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from tests.orch_cli import ROOT

_MODULES = (
    "orchestrator.cli.main", "orchestrator.cli.run", "orchestrator.cli.live", "orchestrator.cli.devices",
    "orchestrator.cli.answer", "orchestrator.app.preparing", "orchestrator.app.listing", "orchestrator.farm.lane",
    "orchestrator.report.devices", "orchestrator.report.terminal", "android_runner.verdict",
    "android_runner.virtual.lifecycle", "pandas", "sqlalchemy.dialects.sqlite", "adbutils",
)  # fmt: skip


class ForkedOrch:
    """One command at a time over one home; stderr and stdout of the last lie in `log`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._pidfd: int | None = None
        self.log = home.parent / f"{home.name}.log"
        env = {**os.environ, "ORCH_HOME": str(home), "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.forked_orch"],
            env=env, cwd=home.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __enter__(self) -> ForkedOrch:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stdin.close()
        self._server.wait(timeout=20)
        self._stdout.close()

    @property
    def _stdin(self) -> TextIO:
        assert self._server.stdin is not None
        return self._server.stdin

    @property
    def _stdout(self) -> TextIO:
        assert self._server.stdout is not None
        return self._server.stdout

    def start(self, *words: str | Path) -> None:
        """Start a command."""
        self.log.write_text("")
        self._stdin.write(json.dumps({"log": str(self.log), "argv": [str(one) for one in words]}) + "\n")
        self._stdin.flush()
        pid = int(self._stdout.readline())
        with suppress(ProcessLookupError):  # it has ended by now
            self._pidfd = os.pidfd_open(pid)

    def send(self, number: int) -> None:
        """Send a signal to the command that was started last, unless it has ended."""
        if self._pidfd is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def wait(self) -> int:
        """The exit code of the command that was started last; minus the signal that ended it."""
        code = int(self._stdout.readline())
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        return code

    def __call__(self, *words: str | Path) -> tuple[int, str]:
        """Run a command to its end: exit code, and what it printed."""
        self.start(*words)
        return self.wait(), self.log.read_text()

    def said(self, words: str, *, seconds_s: float = 30.0) -> bool:
        """Wait until the command has printed these words; whether it did."""
        until = time.monotonic() + seconds_s
        while time.monotonic() < until:
            if words in self.log.read_text():
                return True
            time.sleep(0.002)
        return False


def _serve() -> None:
    import importlib

    for name in _MODULES:
        importlib.import_module(name)
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _be_orch(order["log"], order["argv"])
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _be_orch(log: str, argv: list[str]) -> None:
    from orchestrator.cli.main import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    target = os.open(log, os.O_WRONLY | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(target, descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["orch", *argv]
    code = 70
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
