"""A build is what onnxruntime's own converter makes, at every level and in both styles."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from onnxruntime.tools.convert_onnx_models_to_ort import OptimizationStyle as TheirStyle
from onnxruntime.tools.convert_onnx_models_to_ort import convert_onnx_models_to_ort

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle, TargetPlatform
from orchestrator.app.shipping import shipped_name
from orchestrator.errors import VariantError
from orchestrator.variants.build import Built, build, flat_names
from orchestrator.variants.dims import Dims
from orchestrator.variants.graph import graph_digest
from orchestrator.variants.inspect import inspect_model
from orchestrator.variants.light_nets import LIGHT
from orchestrator.variants.other_nets import OTHER
from orchestrator.variants.read_ort import read_ort
from orchestrator.variants.recipe import Recipe
from orchestrator.variants.rules import AS_IS, ONNX
from orchestrator.variants.samples import write_samples
from tests.unit.variants import nets

LEVEL_VARIABLE = "ORT_CONVERT_ONNX_MODELS_TO_ORT_OPTIMIZATION_LEVEL"
FIXED, RUNTIME = OptimizationStyle.FIXED, OptimizationStyle.RUNTIME


def made(model: Path, recipe: Recipe, folder: Path, dims: Dims = ()) -> Built:
    for name in ("files", "scratch"):
        (folder / name).mkdir(parents=True)
    return build(inspect_model(model), recipe, dims, folder / "files", folder / "scratch")


def ort(level: str, style: OptimizationStyle = FIXED) -> Recipe:
    return Recipe(format=ModelFormat.ORT, level=OptimizationLevel(level), style=style)


@pytest.fixture(scope="module")
def sources(models: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("nets")
    return {
        "mnist": models / "mnist.onnx",
        "squeezenet": models / "squeezenet.onnx",
        "quantized": nets.save(nets.quantized(), folder / "quantized.onnx"),
    }


THEIR_WARNINGS = ("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
LEVELS = [level.value for level in OptimizationLevel]
SMALL = ["mnist", "squeezenet", "quantized", *OTHER]
LARGE = sorted(set(LIGHT) - {"squeezenet"})


@pytest.mark.filterwarnings(*THEIR_WARNINGS)
@pytest.mark.parametrize("platform", [None, *TargetPlatform])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", SMALL)
def test_same_graph_as_the_converter_s(
    sources: dict[str, Path],
    name: str,
    level: str,
    platform: TargetPlatform | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(LEVEL_VARIABLE, level)
    source = sources[name] if name in sources else write_samples(tmp_path / "source", [name])[0]
    same_as_theirs(source, level, tmp_path, platform)


@pytest.mark.filterwarnings(*THEIR_WARNINGS)
@pytest.mark.parametrize("level", ["basic", "all"])  # of the small ones every level is held above
@pytest.mark.parametrize("name", LARGE)
def test_same_graph_as_the_converter_s_for_large_models(
    name: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LEVEL_VARIABLE, level)
    try:
        same_as_theirs(write_samples(tmp_path / "source", [name])[0], level, tmp_path, None)
    finally:
        shutil.rmtree(tmp_path)  # half a gigabyte


def same_as_theirs(given: Path, level: str, tmp_path: Path, platform: TargetPlatform | None) -> None:
    """Both styles of one level by onnxruntime's converter and by ours: one graph, node by node."""
    source = tmp_path / "alone" / given.name  # theirs makes folders beside it
    source.parent.mkdir()
    source.hardlink_to(given)
    name = given.stem
    word = None if platform is None else platform.value
    styles = [TheirStyle.Fixed, TheirStyle.Runtime]
    convert_onnx_models_to_ort(source, tmp_path / "theirs", styles, target_platform=word)
    for style, ending in ((FIXED, ".ort"), (RUNTIME, ".with_runtime_opt.ort")):
        (found,) = [
            path
            for path in (tmp_path / "theirs").glob("*.ort")
            if path.name.endswith(ending) and ("runtime" in path.name) == (style is RUNTIME)
        ]
        theirs = read_ort(found.read_bytes())
        assert found.name == shipped_name(name, ort(level, style))
        ours = made(source, replace(ort(level, style), platform=platform), tmp_path / style.value)
        assert ours.graph_digest == graph_digest(theirs.graph, "ort", theirs.opsets)
        ours_graph = read_ort((tmp_path / style.value / "files" / "model.ort").read_bytes()).graph
        assert sorted(n.label for n in ours_graph.nodes) == sorted(n.label for n in theirs.graph.nodes)
        assert len(ours_graph.records) == len(theirs.graph.records)


def test_mnist_has_eight_nodes_at_basic_and_six_at_extended(sources: dict[str, Path], tmp_path: Path) -> None:
    basic = made(sources["mnist"], ort("basic"), tmp_path / "b")
    extended = made(sources["mnist"], ort("extended"), tmp_path / "e")
    assert dict(inspect_model(sources["mnist"]).operators) == {
        "Add": 3, "Conv": 2, "MatMul": 1, "MaxPool": 2, "Relu": 2, "Reshape": 2
    }  # fmt: skip
    assert dict(basic.operators_after) == {"Conv": 2, "Relu": 2, "MaxPool": 2, "Reshape": 1, "Gemm": 1}
    fused = {"com.microsoft:FusedConv": 2, "MaxPool": 2, "Reshape": 1, "Gemm": 1}
    assert dict(extended.operators_after) == fused
    assert basic.ort_format == 6


