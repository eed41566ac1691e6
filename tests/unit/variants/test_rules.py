"""Recipes by the version of the binary that is to load the variant."""

from __future__ import annotations

from pathlib import Path

import pytest

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle, OrtVersion
from orchestrator.errors import UsageError, VariantError
from orchestrator.variants.recipe import Model, Recipe
from orchestrator.variants.rules import AS_IS, ONNX, all_recipes, recipes_for, require_readable, require_useful

NOW = OrtVersion(1, 31, 1)
ALL_RUNTIME = Recipe(format=ModelFormat.ORT, level=OptimizationLevel.ALL, style=OptimizationStyle.RUNTIME)


def test_a_target_of_today_takes_nine_recipes() -> None:
    names = [recipe.name for recipe in recipes_for(NOW, NOW)]
    assert names == [
        "onnx", "basic", "extended", "layout", "all",
        "basic runtime", "extended runtime", "layout runtime", "all runtime",
    ]  # fmt: skip
    assert recipes_for(OrtVersion(1, 16), NOW) == recipes_for(NOW, NOW) == all_recipes()


def test_a_target_before_the_format_changed_takes_only_onnx() -> None:
    assert recipes_for(OrtVersion(1, 15), NOW) == (ONNX,)
    with pytest.raises(VariantError, match=r"all runtime: onnxruntime 1\.31\.1 writes ORT format 6, which ORT 1\.15"):
        require_useful(ALL_RUNTIME, OrtVersion(1, 15), NOW)
    require_useful(ONNX, OrtVersion(1, 15), NOW)


@pytest.mark.parametrize(
    ("target", "converter", "layout", "runtime"),
    [
        ("1.10", "1.10", False, False),
        ("1.12", "1.12", False, True),
        ("1.22", "1.22", False, True),
        ("1.22", "1.23", True, True),
    ],
)
def test_rules_of_older_pairs(target: str, converter: str, layout: bool, runtime: bool) -> None:
    names = {recipe.name for recipe in recipes_for(OrtVersion.parse(target), OrtVersion.parse(converter))}
    assert {"onnx", "basic", "extended", "all"} <= names
    assert ("layout" in names, "all runtime" in names) == (layout, runtime)


def test_an_ort_source_has_one_recipe() -> None:
    assert recipes_for(NOW, NOW, ModelFormat.ORT) == (AS_IS,)
    assert AS_IS.name == "as is"


@pytest.mark.parametrize(("ort_format", "said"), [(7, "newer runtime"), (4, "older than")])
def test_an_ort_source_must_be_readable_by_the_binary(ort_format: int, said: str) -> None:
    fields = {"format": ModelFormat.ORT, "digest": "", "ir_version": 7, "opset": 13, "inputs": (), "outputs": ()}
    model = Model(name="m", path=Path("m.ort"), node_count=1, size_bytes=1, ort_format=ort_format, **fields)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=said):
        require_readable(model, NOW)


def test_recipes_keep_their_words_together() -> None:
    with pytest.raises(ValueError, match="neither"):
        Recipe(format=ModelFormat.ONNX, level=OptimizationLevel.ALL, style=OptimizationStyle.FIXED)
    with pytest.raises(ValueError, match="level and style"):
        Recipe(format=ModelFormat.ORT, level=OptimizationLevel.ALL)
