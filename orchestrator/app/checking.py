"""`orch model check`: models on the host, their findings and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from android_runner.ort import OrtVersion
from orchestrator.app.custom_ops import custom_ops
from orchestrator.app.wish import RunOptions, wish_of
from orchestrator.errors import Problem, UsageError
from orchestrator.plan.presets import unknown
from orchestrator.variants.check_job import check_models
from orchestrator.variants.checks.finding import THREAD_URL
from orchestrator.variants.checks.report import CheckReport
from orchestrator.variants.checks.rules import with_libraries

OLDEST = OrtVersion(1, 8)


@dataclass(frozen=True, slots=True)
class Checks:
    """The reports of the models that could be read, in the order they were named, and what is wrong with the others."""

    reports: tuple[CheckReport, ...]
    problems: tuple[Problem, ...]
    is_folder: bool

    def as_plain(self) -> list[dict[str, Any]]:
        """The reports as JSON data."""
        return [_plain(report) for report in self.reports]


def check_all(
    things: Sequence[str],
    dims: Sequence[str],
    ort_version: str,
    *,
    measured: bool,
    libraries: Sequence[str] = (),
) -> Checks:
    """Check each model that `things` name (files and folders). `dims` are `NAME=NUMBER`, `libraries` of custom
    operators as `--custom-ops` names them.

    Raises UsageError for options that can't be understood, and where no model could be read.
    """
    target = _version(ort_version)
    if any(thing.endswith(".toml") for thing in things):
        raise UsageError(Problem("arguments", "a plan is not a model", "give MODEL.onnx or a folder"))
    wish = wish_of(RunOptions(things=tuple(things), dim=tuple(dims)))
    given: Mapping[str, int] = wish.models[0].dims
    paths = [Path(entry.path) for entry in wish.models]
    operators = [path for path, _ in custom_ops(libraries).host]
    outcomes = check_models(paths, given, target, measured=measured, custom_ops=operators)
    reports = tuple(with_libraries(one, libraries) for one in outcomes if isinstance(one, CheckReport))
    problems = tuple(problem for one in outcomes if isinstance(one, UsageError) for problem in one.problems)
    if not reports:
        raise UsageError(*problems)
    if not problems:
        _require_known(given, reports)
    return Checks(reports, problems, is_folder=len(paths) > 1)


def _version(text: str) -> OrtVersion | None:
    if not text:
        return None
    try:
        version = OrtVersion.parse(text)
    except ValueError as error:
        raise UsageError(
            Problem("--ort-version", f"{text!r} is no version", "for example --ort-version 1.16.3")
        ) from error
    if version < OLDEST:
        raise UsageError(Problem("--ort-version", f"{version} is too old", f"{OLDEST} and later are known"))
    return version


def _require_known(given: Mapping[str, int], reports: Sequence[CheckReport]) -> None:
    known = sorted({key for report in reports for key in report.free_dims})
    problems = [unknown("dimension", key, known, "--dim") for key in given if key not in known]
    if problems:
        raise UsageError(*problems)


def _plain(report: CheckReport) -> dict[str, Any]:
    data = asdict(report)
    for finding in data["findings"]:
        finding["threads"] = [f"{THREAD_URL}{number}" for number in finding["threads"]]
    return data
