"""Recipes with steps through the shelf: workers, identities, and what is left when something can't be."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest

from orchestrator.app.modelling import Made, build_all
from orchestrator.app.wish import RunOptions
from orchestrator.errors import UsageError, VariantError
from orchestrator.home import Home
from orchestrator.variants.build import build
from orchestrator.variants.inspect import inspect_model, load_model
from orchestrator.variants.recipe import Variant
from orchestrator.variants.recipe_words import STEP_WORDS, parse_recipe
from orchestrator.variants.shelf import Shelf, build_variants
from tests.unit.variants import nets, step_nets
from tests.unit.variants.test_steps import mnist, overridable, sample_folder


def shelved(home: Home) -> list[str]:
    """The entries of the shelf, and what builds left."""
    found = [path.name for path in (home.shelf / "variants").glob("*")]
    return found + [f"tmp/{path.name}" for path in (home.shelf / "tmp").glob("*")]


def built(home: Home, model: Path, *recipes: str, inputs: str = "", dims: tuple[str, ...] = ()) -> dict[str, Made]:
    asked = RunOptions(things=(str(model),), dim=dims, inputs=inputs)
    return {one.recipe: one for one in build_all(asked, recipes, home)}


def variant(made: Made) -> Variant:
    assert made.variant is not None, made.reason
    return made.variant


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_steps_are_built_and_found_again(home: Home, tmp_path: Path) -> None:
    model = nets.save(overridable(), tmp_path / "net.onnx")
    names = ("basic", "basic+weights-inside", "onnx+weights-inside+opset=15", "extended+weights-inside")
    made = built(home, model, *names)
    assert tuple(made) == names
    assert dict(variant(made["extended+weights-inside"]).operators_after) == {"com.microsoft:FusedConv": 1}
    inside = variant(made["onnx+weights-inside+opset=15"])
    assert load_model(inside.path).opset == 15
    assert [one.name for one in onnx.load(inside.path).graph.input] == ["x"]
    assert inside.converter_version, "the installed packages had a part in it"
    again = built(home, model, *names)
    assert [variant(one).variant_id for one in again.values()] == [variant(one).variant_id for one in made.values()]
    assert len(shelved(home)) == len(names)


def test_what_can_not_be_is_a_reason_and_leaves_nothing(home: Home, tmp_path: Path) -> None:
    model = nets.save(nets.branching(), tmp_path / "net.onnx")
    asked = [f"onnx+{'opset=13' if word == 'opset' else word}" for word in STEP_WORDS] + ["nnapi-aware"]
    made = built(home, model, *asked)
    assert all(one.variant is None for one in made.values())
    assert all(one.reason for one in made.values())
    assert made["nnapi-aware"].reason.startswith("NNAPI takes nothing of this model on API 30")
    assert shelved(home) == []


def test_without_inputs_a_quantization_is_marked(home: Home, tmp_path: Path) -> None:
    model = nets.save(mnist(), tmp_path / "net.onnx")
    (drawn,) = built(home, model, "onnx+qdq-u8s8")
    folder = tmp_path / "given"
    folder.mkdir()
    for at in range(2):
        sample_folder(folder / f"test_data_set_{at}", mnist(), at)
    ((given, real),) = built(home, model, "onnx+qdq-u8s8", inputs=str(folder)).items()
    assert (drawn, given) == ("onnx+qdq-u8s8(random)", "onnx+qdq-u8s8")
    calibration = variant(real).recipe.calibration
    assert calibration is not None
    assert len(calibration.digests) == 2
    assert len(shelved(home)) == 2


def test_calibrating_on_data_of_the_wrong_shape_is_refused(home: Home, tmp_path: Path) -> None:
    model = nets.save(nets.conv_relu(), tmp_path / "net.onnx")
    folder = tmp_path / "given"
    folder.mkdir()
    sample_folder(folder / "test_data_set_0", nets.conv_relu())
    sample_folder(folder / "test_data_set_1", nets.conv_relu((1, 1, 9, 9)))
    with pytest.raises(UsageError, match=r"test_data_set_1.*shape \[1, 1, 9, 9\], the model takes \[1, 1, 8, 8\]"):
        built(home, model, "onnx+qdq-u8s8", inputs=str(folder))
    assert shelved(home) == []


def test_external_data_stays_outside_through_steps(home: Home, tmp_path: Path) -> None:
    model = nets.conv_relu(("batch", 1, 64, 64), out=("batch", 64, 62, 62))
    model.graph.initializer[0].CopyFrom(nets.weights("w", 64, 1, 3, 3))
    source = nets.save_external(model, tmp_path / "net.onnx")
    made = built(home, source, "onnx+opset=15", "basic+opset=15", dims=("batch=1",))
    changed = variant(made["onnx+opset=15"])
    assert sorted(os.listdir(changed.path.parent)) == ["model.onnx", "weights.bin"]
    assert inspect_model(changed.path).model.inputs[0].shape == (1, 1, 64, 64)
    given = step_nets.feeds(onnx.load(changed.path))
    (have,) = step_nets.session(str(changed.path)).run(None, given)
    (want,) = step_nets.session(str(variant(made["basic+opset=15"]).path)).run(None, given)
    assert abs(have - want).max() <= 1e-5
    assert (tmp_path / "net.onnx.data").stat().st_size == 64 * 9 * 4, "the source's file is as it was"


def test_over_2_gb_there_is_no_ort_format_and_few_steps(tmp_path: Path) -> None:
    """The size alone decides: nothing is loaded, and the worker is not asked."""
    source = inspect_model(nets.external(tmp_path / "source"))
    large = replace(source, model=replace(source.model, size_bytes=2**31))
    (tmp_path / "files").mkdir()
    (tmp_path / "scratch").mkdir()
    for name, said in (("nnapi-aware=29", "2 GB"), ("basic+weights-inside", "2 GB"), ("onnx+fp16", "one protobuf")):
        with pytest.raises(VariantError, match=f"{name.replace('+', '.')}.*{said}"):
            build(large, parse_recipe(name), (), tmp_path / "files", tmp_path / "scratch")
    assert not list((tmp_path / "files").iterdir())


def test_an_ort_source_has_no_steps(home: Home, tmp_path: Path) -> None:
    model = nets.save(nets.conv_relu(), tmp_path / "net.onnx")
    source = variant(built(home, model, "basic")["basic"]).path
    shelf = Shelf(home.shelf)
    (lost,) = build_variants([(load_model(source, shelf=shelf), parse_recipe("onnx+opset=15"), ())], shelf)
    assert isinstance(lost, VariantError)
    assert "ort format" in str(lost)


def test_a_model_that_breaks_a_tool_is_a_reason(home: Home, tmp_path: Path) -> None:
    model: Any = nets.conv_relu()
    model.graph.node[1].op_type = "NoSuchOperator"
    source = nets.save(model, tmp_path / "net.onnx")
    words = [f"{base}+{'opset=15' if word == 'opset' else word}" for base in ("onnx", "basic") for word in STEP_WORDS]
    made = built(home, source, *words, "nnapi-aware")
    assert [one.recipe for one in made.values() if one.variant is not None] == []
    assert shelved(home) == []
