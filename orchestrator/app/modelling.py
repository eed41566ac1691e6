"""`orch model build`: a model's variants on the shelf, and what each changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator.app.comparing import pairs_of
from orchestrator.app.custom_ops import custom_ops
from orchestrator.app.prepare import Workshop, prepare
from orchestrator.app.wish import RunOptions, wish_of
from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home
from orchestrator.plan.cells import Cell
from orchestrator.report.summary import VariantRow
from orchestrator.variants.numerics_shelf import known_numerics, numerics_of
from orchestrator.variants.recipe import Recipe, Variant
from orchestrator.variants.recipe_words import BASE_NAMES, parse_recipe
from orchestrator.variants.shelf import Shelf
from orchestrator.variants.tolerance import Numerics, problem, verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A variant as a person reads it; `reason` says why there is none, `numerics` how far it is from its source, where
    that is known."""

    model: str
    recipe: str
    variant: Variant | None
    reason: str
    numerics: Numerics | None = None

    def as_row(self, others: Sequence[Made]) -> VariantRow:
        """The variant as reports show it, with its twins among `others`. Only where there is one."""
        assert self.variant is not None
        one = self.variant
        twins = (
            other.recipe
            for other in others
            if other.variant is not None and other is not self and _same(other.variant, one)
        )
        return VariantRow(
            variant=one.variant_id,
            recipe=self.recipe,
            format=one.recipe.format.value,
            converter_version=one.converter_version,
            graph_digest=one.graph_digest,
            size_bytes=one.size_bytes,
            ort_format=one.ort_format,
            nodes_before=one.operators_before,
            nodes_after=one.operators_after,
            twins=tuple(twins),
            **_numerics_fields(self.numerics),
        )

    def as_dict(self) -> dict[str, object]:
        """The fields by name, as JSON data."""
        fields: dict[str, object] = {"model": self.model, "recipe": self.recipe, "reason": self.reason}
        if self.variant is not None:
            one = self.variant
            fields |= {
                "variant": one.variant_id,
                "path": str(one.path),
                "size_bytes": one.size_bytes,
                "graph_digest": one.graph_digest,
                "ort_format": one.ort_format,
                "converter_version": one.converter_version,
                "build_s": one.build_s,
                "nodes_before": dict(one.operators_before),
                "nodes_after": dict(one.operators_after),
            }
        if self.numerics is not None:
            fields |= _numerics_fields(self.numerics)
            fields["outputs"] = [asdict(error) for error in self.numerics.outputs]
        return fields


def _numerics_fields(numerics: Numerics | None) -> dict[str, Any]:
    """What a `VariantRow` says of them."""
    if numerics is None:
        return {}
    return {
        "verdict": verdict(numerics).value,
        "verdict_reason": numerics.unknown or problem(numerics),
        "precision": numerics.precision.value,
        "error": numerics.share,
        "cosine": numerics.cosine,
        "top1_same": numerics.top1_same,
    }


def _same(one: Variant, other: Variant) -> bool:
    return (one.graph_digest, one.recipe.format) == (other.graph_digest, other.recipe.format)


def build_all(asked: RunOptions, recipes: Sequence[str], home: Home, *, check: bool = False) -> list[Made]:
    """Build the recipes (default: every level and style) of the models; of `asked` only what is about models counts.

    With `check` each variant and its source are run on the model's inputs and held side by side; else what is known
    already is told. Raises UsageError with every problem.
    """
    wanted = _parsed(recipes or BASE_NAMES)
    wish = wish_of(asked)
    if any(thing.endswith(".toml") for thing in asked.things):
        raise UsageError(Problem("arguments", "a plan is not a model", "give MODEL.onnx or a folder"))
    plain = wish.cells(1, None)[0].settings
    workshop = prepare(wish, [Cell(recipe, plain) for recipe in wanted], home)
    libraries = [path for path, _ in custom_ops(wish.plan.custom_ops).host]
    numerics = _numerics(workshop, Shelf(home.shelf), libraries if check else None)
    made = []
    for model, _ in workshop.models:
        for recipe in wanted:
            one = workshop.variant_of(model, recipe)
            built = one if isinstance(one, Variant) else None
            made.append(
                Made(
                    model=model.name,
                    recipe=recipe.name if built is None else built.recipe.name,
                    variant=built,
                    reason="" if built is not None else _without_name(str(one), recipe),
                    numerics=None if built is None else numerics.get(built.variant_id),
                )
            )
    return made


def _without_name(reason: str, recipe: Recipe) -> str:
    """The reason without the recipe that it begins with: that stands before it anyway."""
    return reason.partition(": ")[2] if reason.startswith(recipe.base) else reason


def _numerics(workshop: Workshop, shelf: Shelf, custom_ops: Sequence[str] | None) -> dict[str, Numerics]:
    """By variant id; without `custom_ops`, libraries of operators, only what is known already."""
    built = [one for one in workshop.variants.values() if isinstance(one, Variant)]
    pairs = pairs_of(built, workshop)
    if custom_ops is None:
        return known_numerics(pairs, shelf)
    return dict(numerics_of(pairs, shelf, processes=os.cpu_count() or 1, custom_ops=custom_ops))


def _parsed(names: Sequence[str]) -> list[Recipe]:
    """The recipes, each once. Raises UsageError with the problems of all names."""
    found: dict[Recipe, None] = {}
    problems: list[Problem] = []
    for name in names:
        try:
            found[parse_recipe(name)] = None
        except UsageError as error:
            problems += error.problems
    if problems:
        raise UsageError(*problems)
    return list(found)
