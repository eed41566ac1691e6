"""Pure: a cell of the matrix before phones and files are known, its name, and its normal form.

Two cells with the same normal form can't act differently, so they are one case with two names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from android_runner.ort import ExecutionProvider, ModelFormat, OptimizationLevel, OptimizationStyle
from android_runner.settings import SessionSettings
from orchestrator.variants.recipe import Recipe

ONNX = Recipe(format=ModelFormat.ONNX)


def ort_recipe(level: OptimizationLevel, style: OptimizationStyle = OptimizationStyle.FIXED) -> Recipe:
    """The recipe for ORT format at a level and in a style."""
    return Recipe(format=ModelFormat.ORT, level=level, style=style)


@dataclass(frozen=True, slots=True)
class Cell:
    """A recipe with session settings: what a plan asks for of every model.

    One with `where_pays` is of the second step: tried only where that provider was as fast as the other in the first.
    `affinity` names the cores it may use (`android_runner.affinity.affinity_word`); empty: the system decides.
    """

    recipe: Recipe
    settings: SessionSettings
    where_pays: ExecutionProvider | None = None
    affinity: str = ""

    @property
    def row(self) -> str:
        """What a person calls it: `default`, `cpu all`, `cpu all 4t @big`, `cpu onnx basic no-arena`."""
        if self.recipe == ONNX and self.settings == SessionSettings() and not self.affinity:
            return "default"
        s = self.settings
        words = [s.provider.value, self.recipe.name, *s.nnapi_flags]
        if s.level is not None:
            words.append(s.level.value if self.recipe.format is ModelFormat.ONNX else f"-o {s.level.value}")
        if s.intra_op_threads is not None:
            words.append(f"{s.intra_op_threads}t")
        if s.parallel_executor:
            words.append("parallel" if s.inter_op_threads is None else f"parallel {s.inter_op_threads}")
        elif s.inter_op_threads is not None:
            words.append(f"inter {s.inter_op_threads}")
        words += [word for word, asked in _switches(s) if asked]
        words += [f"{key}={value}" for key, value in s.config]
        words += [f"@{self.affinity}"] if self.affinity else []
        return " ".join(words)


def _switches(s: SessionSettings) -> list[tuple[str, bool]]:
    return [
        ("no-spin", not s.spinning),
        ("no-arena", not s.arena),
        ("no-mem-pattern", not s.memory_pattern),
        ("denormals-zero", s.denormals_as_zero),
    ]


def normal_form(cell: Cell) -> Cell:
    """The cell without the settings that can't act in it.

    * `-o` acts on `.onnx`, and on runtime-style ORT format at extended and above (99 is perf_test's default);
    * inter-op threads act only with the parallel executor, which also turns the memory pattern off;
    * with one thread and no parallel executor there is no pool to spin;
    * NNAPI's flags are NNAPI's.

    The step does not act either, and which cores are meant only a phone can say (`orchestrator.plan.affinity`).
    """
    s = cell.settings
    if s.provider is not ExecutionProvider.NNAPI:
        s = replace(s, nnapi_flags=())
    if s.level is OptimizationLevel.ALL or cell.recipe.style is OptimizationStyle.FIXED:
        s = replace(s, level=None)
    if s.parallel_executor:
        s = replace(s, memory_pattern=True)
    else:
        s = replace(s, inter_op_threads=None)
        if s.intra_op_threads == 1:
            s = replace(s, spinning=True)
    return Cell(cell.recipe, s)
