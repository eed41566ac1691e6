"""A recipe is one word for a person, a plan, a variant's name and its identity."""

from __future__ import annotations

import pytest

from orchestrator.errors import UsageError
from orchestrator.variants.dims import Dims
from orchestrator.variants.inspect import load_model
from orchestrator.variants.notation import recipe_from_plain, recipe_to_plain
from orchestrator.variants.recipe import LEAST_API, Calibration, Recipe
from orchestrator.variants.recipe_words import BASE_NAMES, STEP_WORDS, parse_recipe
from orchestrator.variants.shelf import variant_id_of
from tests.unit.variants import nets

NAMES = (
    *BASE_NAMES,
    "nnapi-aware",
    "nnapi-aware=29",
    "basic+weights-inside",
    "all runtime+opset=15",
    "onnx+qdq-u8s8",
    "all amd64",
    "all runtime arm+opset=15",
    "nnapi-aware+weights-inside+opset=15",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_and_its_recipe_are_one(name: str) -> None:
    recipe = parse_recipe(name)
    assert recipe.name == name
    assert recipe_from_plain(recipe_to_plain(recipe)) == recipe


def test_spaces_around_plus_do_not_count() -> None:
    assert parse_recipe("basic + opset=15") == parse_recipe("basic+opset=15")


def test_every_step_is_a_word() -> None:
    for word in STEP_WORDS:
        step = "opset=13" if word == "opset" else word
        assert parse_recipe(f"onnx+{step}").steps == (step,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("basc", "unknown recipe 'basc'.*did you mean 'basic'"),
        ("basic+weight-inside", "unknown step 'weight-inside' in .*did you mean 'weights-inside'"),
        ("basic+opset", "no number from 7"),
        ("basic+opset=fifteen", "'fifteen' is no number"),
        ("basic+opset=9999999999", "is no number from 7 to 99"),
        ("basic+fp16=2", "unknown step 'fp16=2'"),
        ("basic+fp16+fp16", "has fp16 twice"),
        ("nnapi-aware=12", "no number from 27"),
        ("nnapi-aware runtime", "unknown recipe 'nnapi-aware runtime'"),
        ("basic+", "unknown step ''"),
        ("", "unknown recipe ''"),
        ("as is", "unknown recipe"),
    ],
)
def test_what_is_no_recipe_is_answered_with_the_nearest(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        parse_recipe(text, "plan.toml: matrix[0].recipe")
    assert caught.value.problems[0].where == "plan.toml: matrix[0].recipe"


def test_made_up_inputs_are_marked_in_the_name() -> None:
    recipe = parse_recipe("onnx+opset=13+qdq-u8s8")
    drawn = Recipe(format=recipe.format, steps=recipe.steps, calibration=Calibration(digests=("ab",), random=True))
    given = Recipe(format=recipe.format, steps=recipe.steps, calibration=Calibration(digests=("ab",), random=False))
    assert drawn.name == "onnx+opset=13+qdq-u8s8(random)"
    assert given.name == "onnx+opset=13+qdq-u8s8"
    assert recipe_from_plain(recipe_to_plain(drawn)) == drawn
    assert parse_recipe(drawn.name) == recipe, "a name that was read somewhere can be asked for"


def test_everything_asked_is_in_the_identity(tmp_path_factory: pytest.TempPathFactory) -> None:
    model = load_model(nets.save(nets.conv_relu(), tmp_path_factory.mktemp("net") / "net.onnx"))
    dims: Dims = ()
    asked = [parse_recipe(name) for name in NAMES]
    quantized = parse_recipe("onnx+qdq-u8s8")
    asked += [
        Recipe(format=quantized.format, steps=quantized.steps, calibration=Calibration(digests=(one,), random=drawn))
        for one, drawn in (("a", True), ("b", True), ("a", False))
    ]
    assert len({variant_id_of(model, recipe, dims) for recipe in asked}) == len(asked)


def test_impossible_recipes_can_not_be_made() -> None:
    with pytest.raises(ValueError, match="NNAPI-aware"):
        Recipe(format=parse_recipe("basic").format, level=parse_recipe("basic").level,
               style=parse_recipe("basic").style, nnapi_api=29)  # fmt: skip
    with pytest.raises(ValueError, match="as it is"):
        Recipe(format=parse_recipe("basic").format, steps=("fp16",))
    assert parse_recipe("nnapi-aware").nnapi_api == LEAST_API
