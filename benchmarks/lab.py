"""A place of its own for one benchmark: home, virtual phones, the real `orch`, the plain `adb` beside it."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from android_runner.adb.server import adb_binary

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class Lab:
    """A home in a folder of its own; `files` is for what the benchmark makes."""

    home: Path
    files: Path

    def env(self) -> dict[str, str]:
        """The environment of `orch` here."""
        return {**os.environ, "ORCH_HOME": str(self.home), "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}

    def command(self, *words: str | Path) -> list[str]:
        """A command of `orch` as its argv."""
        return [sys.executable, "-m", "orchestrator", *map(str, words)]

    def orch(self, *words: str | Path) -> float:
        """Run a command of `orch`; the seconds from Enter to its end. Raises RuntimeError unless it exits 0."""
        begin_s = time.perf_counter()
        done = subprocess.run(
            self.command(*words), env=self.env(), cwd=self.files, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        took_s = time.perf_counter() - begin_s
        if done.returncode:
            raise RuntimeError(
                f"orch {shlex.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return took_s

    def phones(self, *profiles: str, slots: int = 0) -> list[str]:
        """Virtual phones, up; their transports' serials."""
        self.orch("virtual", "up", *profiles, "--virtual-slots", str(slots))
        listed = subprocess.run(
            self.command("virtual", "list", "--json"), env=self.env(), capture_output=True, text=True, check=True
        )
        return [str(one["serial"]) for one in json.loads(listed.stdout)]

    def adb(self, serial: str, *words: str | Path) -> str:
        """Run the plain `adb` against this home's server. Raises CalledProcessError when it fails."""
        done = subprocess.run(
            [*self.adb_words(serial), *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
        )
        return done.stdout

    def adb_words(self, serial: str) -> list[str]:
        """What a plain `adb` command against one phone begins with."""
        port = json.loads((self.home / "virtual" / "server.json").read_text())["port"]
        return [str(adb_binary()), "-P", str(port), "-s", serial]

    def rows(self, query: str, *values: object) -> list[Any]:
        """What the ledger answers."""
        connection = sqlite3.connect(f"file:{self.home / 'ledger.sqlite'}?mode=ro", uri=True)
        try:
            return connection.execute(query, values).fetchall()
        finally:
            connection.close()

    def last_run(self) -> str:
        """The newest run's name."""
        return str(self.rows("SELECT run_id FROM run ORDER BY created_at DESC LIMIT 1")[0][0])


@contextmanager
def lab() -> Iterator[Lab]:
    """A lab that is gone afterwards, with its phones."""
    with tempfile.TemporaryDirectory(prefix="orch-bench-", ignore_cleanup_errors=True) as folder:
        place = Lab(Path(folder) / "home", Path(folder) / "files")
        place.files.mkdir()
        try:
            yield place
        finally:
            place.orch("virtual", "down")


def mnist(folder: Path) -> Path:
    """The small model of the demo."""
    subprocess.run([sys.executable, "-m", "orchestrator.variants.samples", str(folder)], cwd=ROOT, check=True,
                   capture_output=True)  # fmt: skip
    return folder / "mnist.onnx"


def boot_clock_offset_s() -> float:
    """What to add to an uptime of this kernel (a virtual phone's too) to have seconds since the epoch."""
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def measured_span_s(place: Lab, run_id: str) -> float:
    """From the snapshot before the first trial until the last block's results were in the ledger, in seconds.

    The one end is the phone's clock (its snapshot's uptime), the other the host's when the ledger had committed the
    attempts; virtual phones have the host's kernel, and so its clock.
    """
    starts = [
        json.loads(before)["uptime_s"]
        for (before,) in place.rows("SELECT before_vitals FROM attempt WHERE run_id = ? AND purpose = 'time'", run_id)
    ]
    (closed,) = place.rows("SELECT max(closed_at) FROM block WHERE run_id = ?", run_id)[0]
    return datetime.fromisoformat(closed).timestamp() - (min(starts) + boot_clock_offset_s())


def all_measured(place: Lab, run_id: str, wanted: int) -> None:
    """Raises RuntimeError unless exactly so many trials were planned and measured."""
    states = [state for (state,) in place.rows("SELECT state FROM trial WHERE run_id = ?", run_id)]
    if states != ["measured"] * wanted:
        raise RuntimeError(f"{run_id}: {wanted} measured trials wanted, these are there: {sorted(states)}")


def write_plan(place: Lab, name: str, *, model: Path, rounds: int, iterations: int, matrix: str) -> Path:
    """A plan file of fixed iterations whose matrix is given as TOML; no trial but those of its matrix."""
    path = place.files / f"{name}.toml"
    path.write_text(
        f'name = "{name}"\nmodels = ["{model}"]\nrounds = {rounds}\niterations = {iterations}\nseed = 1\n'
        f"twins = false\ncanary = false\n{matrix}"
    )
    return path


def quoted(words: Sequence[str]) -> str:
    """Words as a shell takes them."""
    return shlex.join(words)
