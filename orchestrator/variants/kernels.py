"""Which kernels a variant needs of the runtime that loads it, as onnxruntime's own tools tell it for minimal builds."""

from __future__ import annotations

import importlib
import logging
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle
from orchestrator.errors import Problem, UsageError, VariantError
from orchestrator.variants.build_config import MAX_CONFIG_BYTES, BuildConfig, parse_build_config
from orchestrator.variants.naming import shown
from orchestrator.variants.read_ort import read_ort
from orchestrator.variants.recipe import Recipe


def kernel_recipes(recipe: Recipe, level: OptimizationLevel | None = None) -> tuple[Recipe, ...]:
    """The recipes whose ORT format together tells what a variant needs, `level` being the session's for `.onnx`.

    Saved runtime optimizations may be applied or not, so both are needed, as in onnxruntime's own converter. An
    `.onnx` is optimized where it is loaded, and needs what its level makes of it.
    """
    if recipe.format is ModelFormat.ONNX:
        fixed = OptimizationStyle.FIXED
        return (replace(recipe, format=ModelFormat.ORT, level=level or OptimizationLevel.ALL, style=fixed),)
    if recipe.style is OptimizationStyle.RUNTIME:
        return (recipe, replace(recipe, applied=True))
    return (recipe,)


@dataclass(frozen=True, slots=True)
class Counted:
    """An `.ort` file and the name that a configuration gives it. `alone`: nobody can say what it is once its recorded
    optimizations are applied, so that their operators are added as they are recorded."""

    name: str
    path: Path
    alone: bool = False


def config_text(models: Sequence[Counted]) -> str:
    """The configuration, with types, of a build that runs all of these files.

    Written by `onnxruntime.tools.ort_format_model.create_config_from_models`, with names in place of this host's
    paths. Raises VariantError.
    """
    tool: Any = importlib.import_module("onnxruntime.tools.ort_format_model")
    logging.getLogger("ort_format_model.utils").setLevel(logging.WARNING)  # it says where it wrote
    try:
        with tempfile.TemporaryDirectory(prefix="orch-config-") as folder:
            target = Path(folder) / "config"
            tool.create_config_from_models([one.path for one in models], target, True)
            written = target.read_text(encoding="utf-8")
        recorded = sorted({line for one in models if one.alone for line in _recorded(one.path)})
    except (OSError, ValueError, KeyError, RuntimeError, AttributeError, TypeError) as error:
        names = ", ".join(dict.fromkeys(one.name for one in models))
        raise VariantError(f"{names}: which kernels it needs can't be told: {shown(str(error))}") from error
    lines = [line for line in written.splitlines() if not line.startswith("#")]
    known = parse_build_config("\n".join(lines))
    more = [line for line in recorded if not _covers(known, line)]
    head = ["# Generated from model/s:", *(f"# - {name}" for name in sorted({one.name for one in models}))]
    return "\n".join([*head, *lines, *more]) + "\n"


def _recorded(path: Path) -> list[str]:
    """`com.microsoft;1;FusedConv` for each operator that a saved optimization may put in."""
    records = read_ort(path.read_bytes()).graph.records
    ids = {produced for record in records for produced in record.produced}
    return [f"{domain or 'ai.onnx'};{opset};{name}" for domain, name, opset in (one.split(":") for one in ids)]


def _covers(config: BuildConfig, line: str) -> bool:
    ((key, names),) = parse_build_config(line).operators.items()
    return names <= config.operators.get(key, frozenset())


def needs_of(models: Sequence[Counted]) -> BuildConfig:
    """What these files together need. Raises VariantError."""
    return parse_build_config(config_text(models))


def read_build_config(path: Path) -> BuildConfig:
    """The configuration that a binary was built with. Raises UsageError."""
    where = shown(path)
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise ValueError("too large for a list of operators")
        config = parse_build_config(path.read_text(encoding="utf-8"))
    except OSError as error:
        mend = "give the file that the binary was built with"
        raise UsageError(Problem(f"--build-config {where}", f"can't be read: {error.strerror}", mend)) from error
    except ValueError as error:
        mend = "give the required_operators….config that the binary was built with"
        raise UsageError(Problem(f"--build-config {where}", str(error), mend)) from error
    if not config.operators and not config.everything:
        raise UsageError(Problem(f"--build-config {where}", "lists no operator", "give the file of the binary's build"))
    return config


def since_version(domain: str, operator: str, opset: int) -> int:
    """The opset since which the standard's operator is what it is in `opset`; `opset` for one that is not in it."""
    from onnx import defs  # noqa: PLC0415 - a quarter of a second

    try:
        return int(defs.get_schema(operator, opset, "" if domain == "ai.onnx" else domain).since_version)
    except defs.SchemaError:
        return opset
