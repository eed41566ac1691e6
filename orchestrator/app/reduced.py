"""Binaries built with part of the kernels only (`--build-config`): which variants need one that is not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from android_runner.ort import ModelFormat, OptimizationLevel
from android_runner.settings import SessionSettings
from orchestrator.errors import VariantError
from orchestrator.plan.cells import Cell
from orchestrator.variants.build_config import BuildConfig, lacking
from orchestrator.variants.converter import Converter
from orchestrator.variants.custom_ops import custom_operators
from orchestrator.variants.dims import Dims
from orchestrator.variants.kernels import Counted, kernel_recipes, needs_of, since_version
from orchestrator.variants.recipe import Model, Recipe, Variant
from orchestrator.variants.shelf import Shelf, build_variants

Key = tuple[str, Recipe, OptimizationLevel | None]
"""A model's digest, a recipe, and the session's level where it decides which kernels are needed: for `.onnx`."""
MAX_NAMED = 6


def lacking_words(missing: Sequence[str]) -> str:
    """What a reduced build lacks, in a sentence that stays short."""
    more = f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
    return f"the build's configuration lacks {', '.join(missing[:MAX_NAMED])}{more}"


def key_of(model: Model, recipe: Recipe, settings: SessionSettings) -> Key:
    """What decides which kernels a cell needs."""
    return (model.digest, recipe, settings.level if recipe.format is ModelFormat.ONNX else None)


def refusals(
    config: BuildConfig,
    models: Sequence[tuple[Model, Dims]],
    cells: Sequence[Cell],
    shelf: Shelf,
    converter: Converter,
) -> dict[Key, str]:
    """Why a binary built with `config` can't run a cell's variant, for those that it can't.

    Kernels are asked for on the CPU, whatever takes the node in the end: what an accelerator refuses falls back.
    """
    wanted: dict[Key, tuple[Model, tuple[Recipe, ...], Dims]] = {}
    for model, dims in models:
        for cell in cells:
            recipe = Recipe(format=ModelFormat.ORT) if model.format is ModelFormat.ORT else cell.recipe
            key = key_of(model, recipe, cell.settings)
            wanted[key] = (model, kernel_recipes(recipe, cell.settings.level), dims)
    requests = [(model, recipe, dims) for model, recipes, dims in wanted.values() for recipe in recipes]
    unique = list(dict.fromkeys(requests))
    built = dict(zip(unique, build_variants(unique, shelf, converter=converter), strict=True))
    found = {}
    for key, (model, recipes, dims) in wanted.items():
        reason = why_lacking(config, [built[(model, recipe, dims)] for recipe in recipes])
        if reason is not None:
            found[key] = reason
    return found


def why_lacking(config: BuildConfig, built: Sequence[Variant | VariantError]) -> str | None:
    """Why a build can't run what these variants together tell of; None where it can."""
    variants = [one for one in built if isinstance(one, Variant)]
    if len(variants) < len(built):
        reasons = "; ".join(str(one) for one in built if isinstance(one, VariantError))
        return f"which kernels it needs can't be told: {reasons}"
    try:
        needs = needs_of(counted(variants))
    except VariantError as error:
        return str(error)
    missing = lacking(needs, config, since_version)
    return lacking_words(missing) if missing else None


def counted(variants: Sequence[Variant], name: str = "") -> list[Counted]:
    """The variants as kernels are counted, under a name of their own or their model's: an `.ort` source stands for
    itself alone."""
    return [Counted(name or one.model.name, one.path, alone=not one.recipe.converts) for one in variants]


def refuser(refused: Mapping[Key, str], operators: str | None) -> Callable[[Variant, SessionSettings], str | None]:
    """Both reasons why a binary has not a kernel as a question about a cell: what its build left out, and `operators`,
    why it has no custom ones (None: it has)."""

    def lacks(variant: Variant, settings: SessionSettings) -> str | None:
        if operators is not None and custom_operators(variant.operators_after):
            return operators
        return refused.get(key_of(variant.model, variant.recipe, settings))

    return lacks
