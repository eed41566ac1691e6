"""From a wish to everything a run needs, on the host: models, inputs, variants, tool, and the matrix of each phone."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from android_runner.capabilities import Capabilities
from android_runner.invocation import can_do

from android_runner.facts import PhoneFacts
from android_runner.ort import OptimizationStyle, OrtVersion, readable_ort_formats
from android_runner.settings import SessionSettings
from orchestrator.app.binary import Tool
from orchestrator.app.wish import Wish
from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home
from orchestrator.plan.cells import Cell
from orchestrator.plan.matrix import Expansion, Target, expand
from orchestrator.variants.inputs import inputs_for
from orchestrator.variants.inspect import load_model
from orchestrator.variants.recipe import InputSet, Model, Recipe, Variant
from orchestrator.variants.shelf import Shelf, build_variants


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """The models of a run with their inputs and variants. A variant that can't be built stands as the reason."""

    models: tuple[tuple[Model, InputSet], ...]
    variants: Mapping[tuple[str, Recipe], Variant | str]

    def variant_of(self, model: Model, recipe: Recipe) -> Variant | str:
        """The model's variant under a recipe, or why there is none."""
        return self.variants[(model.digest, recipe)]


def prepare(wish: Wish, cells: Sequence[Cell], home: Home) -> Workshop:
    """Read the models, make their inputs, build what the cells need; from the shelf where it lies there already.

    Raises UsageError with the problems of all models.
    """
    models: list[tuple[Model, InputSet]] = []
    problems: list[Problem] = []
    dims: dict[str, Mapping[str, int]] = {}
    shelf = Shelf(home.shelf)
    for entry in wish.models:
        try:
            model = load_model(Path(entry.path), dims=entry.dims, shelf=shelf)
            folder = Path(entry.inputs) if entry.inputs else None
            inputs = inputs_for(model, home.inputs, dims=entry.dims, directory=folder)
        except UsageError as error:
            problems += error.problems
            continue
        dims[model.digest] = entry.dims
        models.append((model, inputs))
    problems += _same_name_twice([model for model, _ in models])
    if problems:
        raise UsageError(*problems)
    recipes = list(dict.fromkeys(cell.recipe for cell in cells))
    wanted = [(model, recipe) for model, _ in models for recipe in recipes]
    requests = [(model, recipe, tuple(sorted(dims[model.digest].items()))) for model, recipe in wanted]
    built = build_variants(requests, shelf)
    return Workshop(
        models=tuple(models),
        variants={
            (model.digest, recipe): one if isinstance(one, Variant) else str(one)
            for (model, recipe), one in zip(wanted, built, strict=True)
        },
    )


def _same_name_twice(models: Sequence[Model]) -> list[Problem]:
    seen: dict[str, Model] = {}
    problems = []
    for model in models:
        other = seen.setdefault(model.name, model)
        if other is not model:
            problems.append(
                Problem(str(model.path), f"has the same name as {other.path}", "rename one: tables go by the name")
            )
    return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class OnPhone:
    """A phone of a plan and what the binary said it can do there (None: not asked yet)."""

    facts: PhoneFacts
    capabilities: Capabilities | None


def expand_all(wish: Wish, workshop: Workshop, tool: Tool, phones: Sequence[OnPhone]) -> dict[str, Expansion]:
    """Each phone's part of the matrix, by identity.

    Raises UsageError when an option that was typed is impossible on every phone: more threads than any has cores.
    """
    models = [(model, inputs.digest) for model, inputs in workshop.models]
    expansions = {}
    for phone in phones:
        target = Target(facts=phone.facts, binary_digest=tool.unit.digest, refuses=_refuser(tool, phone.capabilities))
        expansions[phone.facts.identity] = expand(wish.cells(phone.facts.cores), models, target, workshop.variant_of)
    _refuse_hopeless_threads(wish, phones)
    return expansions


def _refuser(tool: Tool, capabilities: Capabilities | None) -> Callable[[SessionSettings, Recipe], str | None]:
    version = tool.ort_version

    def refuses(settings: SessionSettings, recipe: Recipe) -> str | None:
        if capabilities is None:
            return None
        replay = recipe.style is OptimizationStyle.RUNTIME
        return can_do(settings, capabilities, replay_saved=replay)

    return refuses if version is None or capabilities is not None else lambda _settings, _recipe: None


def _refuse_hopeless_threads(wish: Wish, phones: Sequence[OnPhone]) -> None:
    most = max((phone.facts.cores for phone in phones), default=0)
    problems = [
        Problem(
            f"matrix[{index}].threads", f"{count} threads: no chosen phone has more than {most} cores", "ask for fewer"
        )
        for index, axes in enumerate(wish.plan.matrix)
        for count in [*axes.threads, *axes.inter_op_threads]
        if count > most
    ]
    if problems:
        raise UsageError(*problems)


def nearest(name: str, known: Sequence[str]) -> str:
    """The nearest of the known names, empty when none is near."""
    return next(iter(difflib.get_close_matches(name, known, n=1)), "")


def formats_reason(variant: Variant, version: OrtVersion | None) -> str | None:
    """Why the runtime can't load a variant's ORT format; None when it can, or when its version is not known."""
    if variant.ort_format is None or version is None or variant.ort_format in readable_ort_formats(version):
        return None
    readable = readable_ort_formats(version)
    return f"ORT format {variant.ort_format}: onnxruntime {version} loads {readable.start} to {readable.stop - 1}"
