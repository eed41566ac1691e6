"""A worker's job: check one model and write the report, or what is wrong with the file, as JSON."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from android_runner.ort import OrtVersion
from orchestrator.errors import Problem, UsageError, is_no_room
from orchestrator.variants.checks.report import CheckReport
from orchestrator.variants.checks.rules import check
from orchestrator.variants.crew import do_jobs
from orchestrator.variants.naming import shown
from orchestrator.variants.whole_files import write_whole

Checked = CheckReport | UsageError


def check_models(
    paths: Sequence[Path],
    dims: Mapping[str, int],
    target: OrtVersion | None,
    *,
    measured: bool,
    custom_ops: Sequence[str] = (),
) -> list[Checked]:
    """The report of each model, or why there is none. Measuring is done one model at a time; `custom_ops` are
    libraries, for this host, of operators that models may have.

    Raises OSError where no temporary folder can be made.
    """
    with tempfile.TemporaryDirectory(prefix="orch-check-") as folder:
        places = [Path(folder) / f"{at}.json" for at in range(len(paths))]
        jobs = {
            str(place): {
                "check": str(place),
                "path": os.fspath(path),
                "dims": dict(dims),
                "target": str(target or ""),
                "measure": measured,
                "custom_ops": list(custom_ops),
            }
            for place, path in zip(places, paths, strict=True)
        }
        with contextlib.closing(do_jobs(jobs, 1 if measured else os.cpu_count() or 1)) as outcomes:
            problems = {place: error for place, error in outcomes if error is not None}
        return [_outcome(place, path, problems) for place, path in zip(places, paths, strict=True)]


def _outcome(place: Path, path: Path, problems: Mapping[str, str]) -> Checked:
    if str(place) in problems:
        words = problems[str(place)]
        mend = "make room" if os.strerror(errno.ENOSPC) in words else "export the model again"
        return UsageError(Problem(shown(path), words, mend))
    data = json.loads(place.read_bytes())
    if "problems" in data:
        return UsageError(*(Problem(*one) for one in data["problems"]))
    return TypeAdapter(CheckReport).validate_python(data["report"])


def do_check(job: Mapping[str, Any]) -> None:
    """Check the model of a job. Raises OSError where the answer can't be written."""
    write_whole(Path(job["check"]), json.dumps(_answer(job)))


def _answer(job: Mapping[str, Any]) -> dict[str, Any]:
    from orchestrator.variants.facts_of_model import facts_of, mend  # noqa: PLC0415 - onnx, in the worker only

    path = Path(job["path"])
    target = OrtVersion.parse(job["target"]) if job["target"] else None
    custom_ops = tuple(job["custom_ops"])
    try:
        facts = facts_of(path, job["dims"], custom_ops)
        if job["measure"]:
            facts = _with_measured(facts, path, custom_ops)
        report = check(facts, target)
        if report.verdict.steps and report.as_is is not None:
            mended = mend(path, report.verdict.steps, facts.fixed_dims, custom_ops)
            report = check(dataclasses.replace(facts, mended=mended), target)
        return {"report": dataclasses.asdict(report)}
    except UsageError as error:
        return {"problems": [[one.where, one.what, one.mend] for one in error.problems]}
    except OSError as error:
        if not is_no_room(error):
            raise
        where = shown(str(error.filename or tempfile.gettempdir()))
        return {"problems": [[where, str(error.strerror), "make room, or have TMPDIR name another folder"]]}


def _with_measured(facts: Any, path: Path, custom_ops: Sequence[str]) -> Any:
    from android_runner.ort import ModelFormat  # noqa: PLC0415
    from orchestrator.variants.checks.facts import Measured  # noqa: PLC0415
    from orchestrator.variants.denormal_pairs import measure  # noqa: PLC0415
    from orchestrator.variants.inspect import inspect_model  # noqa: PLC0415

    if custom_ops:
        return dataclasses.replace(facts, measured=Measured(machine="", problem="not with custom operators"))
    if facts.format is ModelFormat.ORT or facts.graph is None:
        what = "weights of an .ort can't be flushed" if facts.graph is not None else facts.graph_problem
        return dataclasses.replace(facts, measured=Measured(machine="", problem=what))
    return dataclasses.replace(facts, measured=measure(path, inspect_model(path), facts.fixed_dims))