def test_twins_of_mnist(sources: dict[str, Path], tmp_path: Path) -> None:
    digests = {
        (level, style): made(sources["mnist"], ort(level, style), tmp_path / f"{level}{style}").graph_digest
        for level in ("basic", "extended", "layout", "all")
        for style in (FIXED, RUNTIME)
    }
    fixed = {level: digests[level, FIXED] for level in ("basic", "extended", "layout", "all")}
    assert fixed["extended"] == fixed["layout"] == fixed["all"] != fixed["basic"]
    assert digests["basic", RUNTIME] == fixed["basic"], "no record, so the same graph"
    assert digests["all", RUNTIME] not in fixed.values(), "its records are part of it, its nodes are those of basic"
    assert len(read_ort((tmp_path / f"all{RUNTIME}" / "files" / "model.ort").read_bytes()).graph.records) == 2


def test_levels_differ_where_quantization_acts(sources: dict[str, Path], tmp_path: Path) -> None:
    counts = {
        level: dict(made(sources["quantized"], ort(level), tmp_path / level).operators_after)
        for level in ("basic", "extended")
    }
    assert "QLinearConv" not in counts["basic"]
    assert counts["extended"].get("QLinearConv") == 1


def test_onnx_is_copied_byte_for_byte(sources: dict[str, Path], tmp_path: Path) -> None:
    built = made(sources["mnist"], ONNX, tmp_path)
    assert (tmp_path / "files" / "model.onnx").read_bytes() == sources["mnist"].read_bytes()
    assert built.operators_after == inspect_model(sources["mnist"]).operators
    assert built.ort_format is None


def test_an_ort_file_is_a_variant_as_it_is(sources: dict[str, Path], tmp_path: Path) -> None:
    first = made(sources["mnist"], ort("extended"), tmp_path / "first")
    source = tmp_path / "first" / "files" / "model.ort"
    again = made(source, AS_IS, tmp_path / "again")
    assert (tmp_path / "again" / "files" / "model.ort").read_bytes() == source.read_bytes()
    assert (again.graph_digest, again.ort_format) == (first.graph_digest, 6)
    for recipe in (ONNX, ort("basic")):
        with pytest.raises(VariantError, match=r"ort format|is an \.ort"):
            made(source, recipe, tmp_path / recipe.name)
    with pytest.raises(VariantError, match="onnx format"):
        made(sources["mnist"], AS_IS, tmp_path / "wrong")


def test_named_and_unnamed_dimensions_are_fixed_first(tmp_path: Path) -> None:
    source = nets.save(nets.conv_relu(("batch", 1, None, 8), out=("batch", 2, None, 6)), tmp_path / "net.onnx")
    dims: Dims = (("batch", 3), ("x.2", 8))
    for recipe in (ONNX, ort("extended")):
        built = made(source, recipe, tmp_path / recipe.name, dims)
        assert [name for name, _ in built.files] == [built.main]
        assert inspect_model(tmp_path / recipe.name / "files" / built.main).model.inputs[0].shape == (3, 1, 8, 8)


def test_external_data_goes_along(tmp_path: Path) -> None:
    source = nets.external(tmp_path / "source")
    built = made(source, ONNX, tmp_path / "onnx")
    assert [name for name, _ in built.files] == ["model.onnx", "weights.bin"]
    assert inspect_model(tmp_path / "onnx" / "files" / "model.onnx").graph_digest == built.graph_digest
    converted = made(source, ort("extended"), tmp_path / "ort")
    assert [name for name, _ in converted.files] == ["model.ort"]
    inside = made(nets.save(nets.conv_relu(), tmp_path / "inside.onnx"), ort("extended"), tmp_path / "inside")
    assert converted.graph_digest == inside.graph_digest


def test_external_data_is_flattened_out_of_sub_folders(tmp_path: Path) -> None:
    source = nets.external(tmp_path / "source", "deep/er/weights.bin")
    built = made(source, ONNX, tmp_path / "onnx")
    files = tmp_path / "onnx" / "files"
    assert sorted(path.name for path in files.iterdir()) == ["external_0.bin", "model.onnx"]
    assert all(path.is_file() for path in files.iterdir())
    assert inspect_model(files / "model.onnx").graph_digest == built.graph_digest


def test_external_data_and_dimensions_together(tmp_path: Path) -> None:
    model = nets.conv_relu(("batch", 1, 8, 8), out=("batch", 2, 6, 6))
    source = nets.save_external(model, tmp_path / "net.onnx")
    for recipe in (ONNX, ort("basic")):
        made(source, recipe, tmp_path / recipe.name, (("batch", 2),))
    assert (tmp_path / "net.onnx.data").stat().st_size == 72, "the source's file is as it was"
    assert sorted(path.name for path in (tmp_path / "basic" / "files").iterdir()) == ["model.ort"]


def test_flat_names_never_collide_with_the_model() -> None:
    names = flat_names(["model.onnx", "a/w", "w", "$(rm).bin", "external_0.bin"])
    assert len(set(names.values())) == 5
    assert not {"model.onnx", "model.ort"} & set(names.values())
    assert names["w"] == "w"


def test_refusal_says_what_the_runtime_said(tmp_path: Path) -> None:
    model = nets.conv_relu()
    model.graph.node[1].op_type = "NoSuchOperator"
    source = nets.save(model, tmp_path / "net.onnx")
    with pytest.raises(VariantError, match=r"basic: onnxruntime \S+: .*NoSuchOperator"):
        made(source, ort("basic"), tmp_path / "out")


def test_the_converter_under_test_is_quiet(
    sources: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made(sources["squeezenet"], ort("all"), tmp_path)
    assert capfd.readouterr() == ("", "")
    assert os.listdir(tmp_path / "scratch") == []
