"""A plan as TOML, checked whole: every problem at once with its place, unknown keys with the nearest match.

name = "threads"
models = ["mnist.onnx", { path = "detector.onnx", dims = { batch = 1 }, inputs = "samples/" }]
preset = "quick"            # optional: its cells come first
rounds = 5
[[matrix]]                  # the product of its axes, for every model
recipe = ["onnx", "all", "all runtime"]
threads = [1, 2, 4]
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from android_runner.affinity import affinity_word
from android_runner.limits import LimitsTable
from android_runner.ort import ExecutionProvider, NnapiFlag, OptimizationLevel
from android_runner.preparing.steps import StepName
from android_runner.settings import SessionSettings
from android_runner.toml_text import MAX_TOML_BYTES, NotTomlError, toml_as_json
from orchestrator.errors import Problem, UsageError
from orchestrator.plan.cells import Cell
from orchestrator.plan.length import MAX_ITERATIONS
from orchestrator.plan.nnapi_gates import FlagSet, contradicts
from orchestrator.plan.presets import PRESETS, unknown
from orchestrator.plan.series import MAX_MINUTES
from orchestrator.variants.recipe_words import parse_recipe

_STRICT = ConfigDict(extra="forbid", strict=True)

LevelName = Literal["disable", "basic", "extended", "layout", "all"]
FlagName = Literal["fp16", "nchw", "cpu_disabled", "cpu_only"]
Count = Annotated[int, Field(ge=1)]
CONTROL_ROUNDS = 3
"""Fewer rounds than this have no interval, and nothing for a twin or a canary to say."""
LEDGER_ROUNDS = 1000
"""More rounds than this nobody means."""
MAX_SEED = 2**63 - 1
"""What the ledger's whole numbers hold."""


@dataclass(frozen=True, config=_STRICT, kw_only=True)
class Axes:
    """One `[[matrix]]` table: each key an axis, its cells the product of all."""

    recipe: list[str] = Field(default_factory=lambda: ["onnx"])
    ep: list[str] = Field(default_factory=lambda: ["cpu"])
    nnapi_flags: list[list[FlagName]] = Field(default_factory=lambda: [[]])  # type: ignore[arg-type]
    level: list[LevelName] = Field(default_factory=list)
    threads: list[Annotated[int, Field(ge=0)]] = Field(default_factory=list)
    inter_op_threads: list[Count] = Field(default_factory=list)
    parallel: list[bool] = Field(default_factory=lambda: [False])
    spinning: list[bool] = Field(default_factory=lambda: [True])
    arena: list[bool] = Field(default_factory=lambda: [True])
    memory_pattern: list[bool] = Field(default_factory=lambda: [True])
    denormals_as_zero: list[bool] = Field(default_factory=lambda: [False])
    affinity: list[str] = Field(default_factory=list)


@dataclass(frozen=True, config=_STRICT, kw_only=True)
class ModelEntry:
    """A model of the plan: its file, fixed dimensions by name, and a folder with `input_<k>.pb`."""

    path: str
    dims: dict[str, Count] = Field(default_factory=dict)
    inputs: str = ""


@dataclass(frozen=True, config=_STRICT, kw_only=True)
class PlanFile:
    """What a plan file may say. `seconds` is the least time of a timed process, `iterations` fixes its number.

    `sustained` are the minutes of each case's long series, 0 for none.
    `dialect` is that of the stand-in on virtual phones; empty: as their device profiles say. From `CONTROL_ROUNDS`
    rounds on a phone is held against itself: `twins` measures one case a second time, `canary` a tiny fixed model
    before each round but the first. `precision` (0.01: ± 1 %) and `budget` ("2m") end the rounds of a case or of all
    early, of `max_rounds` that are planned; `reruns` is how often a phone may try again what was rejected.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]{0,30}$")] = "plan"
    models: list[str | ModelEntry] = Field(default_factory=list)
    preset: str = ""
    matrix: list[Axes] = Field(default_factory=list)
    rounds: Annotated[int, Field(ge=1, le=LEDGER_ROUNDS)] = 6
    precision: Annotated[float, Field(gt=0, lt=1)] | None = None
    max_rounds: Annotated[int, Field(ge=1, le=LEDGER_ROUNDS)] | None = None
    budget: Annotated[str, Field(pattern=r"^(\d{1,4}h)?(\d{1,5}m)?(\d{1,7}s?)?$")] = ""
    deadline: Annotated[str, Field(pattern=r"^(\d{1,4}h)?(\d{1,5}m)?(\d{1,7}s?)?$")] = ""
    reruns: Annotated[int, Field(ge=0, le=1000)] | None = None
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None
    seconds: Annotated[float, Field(gt=0, le=60)] = 2.0
    iterations: Annotated[int, Field(ge=1, le=MAX_ITERATIONS)] | None = None
    twins: bool = True
    canary: bool = True
    trace: bool = False
    verify: bool = False
    prepare: bool | list[StepName] = False
    sustained: Annotated[float, Field(ge=0, le=MAX_MINUTES)] = 0.0
    device: list[str] = Field(default_factory=list)
    perf_test: str = ""
    lib: list[str] = Field(default_factory=list)
    dialect: Literal["", "old", "mid", "new"] = ""
    converter: str = ""
    build_config: str = ""
    custom_ops: list[str] = Field(default_factory=list)
    limits: LimitsTable = Field(default_factory=LimitsTable)
    note: str = ""
    tag: list[str] = Field(default_factory=list)


def load_plan(path: Path) -> PlanFile:
    """Read and check a plan file; relative paths in it start at its folder. Raises UsageError."""
    try:
        with path.open("rb") as stream:
            text = toml_as_json(stream.read(MAX_TOML_BYTES + 1))
    except OSError as error:
        raise UsageError(
            Problem(str(path), f"can't be read: {error.strerror}", "give an existing plan file")
        ) from error
    except NotTomlError as error:
        raise UsageError(Problem(str(path), f"is not TOML: {error}", "see docs/plan.md for the form")) from error
    plan = _checked(text, str(path))
    base = path.parent
    models = [_from_folder(entry, base) for entry in plan.models]
    tool = str(base / plan.perf_test) if plan.perf_test else ""
    files = {
        "perf_test": tool,
        "lib": [str(base / one) for one in plan.lib],
        "build_config": str(base / plan.build_config) if plan.build_config else "",
        "custom_ops": [str(base / one) for one in plan.custom_ops],
    }
    return PlanFile(**{**_fields(plan), "models": models, **files})


def parse_plan(data: dict[str, Any], where: str) -> PlanFile:
    """Check a plan's data. Raises UsageError with every problem and its place."""
    return _checked(json.dumps(data, default=str), where)


