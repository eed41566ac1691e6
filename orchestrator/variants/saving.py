"""Saving an optimized model, by this installation's onnxruntime or by another Python's.

Only this step is the other's: a model is read, changed and looked at here, so that the other Python needs nothing but
its onnxruntime, and may be older than any that could read our own sources.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.errors import VariantError
from orchestrator.variants.converter import Converter, runtime, runtime_errors, runtime_words
from orchestrator.variants.naming import shown
from orchestrator.variants.standalone import save_session

_SCRIPT = Path(save_session.__file__)
HELLO_S = 60.0
"""An import of onnxruntime from a cold, slow disk takes seconds; a Python that hangs must not hang us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """One session that saves what it optimized: `level` is the name of a `GraphOptimizationLevel`."""

    source: Path
    target: Path
    level: str
    entries: Mapping[str, str] = field(default_factory=dict)
    disabled: tuple[str, ...] = ()


def save(saving: Saving, converter: Converter) -> None:
    """Save as asked. Raises VariantError with onnxruntime's own words; nothing lies at the target then."""
    job = {
        "source": os.fspath(saving.source.absolute()),
        "target": os.fspath(saving.target.absolute()),
        "level": saving.level,
        "entries": dict(saving.entries),
        "disabled": list(saving.disabled),
        "custom_ops": [path for path, _ in converter.custom_ops],
    }
    try:
        if converter.python:
            _save_there(job, converter)
        else:
            _save_here(job)
    except VariantError as error:
        # Over 2 GB and on a full disk onnxruntime leaves what it had begun, often an empty file.
        with contextlib.suppress(OSError):
            saving.target.unlink()
        free_bytes = shutil.disk_usage(saving.target.parent).free
        if free_bytes < saving.source.stat().st_size:
            raise VariantError(f"{error} ({free_bytes} bytes are free on the disk)") from error
        raise


def _save_here(job: Mapping[str, Any]) -> None:
    ort = runtime()
    try:
        save_session.save(ort, job)
    except runtime_errors() as error:
        raise VariantError(f"onnxruntime {ort.__version__}: {runtime_words(error)}") from error


def _save_there(job: Mapping[str, Any], converter: Converter) -> None:
    answer = ask_python(converter.python, json.dumps(job), timeout_s=None)
    if "error" in answer:
        words = runtime_words(RuntimeError(str(answer["error"])))
        raise VariantError(f"onnxruntime {converter.version} of {shown(converter.python)}: {words}")
    if answer.get("version") != converter.version:
        raise VariantError(
            f"{shown(converter.python)} has onnxruntime {shown(str(answer.get('version')))} now, not "
            f"{converter.version}: orch model converters add {shown(converter.python)}"
        )


def ask_python(python: str, job: str, *, timeout_s: float | None) -> dict[str, Any]:
    """What `save_session` answers under another Python; an empty job only asks for its version.

    Raises VariantError where it can't be started, dies, does not answer in time, or says what is no answer.
    """
    where = shown(python)
    try:
        done = subprocess.run(
            [python, "-E", str(_SCRIPT)],  # -E: our PYTHONPATH is for our Python
            input=job.encode(),
            capture_output=True,
            timeout=timeout_s,
            check=False,
            env={**os.environ, "ORT_DISABLE_TELEMETRY": "1"},
        )
        answer = json.loads(done.stdout) if done.returncode == 0 else None
    except OSError as error:
        raise VariantError(f"{where}: can't be started: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        raise VariantError(f"{where}: no answer within {timeout_s:.0f} s") from error
    except ValueError as error:
        raise VariantError(f"{where}: does not answer as a Python does") from error
    if not isinstance(answer, dict):
        said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        how = f"was killed by signal {-done.returncode}" if done.returncode < 0 else f"ended with {done.returncode}"
        raise VariantError(f"{where}: {how}: {shown(said) or 'no word from it'}")
    return answer
