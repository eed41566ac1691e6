"""Recipes with steps in plans: their names, their problems, and cells that mean nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from android_runner.ort import ExecutionProvider, OptimizationLevel
from android_runner.settings import SessionSettings
from orchestrator.errors import UsageError
from orchestrator.plan.cells import Cell
from orchestrator.plan.load import matrix_cells, parse_plan
from orchestrator.variants.recipe_words import parse_recipe
from tests.unit.plan.test_matrix_and_order import PLAIN, expanded

NNAPI = SessionSettings(provider=ExecutionProvider.NNAPI)


def plan(**axes: Any) -> dict[str, Any]:
    return {"models": ["m.onnx"], "matrix": [axes]}


def test_steps_are_part_of_a_plan_s_recipes() -> None:
    names = ["onnx", "basic+weights-inside", "all runtime + opset=15", "nnapi-aware"]
    cells = matrix_cells(parse_plan(plan(recipe=names), "p.toml").matrix)
    assert [cell.row for cell in cells] == [
        "default", "cpu basic+weights-inside", "cpu all runtime+opset=15", "cpu nnapi-aware"
    ]  # fmt: skip


def test_all_wrong_recipes_are_told_with_their_place() -> None:
    with pytest.raises(UsageError) as caught:
        parse_plan(plan(recipe=["basc", "basic", "basic+fp61"]), "p.toml")
    assert [(one.where, one.what) for one in caught.value.problems] == [
        ("p.toml: matrix[0].recipe", "unknown recipe 'basc'"),
        ("p.toml: matrix[0].recipe", "unknown step 'fp61' in 'basic+fp61'"),
    ]


@pytest.mark.parametrize("step", ["fp16", "transformer-fusions"])
def test_what_is_for_the_cpu_is_dropped_on_nnapi(step: str) -> None:
    recipe = parse_recipe(f"basic+{step}")
    found = expanded([Cell(recipe, NNAPI), Cell(recipe, PLAIN)])
    assert [case.row for case in found.cases if case.timed] == [f"cpu basic+{step}"]
    (dropped,) = found.dropped
    assert dropped.row == f"nnapi basic+{step}"
    assert dropped.reason.startswith(f"{step}: NNAPI's execution provider ")


def test_a_step_does_not_hide_what_the_runtime_fuses() -> None:
    """Beside NNAPI the CPU is traced on the nodes that NNAPI had, so without the fusions that come later."""
    names = ("onnx+opset=15", "all runtime+opset=15", "all runtime arm", "basic+opset=15", "nnapi-aware=29")
    cases = expanded([Cell(parse_recipe(name), NNAPI) for name in names]).cases
    beside = {case.recipe_name: case.settings.level for case in cases if not case.timed}
    basic = OptimizationLevel.BASIC
    assert beside == dict(zip(names, (basic, basic, basic, None, None), strict=True))


def test_a_level_on_a_changed_onnx_is_called_as_on_the_source() -> None:
    cell = Cell(parse_recipe("onnx+opset=15"), replace(PLAIN, level=OptimizationLevel.BASIC))
    assert cell.row == "cpu onnx+opset=15 basic"
