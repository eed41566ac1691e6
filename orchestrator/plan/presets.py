"""Pure: the presets, each a list of cells. A name that can't be found is answered with the nearest one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from android_runner.ort import ExecutionProvider, NnapiFlag, OptimizationLevel, OptimizationStyle, OrtVersion
from android_runner.settings import SessionSettings
from orchestrator.errors import Problem, UsageError
from orchestrator.plan.cells import ONNX, Cell, ort_recipe
from orchestrator.plan.nnapi_gates import FlagSet, flag_sets
from orchestrator.variants.recipe import Recipe

_LEVELS = (
    OptimizationLevel.BASIC,
    OptimizationLevel.EXTENDED,
    OptimizationLevel.LAYOUT,
    OptimizationLevel.ALL,
)
_PLAIN = SessionSettings()
_NNAPI = SessionSettings(provider=ExecutionProvider.NNAPI)
_RUNTIME = ort_recipe(OptimizationLevel.ALL, OptimizationStyle.RUNTIME)
_LAYOUT_SINCE = OrtVersion(1, 8)
_RUNTIME_SINCE = OrtVersion(1, 11)


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetFor:
    """What a preset's cells depend on: a phone's cores, and the binary's version (None where nobody knows it)."""

    cores: int
    version: OrtVersion | None = None

    def since(self, version: OrtVersion) -> bool:
        """Whether the binary is of this version or later; one of unknown version is taken for a recent one."""
        return self.version is None or self.version >= version


def _baselines(what: PresetFor) -> list[Cell]:
    """What an app gets that sets nothing, and the best guess on the CPU: `all`, or `extended` before 1.8.

    All three levels are named: for most models they are one graph, and the one row says so.
    """
    levels = _LEVELS[1:] if what.since(_LAYOUT_SINCE) else (OptimizationLevel.EXTENDED,)
    return [Cell(ONNX, _PLAIN), *(Cell(ort_recipe(level), _PLAIN) for level in levels)]


def _nnapi_cells(what: PresetFor, recipes: Sequence[Recipe], flag_sets: Sequence[FlagSet]) -> list[Cell]:
    usable = [recipe for recipe in recipes if recipe != _RUNTIME or what.since(_RUNTIME_SINCE)]
    return [Cell(recipe, replace(_NNAPI, nnapi_flags=flags)) for recipe in usable for flags in flag_sets]


def _quick(what: PresetFor) -> list[Cell]:
    """What the tuning guide compares first: NNAPI on basic and on runtime style, with and without FP16, and the CPU."""
    recipes = (ort_recipe(OptimizationLevel.BASIC), _RUNTIME)
    return _baselines(what) + _nnapi_cells(what, recipes, ((), (NnapiFlag.FP16,)))


def _guided(what: PresetFor) -> list[Cell]:
    """`quick`, then what the tuning guides say to try next: for NNAPI where it pays, for the CPU where that does.

    NNAPI: the `.onnx`, of which a full build fuses only what NNAPI leaves (that is what an NNAPI-aware ORT format model
    is made for), the other layout, and the accelerator alone. The CPU: threads, spinning, the parallel executor.
    """
    onnx_flags: list[FlagSet] = [(), (NnapiFlag.FP16,)]
    ort_flags: list[FlagSet] = [
        (NnapiFlag.NCHW,),
        (NnapiFlag.CPU_DISABLED,),
        (NnapiFlag.FP16, NnapiFlag.CPU_DISABLED),
    ]
    nnapi = _nnapi_cells(what, (ONNX,), onnx_flags)
    nnapi += _nnapi_cells(what, (ort_recipe(OptimizationLevel.BASIC), _RUNTIME), ort_flags)
    first = _quick(what)
    best = _baselines(what)[-1].recipe
    tuned = [replace(_PLAIN, intra_op_threads=count) for count in (1, 2, 4) if count <= what.cores]
    tuned += [replace(_PLAIN, spinning=False), replace(_PLAIN, parallel_executor=True)]
    second = [*nnapi, *(Cell(best, settings) for settings in tuned)]
    return first + [replace(cell, where_pays=cell.settings.provider) for cell in second]


def _nnapi(what: PresetFor) -> list[Cell]:
    """Every valid flag combination on basic, runtime style and `.onnx`, beside the baselines."""
    recipes = (ort_recipe(OptimizationLevel.BASIC), _RUNTIME, ONNX)
    return _baselines(what) + _nnapi_cells(what, recipes, flag_sets())


def _cpu(what: PresetFor) -> list[Cell]:
    """One factor at a time around the two usual starting points, on the CPU execution provider."""
    styles = (OptimizationStyle.FIXED, OptimizationStyle.RUNTIME)
    cells = [Cell(ONNX, _PLAIN)]
    cells += [Cell(ONNX, replace(_PLAIN, level=level)) for level in OptimizationLevel]
    cells += [Cell(ort_recipe(level, style), _PLAIN) for style in styles for level in _LEVELS]
    best = ort_recipe(OptimizationLevel.ALL)
    threads = sorted({count for count in (1, 2, 4, what.cores) if count <= what.cores})
    cells += [Cell(best, replace(_PLAIN, intra_op_threads=count)) for count in threads]
    cells += [
        Cell(best, replace(_PLAIN, parallel_executor=True)),
        Cell(best, replace(_PLAIN, spinning=False)),
        Cell(best, replace(_PLAIN, arena=False)),
        Cell(best, replace(_PLAIN, memory_pattern=False)),
        Cell(best, replace(_PLAIN, denormals_as_zero=True)),
        Cell(best, _PLAIN, affinity="big"),
    ]
    return cells


def _full(what: PresetFor) -> list[Cell]:
    """Everything that the other presets have, the CPU's kinds of cores, and NNAPI on every level."""
    levels = [ort_recipe(level) for level in _LEVELS[1:]]
    cores = [Cell(ort_recipe(OptimizationLevel.ALL), _PLAIN, affinity=word) for word in ("big+mid", "mid", "little")]
    return list(dict.fromkeys([*_cpu(what), *cores, *_nnapi(what), *_nnapi_cells(what, levels, flag_sets())]))


PRESETS: dict[str, Callable[[PresetFor], list[Cell]]] = {
    "quick": _quick,
    "guided": _guided,
    "nnapi": _nnapi,
    "cpu": _cpu,
    "full": _full,
}


def preset_cells(name: str, what: PresetFor) -> list[Cell]:
    """The cells of a preset. Raises UsageError for a name that is none."""
    try:
        return PRESETS[name](what)
    except KeyError:
        raise UsageError(unknown("preset", name, list(PRESETS))) from None


def unknown(what: str, name: str, known: list[str], where: str = "") -> Problem:
    """The problem of a name that is none, with the nearest match and all that there are."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    mend = (f"did you mean {near[0]!r}? " if near else "") + f"known: {', '.join(known)}"
    return Problem(where or f"--{what}", f"unknown {what} {name!r}", mend)
