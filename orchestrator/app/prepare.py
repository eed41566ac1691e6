"""From a wish to everything a run needs, on the host: models, inputs, variants, tool, and the matrix of each phone."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from android_runner.affinity import how_many
from android_runner.capabilities import Capabilities
from android_runner.facts import PhoneFacts
from android_runner.invocation import can_do
from android_runner.nnapi.levels import MIN_LEVEL
from android_runner.ort import ExecutionProvider, ModelFormat, OptimizationLevel, OptimizationStyle, OrtVersion
from android_runner.settings import SessionSettings
from orchestrator.app.binary import Tool, Tools
from orchestrator.app.converting import converter_for, why_no_operators, without_library
from orchestrator.app.only import asked_of
from orchestrator.app.reduced import Key, refusals, refuser
from orchestrator.app.wish import Wish
from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home
from orchestrator.plan.cells import ONNX, Cell, ort_recipe
from orchestrator.plan.matrix import Expansion, Target, expand, in_one_step
from orchestrator.plan.sides import expand_sides
from orchestrator.variants.calibration import calibration_for
from orchestrator.variants.canary import canary_model
from orchestrator.variants.converter import Converter
from orchestrator.variants.crew import Ahead
from orchestrator.variants.dims import Dims, resolve_dims, unknown_dims
from orchestrator.variants.inputs import inputs_for
from orchestrator.variants.inspect import load_model
from orchestrator.variants.kernels import read_build_config
from orchestrator.variants.recipe import LEAST_API, QUANTIZING, Calibration, InputSet, Model, Recipe, Variant
from orchestrator.variants.rules import cannot_make, too_large, why_not
from orchestrator.variants.shelf import Shelf, build_variants

ANY_API = 30
"""Where no phone is named: from here on NNAPI's claim rules say the same for every API level."""
AS_IS = Recipe(format=ModelFormat.ORT)
"""A source that is ORT format already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """The models of a run with their inputs and variants. A variant that can't be built stands as the reason."""

    models: tuple[tuple[Model, InputSet], ...]
    variants: Mapping[tuple[str, Recipe], Variant | str]
    refused: Mapping[Key, str] = field(default_factory=dict)
    """What the binary has no kernels for."""
    canary: tuple[Variant, InputSet] | None = None
    """The tiny model that tells how a phone drifts; None where none was asked for, or could be built."""

    def variant_of(self, model: Model, recipe: Recipe) -> Variant | str:
        """The model's variant under a recipe, or why there is none."""
        if model.format is ModelFormat.ORT:
            recipe = AS_IS
        return self.variants[(model.digest, recipe)]


