"""`orch model build`: a model's variants on the shelf, and what each changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.app.prepare import prepare
from orchestrator.app.wish import RunOptions, wish_of
from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home
from orchestrator.plan.cells import Cell
from orchestrator.plan.load import RECIPE_NAMES, recipe_named
from orchestrator.plan.presets import unknown
from orchestrator.variants.recipe import Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A variant as a person reads it; `reason` says why there is none."""

    model: str
    recipe: str
    variant: Variant | None
    reason: str

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


def build_all(things: Sequence[str], recipes: Sequence[str], dims: Sequence[str], home: Home) -> list[Made]:
    """Build the recipes (default: every one) of the models. Raises UsageError with every problem."""
    wrong = [unknown("recipe", name, list(RECIPE_NAMES)) for name in recipes if name not in RECIPE_NAMES]
    if wrong:
        raise UsageError(*wrong)
    wish = wish_of(RunOptions(things=tuple(things), dim=tuple(dims)))
    if any(thing.endswith(".toml") for thing in things):
        raise UsageError(Problem("arguments", "a plan is not a model", "give MODEL.onnx or a folder"))
    plain = wish.cells(1)[0].settings
    cells = [Cell(recipe_named(name), plain) for name in (recipes or RECIPE_NAMES)]
    workshop = prepare(wish, cells, home)
    made = []
    for model, _ in workshop.models:
        for cell in cells:
            one = workshop.variant_of(model, cell.recipe)
            built = one if isinstance(one, Variant) else None
            reason = "" if isinstance(one, Variant) else one
            made.append(Made(model=model.name, recipe=cell.recipe.name, variant=built, reason=reason))
    return made
