"""`orch model build`: a model's variants on the shelf, and what each changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.app.prepare import prepare
from orchestrator.app.wish import RunOptions, wish_of
from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home
from orchestrator.plan.cells import Cell
from orchestrator.report.summary import VariantRow
from orchestrator.variants.recipe import Recipe, Variant
from orchestrator.variants.recipe_words import BASE_NAMES, parse_recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A variant as a person reads it; `reason` says why there is none."""

    model: str
    recipe: str
    variant: Variant | None
    reason: str

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
        return fields


def _same(one: Variant, other: Variant) -> bool:
    return (one.graph_digest, one.recipe.format) == (other.graph_digest, other.recipe.format)


def build_all(
    things: Sequence[str],
    recipes: Sequence[str],
    dims: Sequence[str],
    home: Home,
    converter: str = "",
    inputs: str = "",
) -> list[Made]:
    """Build the recipes (default: every level and style) of the models. `inputs`: a folder to calibrate on.

    Raises UsageError with every problem.
    """
    asked = _parsed(recipes or BASE_NAMES)
    wish = wish_of(RunOptions(things=tuple(things), dim=tuple(dims), converter=converter, inputs=inputs))
    if any(thing.endswith(".toml") for thing in things):
        raise UsageError(Problem("arguments", "a plan is not a model", "give MODEL.onnx or a folder"))
    plain = wish.cells(1, None)[0].settings
    workshop = prepare(wish, [Cell(recipe, plain) for recipe in asked], home)
    made = []
    for model, _ in workshop.models:
        for recipe in asked:
            one = workshop.variant_of(model, recipe)
            built = one if isinstance(one, Variant) else None
            name = recipe.name if built is None else built.recipe.name
            made.append(
                Made(model=model.name, recipe=name, variant=built, reason="" if built is not None else str(one))
            )
    return made


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
