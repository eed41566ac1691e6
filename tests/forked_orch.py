"""The real `orch` as a fork of a process that has its modules loaded: a command costs what it does, not its imports.

`Orch.start_afresh` starts a Python of its own, as people do; what is asked hundreds of times goes this way.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.no_phones import PORT_VARIABLE, empty_server_port

ROOT = Path(__file__).parent.parent
_MODULES = (
    "orchestrator.cli.main", "orchestrator.cli.run", "orchestrator.cli.live", "orchestrator.cli.devices",
    "orchestrator.cli.answer", "orchestrator.cli.model", "orchestrator.cli.reports", "orchestrator.cli.virtual",
    "orchestrator.app.preparing", "orchestrator.app.planning", "orchestrator.app.listing", "orchestrator.farm.lane",
    "orchestrator.report.devices", "orchestrator.report.terminal", "orchestrator.report.markdown",
    "android_runner.verdict", "android_runner.trace", "android_runner.virtual.lifecycle", "onnx", "pandas",
    "orchestrator.report.html.page", "orchestrator.cli.nightly", "orchestrator.cli.night", "scipy.special",
    "orchestrator.variants.undeclared", "pyarrow.pandas_compat", "jinja2", "sqlite3", "sqlalchemy.dialects.sqlite",
    "adbutils", "adbutils.binaries",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Forked:
    """A command that was started; its streams go to files."""

    pid: int
    _answers: socket.socket
    _pidfd: int | None

    def send(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self._pidfd is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def ended(self, within_s: float) -> bool:
        """Whether it ends within so many seconds; returns as soon as it does."""
        return bool(select.select([self._answers], [], [], within_s)[0])

    def wait(self, timeout_s: float | None = None) -> int:
        """Its exit code; minus the signal that ended it. Raises TimeoutError; it runs on then."""
        self._answers.settimeout(timeout_s)
        code = int(_line(self._answers))
        self._answers.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
        return code


class Piped:
    """A command that was started, with its streams as pipes: what tests use of `subprocess.Popen`."""

    def __init__(self, forked: Forked, out: int, err: int) -> None:
        self.pid = forked.pid
        self.returncode: int | None = None
        self.stdout, self.stderr = os.fdopen(out), os.fdopen(err)
        self._forked = forked

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            self._forked.send(number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """Its exit code, None while it runs."""
        return self.wait() if self.returncode is None and self._forked.ended(0) else self.returncode

    def wait(self) -> int:
        """Its exit code; minus the signal that ended it."""
        if self.returncode is None:
            self.returncode = self._forked.wait()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it still says on both streams, to their ends. Raises TimeoutError; it runs on then."""
        with ThreadPoolExecutor(2) as pool:
            said = [pool.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                out, err = (one.result(timeout) for one in said)
            except TimeoutError:
                self.kill()  # which ends both
                raise
        self.stdout.close()
        self.stderr.close()
        self.wait()
        return out, err


def fork_piped(words: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> Piped:
    """Start a command, to be read from while it runs; stdin is empty."""
    (out, to_out), (err, to_err) = os.pipe(), os.pipe()
    return Piped(_fork(words, env, cwd, to_out, to_err), out, err)


def fork_orch(words: Sequence[str], *, env: Mapping[str, str], cwd: Path, out: Path, err: Path) -> Forked:
    """Start a command; stdin is empty."""
    to_out, to_err = (os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for path in (out, err))
    return _fork(words, env, cwd, to_out, to_err)


def _fork(words: Sequence[str], env: Mapping[str, str], cwd: Path, out: int, err: int) -> Forked:
    """Start a command on these two descriptors, which are closed here."""
    answers = socket.socket(socket.AF_UNIX)
    answers.connect(_server())
    order = {"argv": list(words), "env": dict(env), "cwd": str(cwd)}
    socket.send_fds(answers, [b"\n"], [out, err])
    os.close(out)
    os.close(err)
    answers.sendall(json.dumps(order).encode() + b"\n")
    pid = int(_line(answers))
    pidfd = None
    with suppress(ProcessLookupError):  # it has ended by now
        pidfd = os.pidfd_open(pid)
    return Forked(pid, answers, pidfd)


class ForkedOrch:
    """One command at a time over one home; stderr and stdout of the last lie in `log`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.log = home.parent / f"{home.name}.log"
        self._cwd = home.parent
        self._env = {
            **os.environ, "ORCH_HOME": str(home), "PYTHONPATH": str(ROOT), "NO_COLOR": "1",
            PORT_VARIABLE: str(empty_server_port()),
        }  # fmt: skip
        self._command: Forked | None = None

    def start(self, *words: str | Path) -> None:
        """Start a command."""
        self.log.write_text("")
        self._command = fork_orch(list(map(str, words)), env=self._env, cwd=self._cwd, out=self.log, err=self.log)

    def send(self, number: int) -> None:
        """Send a signal to the command that was started last, unless it has ended."""
        assert self._command is not None
        self._command.send(number)

    def ended(self, within_s: float) -> bool:
        """Whether the command that was started last ends within so many seconds; returns as soon as it does."""
        assert self._command is not None
        return self._command.ended(within_s)

    def wait(self) -> int:
        """The exit code of the command that was started last; minus the signal that ended it."""
        assert self._command is not None
        return self._command.wait()

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


@cache
def _server() -> str:
    """The address of this process's own server, which ends with this process."""
    path = os.path.join(tempfile.mkdtemp(prefix="orch-forks-"), "socket")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.forked_orch", path],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(_end, process)
    return path


def _end(process: subprocess.Popen[bytes]) -> None:
    with process:  # closes its streams, which ends it, and waits
        pass


def _line(answers: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = answers.recv(1)  # no more than this line: the next one is for who asks then
        if not piece:
            raise AssertionError("the server of forks is gone")
        line += piece
    return line


def _serve(path: str) -> None:
    for name in _MODULES:
        importlib.import_module(name)
    importlib.import_module("orchestrator.report.html.page").template()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        os.write(1, b"ready\n")
        while True:
            ready, _, _ = select.select([0, listener], [], [])
            if 0 in ready:
                break
            answers, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _attend(answers)
            answers.close()
    os.unlink(path)
    os.rmdir(os.path.dirname(path))


def _attend(answers: socket.socket) -> None:
    """Be the parent of one command: tell its pid, then how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(answers, 1, 2)
    with answers.makefile("rb") as orders:
        order = json.loads(orders.readline())
    pid = os.fork()
    if pid == 0:
        answers.close()
        _be_orch(order, streams)
    for stream in streams:
        os.close(stream)
    with suppress(OSError):  # who asked may be gone
        answers.sendall(b"%d\n" % pid)
        _, status = os.waitpid(pid, 0)
        answers.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _be_orch(order: Mapping[str, object], streams: Sequence[int]) -> None:
    from orchestrator.cli.main import main

    env, argv = order["env"], order["argv"]
    assert isinstance(env, dict)
    assert isinstance(argv, list)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(str(order["cwd"]))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, stream in enumerate(streams, start=1):
        os.dup2(stream, descriptor)
        os.close(stream)
    sys.argv = ["orch", *argv]
    code = 70
    try:
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