def unreadable(wish: Wish, home: Home, ahead: Ahead | None = None) -> list[Problem]:
    """What is wrong with the models of a wish and their inputs as far as files alone tell; what is right is remembered.
    A builder is started `ahead` where a model is new: it has no variants yet."""
    shelf = Shelf(home.shelf)
    problems: list[Problem] = []
    models: list[Model] = []
    for entry in wish.models:
        try:
            if ahead is not None and not shelf.remembers(Path(entry.path)):
                ahead.start()
            model = load_model(Path(entry.path), dims=entry.dims, shelf=shelf)
            models.append(model)
            if entry.inputs:
                inputs_for(model, home.inputs, dims=entry.dims, directory=Path(entry.inputs), shelf=shelf)
        except UsageError as error:
            problems += error.problems
    return problems + _same_name_twice(models, wish) + without_library(models, wish.plan.custom_ops, shelf)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A model with what its variants depend on. `calibration` is there where a recipe asks for one, `least_api` is the
    least API level among the phones."""

    model: Model
    dims: Dims
    inputs: InputSet
    calibration: Calibration | None
    least_api: int

    def settled(self, recipe: Recipe) -> Recipe:
        """The recipe with nothing left open."""
        if recipe.nnapi_api == LEAST_API:
            recipe = replace(recipe, nnapi_api=max(self.least_api, MIN_LEVEL))
        if any(step in QUANTIZING for step in recipe.steps):
            recipe = replace(recipe, calibration=self.calibration)
        return recipe


def prepare(
    wish: Wish,
    cells: Sequence[Cell],
    home: Home,
    reader: OrtVersion | None = None,
    least_api: int = ANY_API,
    ahead: Ahead | None = None,
    canary: bool = False,
) -> Workshop:
    """Read the models, make their inputs, build what the cells need; from the shelf where it lies there already.

    With `canary` the tiny model that tells how a phone drifts is made, too. `reader` is the version of the binary that
    is to load them, `least_api` the least API level of the phones. Raises UsageError with the problems of all models.
    """
    shelf = Shelf(home.shelf, home.inputs)
    converter = converter_for(wish, home, reader)
    sources: list[_Source] = []
    quantizes = any(step in QUANTIZING for cell in cells for step in cell.recipe.steps)
    problems: list[Problem] = []
    for entry in wish.models:
        try:
            model = load_model(Path(entry.path), dims=entry.dims, reader=reader, shelf=shelf)
            dims = resolve_dims(model, entry.dims)
            folder = Path(entry.inputs) if entry.inputs else None
            inputs = inputs_for(model, home.inputs, dims=entry.dims, directory=folder, shelf=shelf)
            wanted = quantizes and model.format is ModelFormat.ONNX
            calibration = calibration_for(model, entry.dims, folder, shelf) if wanted else None
        except UsageError as error:
            problems += error.problems
            continue
        sources.append(_Source(model=model, dims=dims, inputs=inputs, calibration=calibration, least_api=least_api))
    models = [one.model for one in sources]
    problems += _same_name_twice(models, wish) + without_library(models, wish.plan.custom_ops, shelf)
    if not problems:
        problems += unknown_dims(models, {name: n for entry in wish.models for name, n in entry.dims.items()})
    if problems:
        raise UsageError(*problems)
    tiny = canary_model(home.shelf / "canary", home.inputs, shelf) if canary else None
    recipe = _canary_recipe(cells, reader, converter)
    extra = [(tiny[0], recipe, ())] if tiny else []
    variants = _variants(sources, cells, shelf, (reader, converter), (ahead, extra))
    built = variants.pop((tiny[0].digest, recipe)) if tiny else ""
    refused: dict[Key, str] = {}
    if wish.plan.build_config:
        config = read_build_config(Path(wish.plan.build_config))
        for one in sources:
            buildable = _buildable(cells, one, variants)
            refused |= refusals(config, [(one.model, one.dims)], buildable, shelf, converter)
    return Workshop(
        models=tuple((one.model, one.inputs) for one in sources),
        variants=variants,
        refused=refused,
        canary=(built, tiny[1]) if tiny and isinstance(built, Variant) else None,
    )


def _canary_recipe(cells: Sequence[Cell], reader: OrtVersion | None, converter: Converter) -> Recipe:
    """ORT format where the plan has it, which every build takes; else the `.onnx`, which needs no converter."""
    version = OrtVersion.parse(converter.version)
    converted = ort_recipe(OptimizationLevel.BASIC)
    usable = cannot_make(converted, version) if reader is None else why_not(converted, reader, version)
    return converted if usable is None and any(cell.recipe.converts for cell in cells) else ONNX


def _buildable(
    cells: Sequence[Cell], source: _Source, variants: Mapping[tuple[str, Recipe], Variant | str]
) -> list[Cell]:
    """The cells that a model has a variant for, nothing left open in them: the others have their reason."""
    return [
        replace(cell, recipe=source.settled(recipe))
        for cell in cells
        for recipe in recipes_of(source.model, [cell.recipe])
        if isinstance(variants[(source.model.digest, recipe)], Variant)
    ]


def _variants(
    sources: Sequence[_Source],
    cells: Sequence[Cell],
    shelf: Shelf,
    versions: tuple[OrtVersion | None, Converter],
    how: tuple[Ahead | None, Sequence[tuple[Model, Recipe, Dims]]],
) -> dict[tuple[str, Recipe], Variant | str]:
    """By the recipe as it was asked for, which leaves open what phones and inputs decide; `how`: by a builder that was
    started ahead, and with what besides."""
    reader, converter = versions
    ahead, extra = how
    recipes = list(dict.fromkeys(cell.recipe for cell in cells))
    found: dict[tuple[str, Recipe], Variant | str] = {}
    asked: list[tuple[str, Recipe]] = []
    requests: list[tuple[Model, Recipe, Dims]] = []
    for one in sources:
        for recipe in recipes_of(one.model, recipes):
            reason = _impossible(one.model, recipe, reader, converter)
            if reason is not None:
                found[(one.model.digest, recipe)] = reason
            else:
                asked.append((one.model.digest, recipe))
                requests.append((one.model, one.settled(recipe), one.dims))
    asked += [(model.digest, recipe) for model, recipe, _ in extra]
    requests += extra
    for key, built in zip(asked, build_variants(requests, shelf, converter=converter, ahead=ahead), strict=True):
        found[key] = built if isinstance(built, Variant) else str(built)
    return found


def _impossible(model: Model, recipe: Recipe, reader: OrtVersion | None, converter: Converter) -> str | None:
    """Why there is no use in building a variant, as far as versions and sizes tell."""
    version = OrtVersion.parse(converter.version)
    reason = cannot_make(recipe, version) if reader is None else why_not(recipe, reader, version)
    return reason or too_large(model, recipe)


def recipes_of(model: Model, recipes: Sequence[Recipe]) -> list[Recipe]:
    """The recipes that apply to a model: a source that is `.ort` already is taken as it is, and only so."""
    if model.format is ModelFormat.ORT:
        return [AS_IS]
    return list(recipes)


def _same_name_twice(models: Sequence[Model], wish: Wish) -> list[Problem]:
    """Models that tables could not tell apart; A and B of a comparison have their letters."""
    seen: dict[str, Model] = {}
    problems: list[Problem] = []
    for model in models if wish.sides is None or not wish.sides.models else ():
        other = seen.setdefault(model.name, model)
        if other is not model and other.path.resolve() == model.path.resolve():
            problems.append(Problem(str(model.path), "is given twice", "give it once"))
        elif other is not model:
            problems.append(
                Problem(str(model.path), f"has the same name as {other.path}", "rename one: tables go by the name")
            )
    return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class OnPhone:
    """A phone of a plan and what each binary, by digest, said it can do there (not in it: not asked yet)."""

    facts: PhoneFacts
    able: Mapping[str, Capabilities] = field(default_factory=dict)


def expand_all(wish: Wish, workshop: Workshop, tools: Tools, phones: Sequence[OnPhone]) -> dict[str, Expansion]:
    """Each phone's part of the matrix, by identity; of A and B where they are asked for.

    Raises UsageError when an option that was typed is impossible on every phone: more threads than any has cores.
    """
    models = [(model, inputs.digest) for model, inputs in workshop.models]
    expansions = {}
    for phone in phones:
        a, b = (_target(wish, workshop, tool, phone) for tool in (tools.a, tools.b))
        cells, sides = wish.cells(phone.facts.cores, tools.a.ort_version), wish.sides
        of_sides = expand_sides(sides, models, (a, b), workshop.variant_of) if sides is not None else None
        found = of_sides or expand(cells, models, a, workshop.variant_of)
        found = asked_of(found, wish, phone.facts.identity)
        expansions[phone.facts.identity] = in_one_step(found) if wish.tune is not None else found
    _refuse_hopeless_threads(wish, phones)
    return expansions


def _target(wish: Wish, workshop: Workshop, tool: Tool, phone: OnPhone) -> Target:
    capabilities = phone.able.get(tool.unit.digest)
    return Target(
        facts=phone.facts,
        binary_digest=tool.unit.digest,
        refuses=why_refused(tool, capabilities),
        cores_there=frozenset(os.sched_getaffinity(0)) if phone.facts.virtual else None,
        lacks=refuser(workshop.refused, why_no_operators(wish, tool, capabilities)),
    )


def why_refused(tool: Tool, capabilities: Capabilities | None) -> Callable[[SessionSettings, Recipe], str | None]:
    """Why a binary can't be asked for these settings; for None, that can."""

    def refuses(settings: SessionSettings, recipe: Recipe) -> str | None:
        if settings.provider is ExecutionProvider.NNAPI and tool.has_nnapi is False:
            return "this onnxruntime was built without NNAPI"
        if capabilities is None:
            return None
        return can_do(settings, capabilities, replay_saved=recipe.style is OptimizationStyle.RUNTIME)

    return refuses


def _refuse_hopeless_threads(wish: Wish, phones: Sequence[OnPhone]) -> None:
    most = max((phone.facts.cores for phone in phones), default=0)
    problems = [
        Problem(
            f"matrix[{index}].threads",
            f"{count} threads: no chosen phone has more than {how_many(most)}",
            "ask for fewer",
        )
        for index, axes in enumerate(wish.plan.matrix)
        for count in [*axes.threads, *axes.inter_op_threads]
        if count > most
    ]
    if problems:
        raise UsageError(*problems)
