"""What subnormal numbers cost on this host: the model as it is, with `set_denormal_as_zero`, and with its weights
flushed, measured in turn.

Each setting has a process of its own: onnxruntime sets the main thread's mode once in a process, by its first session.
All stay alive, and every round asks each of them once, in an order that turns, so that what changes on the host meets
all of them alike.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.errors import UsageError, VariantError
from orchestrator.variants.checks.facts import Arm, Dims, Measured
from orchestrator.variants.facts_of_model import save_changed
from orchestrator.variants.inputs import inputs_for
from orchestrator.variants.inspect import Inspection
from orchestrator.variants.read_onnx import bring_inside, fix_dims
from orchestrator.variants.steps.apply import Bench, apply_steps

ROUNDS = 15
ROUND_S = 0.05
"""Least seconds of inference of one setting in one round."""
MAX_RUNS = 2000
MAX_S = 60.0
"""Where the rounds would take longer there are fewer of them, down to `LEAST_ROUNDS`."""
LEAST_ROUNDS = 5
AS_IS, DENORMAL_AS_ZERO, FLUSHED = "as it is", "set_denormal_as_zero", "weights flushed"


def measure(path: Path, source: Inspection, dims: Dims, rounds: int = ROUNDS) -> Measured:
    """Measure the three settings on this host with one thread and inputs from a seed."""
    machine = platform.machine()
    with tempfile.TemporaryDirectory(prefix="orch-measure-") as folder:
        try:
            feeds = inputs_for(source.model, Path(folder) / "inputs", dims=dict(dims))
            models = _models(path, source, dims, Path(folder))
            files = [str(feeds.directory / name) for name in feeds.files]
            return _in_turn(machine, models, files, rounds)
        except (UsageError, OSError, ValueError, _TrialFailed) as error:
            return Measured(machine=machine, problem=str(error).partition("\n")[0])


class _TrialFailed(Exception):
    """A measuring process ended before it answered."""


def _models(path: Path, source: Inspection, dims: Dims, folder: Path) -> dict[str, tuple[Path, bool]]:
    """By setting: the model's file, and whether subnormal numbers are zero; two where there is nothing to flush."""
    made = {}
    for name in ("plain", "flushed"):
        (folder / name).mkdir()
    plain = save_changed(path, folder / "plain", source.external, lambda proto: fix_dims(proto, dims))
    flushed = folder / "flushed"

    def change(proto: Any) -> None:
        fix_dims(proto, dims)
        bring_inside(proto, path.resolve().parent)
        apply_steps(proto, ("flush-denormals",), Bench(scratch=folder))

    made[AS_IS] = (plain, False)
    made[DENORMAL_AS_ZERO] = (plain, True)
    with contextlib.suppress(VariantError):  # there is nothing to flush
        made[FLUSHED] = (save_changed(path, flushed, (), change), False)
    return made


def _in_turn(machine: str, models: Mapping[str, tuple[Path, bool]], files: Sequence[str], rounds: int) -> Measured:
    with contextlib.ExitStack() as stack:
        trials = {name: stack.enter_context(_Trial(path, files, zero)) for name, (path, zero) in models.items()}
        trials[AS_IS].ask(1)  # the first inference takes what others do not
        once_s = trials[AS_IS].ask(3)
        runs = max(1, min(MAX_RUNS, round(ROUND_S / max(once_s, 1e-7))))
        round_s = sum(runs * trial.ask(runs) for trial in trials.values())  # warm, too
        rounds = max(min(rounds, LEAST_ROUNDS), min(rounds, int(MAX_S / max(round_s, 1e-9))))
        names = list(trials)
        times: dict[str, list[float]] = {name: [] for name in names}
        for at in range(rounds):
            turn = at % len(names)
            for name in names[turn:] + names[:turn]:
                times[name].append(trials[name].ask(runs))
    arms = tuple(_arm(name, times[name], times[AS_IS]) for name in names)
    return Measured(machine=machine, rounds=rounds, runs_per_round=runs, arms=arms)


def _arm(name: str, times_s: Sequence[float], base_s: Sequence[float]) -> Arm:
    ratios = [one / other for one, other in zip(times_s, base_s, strict=True)]
    low, middle, high = statistics.quantiles(times_s, n=4, method="inclusive")
    ratio_low, ratio, ratio_high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Arm(
        name=name, median_s=middle, low_s=low, high_s=high, ratio=ratio, ratio_low=ratio_low, ratio_high=ratio_high
    )


class _Trial:
    """A process with one session that is asked for so many inferences."""

    def __init__(self, model: Path, files: Sequence[str], denormal_as_zero: bool) -> None:
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "orchestrator.variants.denormal_trial",
                str(model),
                str(int(denormal_as_zero)),
                *files,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (_SOURCES, os.environ.get("PYTHONPATH"))))},
            process_group=0,
        )

    def __enter__(self) -> _Trial:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._words.close()

    def ask(self, runs: int) -> float:
        """Seconds of one inference, the mean of `runs` in a row."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        line = ""
        with contextlib.suppress(OSError):
            stdin.write(f"{runs}\n")
            stdin.flush()
            line = stdout.readline()
        if not line:
            self._words.seek(0)
            said = self._words.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise _TrialFailed(f"the measuring process ended: {said or 'no word from it'}")
        answer = json.loads(line)
        return float(answer["seconds"])


_SOURCES = str(Path(__file__).resolve().parents[2])