def _checked(text: str, where: str) -> PlanFile:
    try:
        plan = TypeAdapter(PlanFile).validate_json(text)
    except ValidationError as error:
        raise UsageError(*_problems(error, where)) from None
    problems = [
        unknown("EP", ep, [p.value for p in ExecutionProvider], f"{where}: matrix[{index}].ep")
        for index, axes in enumerate(plan.matrix)
        for ep in axes.ep
        if ep not in list(ExecutionProvider)
    ]
    problems += [
        Problem(
            f"{where}: matrix[{index}].nnapi_flags", "cpu_disabled and cpu_only contradict each other", "ask for one"
        )
        for index, axes in enumerate(plan.matrix)
        if any(contradicts(map(NnapiFlag, flags)) for flags in axes.nnapi_flags)
    ]
    problems += _wrong_recipes(plan, where)
    problems += _wrong_affinities(plan, where)
    if plan.preset and plan.preset not in PRESETS:
        problems.append(unknown("preset", plan.preset, list(PRESETS), f"{where}: preset"))
    if problems:
        raise UsageError(*problems)
    return plan


def _wrong_recipes(plan: PlanFile, where: str) -> Iterator[Problem]:
    for index, axes in enumerate(plan.matrix):
        for recipe in axes.recipe:
            try:
                parse_recipe(recipe, f"{where}: matrix[{index}].recipe")
            except UsageError as error:
                yield from error.problems


def _wrong_affinities(plan: PlanFile, where: str) -> Iterator[Problem]:
    for index, axes in enumerate(plan.matrix):
        for word in axes.affinity:
            try:
                affinity_word(word)
            except ValueError as error:
                mend = "give big, mid, little, all, some of them joined by +, or a mask"
                yield Problem(f"{where}: matrix[{index}].affinity", str(error), mend)


def _problems(error: ValidationError, where: str) -> Iterator[Problem]:
    known = {
        "": list(PlanFile.__dataclass_fields__),
        "matrix": list(Axes.__dataclass_fields__),
        "limits": list(LimitsTable.__dataclass_fields__),
    }
    for item in error.errors():
        place = ".".join(str(part) for part in item["loc"] if part not in ("str", "ModelEntry"))
        if item["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            table = str(item["loc"][0]) if len(item["loc"]) > 1 and item["loc"][0] in ("matrix", "limits") else ""
            yield unknown("key", str(item["loc"][-1]), known[table], f"{where}: {place}")
        else:
            yield Problem(f"{where}: {place}", item["msg"], f"got {str(item['input'])[:60]!r}")


def _fields(plan: PlanFile) -> dict[str, Any]:
    return {name: getattr(plan, name) for name in PlanFile.__dataclass_fields__}


def _from_folder(entry: str | ModelEntry, base: Path) -> ModelEntry:
    if isinstance(entry, str):
        return ModelEntry(path=str(base / entry))
    return ModelEntry(
        path=str(base / entry.path), dims=entry.dims, inputs=str(base / entry.inputs) if entry.inputs else ""
    )


def matrix_cells(tables: list[Axes]) -> list[Cell]:
    """The cells of the `[[matrix]]` tables, in the order of the file."""
    return [cell for axes in tables for cell in _product(axes)]


_UNSET: list[Any] = [None]


def _providers(axes: Axes) -> list[tuple[ExecutionProvider, FlagSet]]:
    """Each execution provider, NNAPI once with each set of flags: the others have none."""
    sets = [tuple(flag for flag in NnapiFlag if flag in flags) for flags in axes.nnapi_flags]
    pairs = [
        (ExecutionProvider(ep), flags)
        for ep in axes.ep
        for flags in (sets if ep == ExecutionProvider.NNAPI.value else [()])
    ]
    return list(dict.fromkeys(pairs))


def _product(axes: Axes) -> Iterator[Cell]:
    for choice in itertools.product(
        axes.recipe,
        _providers(axes),
        [*axes.level] or _UNSET,
        [*axes.threads] or _UNSET,
        [*axes.inter_op_threads] or _UNSET,
        axes.parallel,
        axes.spinning,
        axes.arena,
        axes.memory_pattern,
        axes.denormals_as_zero,
        [*axes.affinity] or _UNSET,
    ):
        recipe, (ep, flags), level, threads, inter, parallel, spin, arena, pattern, denormals, cores = choice
        settings = SessionSettings(
            provider=ep,
            nnapi_flags=flags,
            level=OptimizationLevel(level) if level else None,
            intra_op_threads=threads,
            inter_op_threads=inter,
            parallel_executor=parallel,
            spinning=spin,
            arena=arena,
            memory_pattern=pattern,
            denormals_as_zero=denormals,
        )
        yield Cell(parse_recipe(recipe), settings, affinity=affinity_word(cores) if cores else "")
