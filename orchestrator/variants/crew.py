"""Build what is missing on a shelf: several worker processes at once, each serving many jobs."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from orchestrator.errors import VariantError
from orchestrator.variants import notation
from orchestrator.variants.dims import Dims
from orchestrator.variants.naming import shown
from orchestrator.variants.recipe import Model, Recipe, Variant
from orchestrator.variants.shelf import Shelf, variant_id_of

Request = tuple[Model, Recipe, Dims]
Result = Variant | VariantError

_SOURCES = str(Path(__file__).resolve().parents[2])
_TAIL_BYTES = 2000


def build_variants(
    requests: Sequence[Request],
    shelf: Shelf,
    *,
    on_built: Callable[[Result], None] | None = None,
    processes: int | None = None,
) -> list[Result]:
    """The variant for each request, in order, or the VariantError that says why there is none.

    What is on the shelf is taken from it; the rest is built by `processes` workers (default: one a core), the same
    request once. `on_built` is called in this thread as results come, cached ones first. Ending early (an exception,
    Ctrl-C) ends the workers. Raises OSError where no worker can be started.
    """
    found: dict[str, Result] = {}
    missing: dict[str, Request] = {}
    ids = [variant_id_of(*request) for request in requests]
    for variant_id, request in zip(ids, requests, strict=True):
        if variant_id in found or variant_id in missing:
            continue
        variant = shelf.find(*request)
        if variant is None:
            missing[variant_id] = request
            continue
        found[variant_id] = variant
        if on_built is not None:
            on_built(variant)
    for variant_id, result in _build(missing, shelf, processes or os.cpu_count() or 1):
        found[variant_id] = result
        if on_built is not None:
            on_built(result)
    return [_for_model(found[variant_id], request[0]) for variant_id, request in zip(ids, requests, strict=True)]


def _for_model(result: Result, model: Model) -> Result:
    """The same bytes may be asked for under two names."""
    if isinstance(result, VariantError) or result.model == model:
        return result
    fields = {name: getattr(result, name) for name in Variant.__slots__}
    return Variant(**(fields | {"model": model}))


def _build(missing: Mapping[str, Request], shelf: Shelf, processes: int) -> Iterator[tuple[str, Result]]:
    jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
    for variant_id in sorted(missing, key=lambda item: -missing[item][0].size_bytes):
        jobs.put(variant_id)
    done: queue.SimpleQueue[tuple[str, str | None]] = queue.SimpleQueue()
    if missing:
        shelf.sweep()
    with contextlib.ExitStack() as stack:
        for _ in range(min(processes, len(missing))):
            worker = _Worker()
            stack.callback(worker.stop)
            lane = threading.Thread(target=_lane, args=(worker, missing, shelf, jobs, done), daemon=True)
            lane.start()
        for _ in missing:
            variant_id, error = done.get()
            variant = shelf.find(*missing[variant_id]) if error is None else None
            yield variant_id, variant or VariantError(error or "the shelf lost it as soon as it was built")


def _lane(
    worker: _Worker,
    missing: Mapping[str, Request],
    shelf: Shelf,
    jobs: queue.SimpleQueue[str],
    done: queue.SimpleQueue[tuple[str, str | None]],
) -> None:
    while True:
        try:
            variant_id = jobs.get_nowait()
        except queue.Empty:
            worker.stop()
            return
        model, recipe, dims = missing[variant_id]
        job = {
            "shelf": os.fspath(shelf.root.absolute()),
            "path": os.fspath(model.path.absolute()),
            "digest": model.digest,
            "recipe": notation.recipe_to_plain(recipe),
            "dims": notation.dims_to_plain(dims),
        }
        done.put((variant_id, worker.ask(job)))


class _Worker:
    """One worker process: started when first asked and again after it died, until it is stopped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._words = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the worker

    def ask(self, job: Mapping[str, Any]) -> str | None:
        """Have one job done: None, or why it was not. A worker that dies over it is the reason."""
        try:
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
                self._process = _start(self._words)
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
        return shown(f"the process that built it {how}: {said or problem or 'no word from it'}")

    def stop(self) -> None:
        """End the process, at once if it is busy, and start no other. Safe to call again, from any thread."""
        with self._lock:
            self._stopped = True
            process, self._process = self._process, None
            if process is not None:
                _end(process)


def _start(words: IO[bytes]) -> subprocess.Popen[str]:
    """A worker in a process group of its own: what Ctrl-C means for builds is for the caller to decide."""
    path = os.pathsep.join(filter(None, (_SOURCES, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "orchestrator.variants.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=words,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        process_group=0,
    )


def _end(process: subprocess.Popen[str]) -> int:
    process.kill()
    code = process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.close()
    return code
