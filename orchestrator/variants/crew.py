"""Worker processes that do jobs: several at once, each serving many; one that dies costs the job it had."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import IO, Any

from orchestrator.variants.naming import shown

Job = Mapping[str, Any]

_SOURCES = str(Path(__file__).resolve().parents[2])
_TAIL_BYTES = 2000
_HUGE_PAGES = "glibc.malloc.hugetlb=1"
"""Building is a third page faults, for large blocks that live a moment; glibc before 2.35 takes no notice."""


class Ahead:
    """A worker that starts before its jobs are known: its imports take longer than most builds. A context manager."""

    def __init__(self) -> None:
        self._worker: _Worker | None = None

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *_: object) -> None:
        """End it, where nobody took it."""
        worker = self.take()
        if worker is not None:
            worker.stop()

    def start(self) -> None:
        """Let it start, where none does already."""
        if self._worker is None:
            self._worker = _Worker(idle=False)
            self._worker.start()

    def take(self) -> _Worker | None:
        """The worker, for whom it is to serve and who ends it; once."""
        worker, self._worker = self._worker, None
        return worker


def do_jobs(
    jobs: Mapping[str, Job], processes: int, *, idle: bool = False, ahead: Ahead | None = None
) -> Generator[tuple[str, str | None], None, None]:
    """Each job's id, as it ends, with None or why it was not done (`worker` says what a job is); first in, first begun.

    Closing the iterator early ends the workers. A job whose worker can't be started or dies is not done. `idle`
    workers only get what time nobody else wants. The first worker is the one that starts `ahead`, where one does.
    """
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for job_id in jobs:
        waiting.put(job_id)
    done: queue.SimpleQueue[tuple[str, str | None]] = queue.SimpleQueue()
    with contextlib.ExitStack() as stack:
        for _ in range(min(processes, len(jobs))):
            worker = (ahead.take() if ahead is not None else None) or _Worker(idle)
            stack.callback(worker.stop)
            threading.Thread(target=_lane, args=(worker, jobs, waiting, done), daemon=True).start()
        for _ in jobs:
            yield done.get()


def _lane(
    worker: _Worker,
    jobs: Mapping[str, Job],
    waiting: queue.SimpleQueue[str],
    done: queue.SimpleQueue[tuple[str, str | None]],
) -> None:
    worker.await_ready()  # one that is up already may have done all the jobs by then
    while True:
        try:
            job_id = waiting.get_nowait()
        except queue.Empty:
            worker.stop()
            return
        done.put((job_id, worker.ask(jobs[job_id])))


class _Worker:
    """One worker process: started when first asked and again after it died, until it is stopped."""

    def __init__(self, idle: bool) -> None:
        self._idle = idle
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._ready = False
        self._words = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the worker

    def start(self) -> None:
        """Start the process now; one that can't be started is told of by the first job."""
        with contextlib.suppress(OSError):
            self._pipes()

    def await_ready(self) -> None:
        """Start the process, and wait until it says that it takes jobs; what goes wrong is told of by the first job."""
        with contextlib.suppress(OSError, ValueError):
            _, answers = self._pipes()
            if not self._ready:
                self._ready = bool(answers.readline())

    def ask(self, job: Job) -> str | None:
        """Have one job done: None, or why it was not. A worker that dies over it is the reason."""
        try:
            self.await_ready()
            jobs, answers = self._pipes()
            jobs.write(json.dumps(job) + "\n")
            jobs.flush()
            line = answers.readline()
            if line:
                error = json.loads(line)["error"]
                return None if error is None else str(error)
        except (OSError, ValueError) as problem:
            return self._bury(str(problem))
        return self._bury("")

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        with self._lock:
            if self._stopped:
                raise OSError("stopped")
            if self._process is None:
                self._process, self._ready = _start(self._words), False
                if self._idle:
                    _only_when_idle(self._process.pid)
            stdin, stdout = self._process.stdin, self._process.stdout
            if stdin is None or stdout is None:
                raise OSError("no pipes")
            return stdin, stdout

    def _bury(self, problem: str) -> str:
        """Clear a dead worker away; the words to remember it by."""
        with self._lock:
            process, self._process = self._process, None
            if self._stopped or process is None:
                return problem or "stopped"
            code = _end(process)
            size = self._words.seek(0, os.SEEK_END)
            self._words.seek(max(0, size - _TAIL_BYTES))
            said = self._words.read().decode(errors="replace").strip().rpartition("\n")[2]
        how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
        return shown(f"the process that did it {how}: {said or problem or 'no word from it'}")

    def stop(self) -> None:
        """End the process, at once if it is busy, and start no other. Safe to call again, from any thread."""
        with self._lock:
            self._stopped = True
            process, self._process = self._process, None
            if process is not None:
                _end(process)
            self._words.close()


def _start(words: IO[bytes]) -> subprocess.Popen[str]:
    """A worker in a process group of its own: what Ctrl-C means for builds is for the caller to decide."""
    path = os.pathsep.join(filter(None, (_SOURCES, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "orchestrator.variants.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=words,
        text=True,
        env={"GLIBC_TUNABLES": _HUGE_PAGES, "ORT_DISABLE_TELEMETRY": "1", **os.environ, "PYTHONPATH": path},
        process_group=0,
    )


def _only_when_idle(pid: int) -> None:
    """The kernel's lowest class, where there is one: what a phone on this computer measures is hardly disturbed."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, pid, 19)
        os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))


def _end(process: subprocess.Popen[str]) -> int:
    """Kill it with what it started (another Python that converts): they are one process group."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    code = process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.close()
    return code
