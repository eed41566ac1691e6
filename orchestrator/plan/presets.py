"""Pure: the presets, each a list of cells. A name that can't be found is answered with the nearest one."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace

from android_runner.ort import OptimizationLevel, OptimizationStyle
from android_runner.settings import SessionSettings
from orchestrator.errors import Problem, UsageError
from orchestrator.plan.cells import ONNX, Cell, ort_recipe

_OPTIMIZED = (
    OptimizationLevel.BASIC,
    OptimizationLevel.EXTENDED,
    OptimizationLevel.LAYOUT,
    OptimizationLevel.ALL,
)


def _quick(_cores: int) -> list[Cell]:
    """What the tuning guide compares first, on the CPU: as it is, each fixed level, and runtime style."""
    plain = SessionSettings()
    fixed = [Cell(ort_recipe(level), plain) for level in _OPTIMIZED]
    return [Cell(ONNX, plain), *fixed, Cell(ort_recipe(OptimizationLevel.ALL, OptimizationStyle.RUNTIME), plain)]


def _cpu(cores: int) -> list[Cell]:
    """One factor at a time around the two usual starting points, on the CPU execution provider."""
    plain = SessionSettings()
    styles = (OptimizationStyle.FIXED, OptimizationStyle.RUNTIME)
    cells = [Cell(ONNX, plain)]
    cells += [Cell(ONNX, replace(plain, level=level)) for level in OptimizationLevel]
    cells += [Cell(ort_recipe(level, style), plain) for style in styles for level in _OPTIMIZED]
    best = ort_recipe(OptimizationLevel.ALL)
    threads = sorted({count for count in (1, 2, 4, cores) if count <= cores})
    cells += [Cell(best, replace(plain, intra_op_threads=count)) for count in threads]
    cells += [
        Cell(best, replace(plain, parallel_executor=True)),
        Cell(best, replace(plain, spinning=False)),
        Cell(best, replace(plain, arena=False)),
        Cell(best, replace(plain, memory_pattern=False)),
        Cell(best, replace(plain, denormals_as_zero=True)),
    ]
    return cells


PRESETS: dict[str, Callable[[int], list[Cell]]] = {"quick": _quick, "cpu": _cpu}


def preset_cells(name: str, cores: int) -> list[Cell]:
    """The cells of a preset on a phone with `cores` cores. Raises UsageError for a name that is none."""
    try:
        return PRESETS[name](cores)
    except KeyError:
        raise UsageError(unknown("preset", name, list(PRESETS))) from None


def unknown(what: str, name: str, known: list[str], where: str = "") -> Problem:
    """The problem of a name that is none, with the nearest match and all that there are."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    mend = (f"did you mean {near[0]!r}? " if near else "") + f"known: {', '.join(known)}"
    return Problem(where or f"--{what}", f"unknown {what} {name!r}", mend)
