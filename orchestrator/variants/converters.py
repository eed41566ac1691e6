"""Other Pythons with other releases of onnxruntime, registered in a file of the home: `converters.json`.

    [{"python": "/opt/ort-1.15/bin/python", "version": "1.15.1"}]

Each was checked when it was added: it converted a model, and the file said the ORT format version of its release.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle, OrtVersion
from orchestrator.errors import Problem, UsageError, VariantError
from orchestrator.variants.converter import Converter, installed
from orchestrator.variants.naming import shown
from orchestrator.variants.read_ort import read_ort_format
from orchestrator.variants.recipe import Recipe
from orchestrator.variants.rules import nearest, written_ort_format
from orchestrator.variants.saving import HELLO_S, ask_python, save
from orchestrator.variants.sessions import saving_of
from orchestrator.variants.whole_files import write_whole

_OLDEST = OrtVersion(1, 8)
"""The first release with wheels that writes ORT format 4, the oldest that any binary we know loads."""
_PROBE = Recipe(format=ModelFormat.ORT, level=OptimizationLevel.ALL, style=OptimizationStyle.FIXED)
_PROBE_MODEL = bytes.fromhex(
    "08043a330a0c0a0178120179220452656c751201705a0f0a0178120a0a08080112040a020801620f0a0179120a0a08080112040a020801"
    "42040a001009"
)
"""`y = Relu(x)` on one float, IR 4, opset 9: what every release loads, without onnx to write it."""


def registered(path: Path) -> tuple[Converter, ...]:
    """The installed onnxruntime first, then the registered ones, newest first. Raises UsageError for a damaged file."""
    return (installed(), *sorted(_kept(path), key=_version, reverse=True))


def _kept(path: Path) -> list[Converter]:
    try:
        rows = json.loads(path.read_bytes())
        found = [Converter(version=str(row["version"]), python=str(row["python"])) for row in rows]
        for one in found:
            _version(one)
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"can't be read: {error}"
        raise UsageError(Problem(shown(path), what, "remove it, and register the converters again")) from error
    return found


def _version(converter: Converter) -> OrtVersion:
    return OrtVersion.parse(converter.version)


def add(path: Path, python: str) -> Converter:
    """Check a Python and register it; one of the same path or version is replaced. Raises UsageError."""
    converter = check(python)
    others = [one for one in _kept(path) if one.python != converter.python and one.version != converter.version]
    _keep(path, [*others, converter])
    return converter


def remove(path: Path, which: str) -> Converter:
    """Forget a registered Python, named by its path or its onnxruntime's version. Raises UsageError."""
    kept = _kept(path)
    gone = next((one for one in kept if which in (one.python, one.version)), None)
    if gone is None:
        gone = next((one for one in kept if one.python == _absolute(which)), None)
    if gone is None:
        names = ", ".join(f"{one.version} ({shown(one.python)})" for one in kept) or "none"
        raise UsageError(Problem(shown(which), "is no registered converter", f"registered: {names}"))
    _keep(path, [one for one in kept if one != gone])
    return gone


def _keep(path: Path, converters: Sequence[Converter]) -> None:
    rows = [{"python": one.python, "version": one.version} for one in converters]
    try:
        write_whole(path, json.dumps(rows, indent=1) + "\n")
    except OSError as error:
        what = f"can't be written: {error.strerror or error}"
        raise UsageError(Problem(shown(path), what, "make room, or give --home DIR")) from error


def check(python: str) -> Converter:
    """What a Python's onnxruntime is, after it has converted a model. Raises UsageError with the mend."""
    path = _absolute(python)
    where = shown(path)
    try:
        answer = ask_python(path, "", timeout_s=HELLO_S)
    except VariantError as error:
        raise UsageError(Problem(where, _after(where, error), "give the path of a Python with onnxruntime")) from error
    if "error" in answer:
        mend = f"{path} -m pip install onnxruntime==VERSION"
        if answer.get("missing") not in (None, "onnxruntime"):
            mend = f"{path} -m pip install {shown(str(answer['missing']))}"
        raise UsageError(Problem(where, f"can't import onnxruntime: {shown(str(answer['error']))}", mend))
    converter = Converter(version=str(answer.get("version")), python=path)
    try:
        version = _version(converter)
    except ValueError as error:
        what = f"{shown(converter.version)!r} is no version of onnxruntime"
        raise UsageError(Problem(where, what, "install a release of onnxruntime")) from error
    if version < _OLDEST:
        raise UsageError(Problem(where, f"onnxruntime {version} is too old", f"{_OLDEST} or newer"))
    _try(converter, where, version)
    return converter


def _try(converter: Converter, where: str, version: OrtVersion) -> None:
    """Convert a model of one node. Raises UsageError where that fails, or the result is not of the release's format."""
    with tempfile.TemporaryDirectory(prefix="orch-converter-") as folder:
        source, target = Path(folder) / "probe.onnx", Path(folder) / "probe.ort"
        source.write_bytes(_PROBE_MODEL)
        try:
            save(saving_of(source, _PROBE, target), converter)
            written = read_ort_format(target.read_bytes())
        except (VariantError, OSError, ValueError) as error:
            raise UsageError(
                Problem(where, f"can't convert: {_after(where, error)}", "install its onnxruntime again")
            ) from error
    if written != written_ort_format(version):
        what = f"onnxruntime {version} writes ORT format {written}, {written_ort_format(version)} was expected"
        raise UsageError(Problem(where, what, "install a release of onnxruntime"))


def _after(where: str, error: Exception) -> str:
    return str(error).removeprefix(f"{where}: ")


def _absolute(python: str) -> str:
    """A command as a path; links stay as they are, since a virtual environment is known by the link's own place."""
    if os.sep not in python:
        return shutil.which(python) or os.path.abspath(python)
    return os.path.abspath(os.path.expanduser(python))


def chosen(converters: Sequence[Converter], target: OrtVersion | None, wanted: str = "") -> Converter:
    """The converter to use: `wanted` by version or path, else the nearest to the binary's version, else (none is
    known, or no one serves it) the first. Raises UsageError for one that is not among them."""
    if wanted:
        found = [one for one in converters if wanted == one.version or (one.python and _absolute(wanted) == one.python)]
        if not found:
            has = ", ".join(one.version for one in converters)
            mend = f"registered: {has}; orch model converters add PYTHON"
            raise UsageError(Problem("--converter", f"{shown(wanted)} is no registered converter", mend))
        return found[0]
    best = nearest(target, [_version(one) for one in converters]) if target is not None else None
    return next((one for one in converters if best is not None and _version(one) == best), converters[0])
