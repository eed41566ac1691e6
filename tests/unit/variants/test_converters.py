"""Other Pythons' onnxruntimes: registered, checked, chosen, and converting."""

from __future__ import annotations

import os
import stat
import sys
import venv
from pathlib import Path

import pytest

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle, OrtVersion
from orchestrator.app.converting import converter_rows
from orchestrator.app.prepare import prepare
from orchestrator.app.wish import RunOptions, wish_of
from orchestrator.errors import UsageError, VariantError
from orchestrator.home import Home
from orchestrator.plan.cells import ONNX, Cell
from orchestrator.variants.converter import Converter, installed
from orchestrator.variants.converters import add, chosen, registered, remove
from orchestrator.variants.inspect import load_model
from orchestrator.variants.recipe import Recipe, Variant
from orchestrator.variants.rules import nearest, served_by
from orchestrator.variants.shelf import Shelf, build_variants
from tests.conftest import OTHER_PYTHON
from tests.unit.variants import nets

BASIC = Recipe(format=ModelFormat.ORT, level=OptimizationLevel.BASIC, style=OptimizationStyle.FIXED)
EXTENDED = Recipe(format=ModelFormat.ORT, level=OptimizationLevel.EXTENDED, style=OptimizationStyle.FIXED)


def versions(*texts: str) -> list[OrtVersion]:
    return [OrtVersion.parse(text) for text in texts]


@pytest.mark.parametrize(
    ("target", "have", "best"),
    [
        ("1.31.1", ["1.31.1", "1.20.0"], "1.31.1"),
        ("1.21.0", ["1.31.1", "1.20.0"], "1.20.0"),
        ("1.17.0", ["1.31.1", "1.18.1", "1.16.3"], "1.16.3"),  # as near: the older one
        ("1.16.0", ["1.31.1", "1.15.1"], "1.15.1"),
        ("1.15.0", ["1.31.1", "1.15.1"], "1.15.1"),  # a patch newer is the same release
        ("1.14.0", ["1.31.1", "1.15.1"], None),  # newer than the binary
        ("1.14.0", ["1.15.1", "1.13.1"], "1.13.1"),
        ("1.13.1", ["1.12.1"], None),  # ORT format 4
        ("1.12.1", ["1.31.1", "1.11.1"], "1.11.1"),
        ("1.10.0", ["1.31.1"], None),
    ],
)
def test_the_nearest_that_the_binary_loads(target: str, have: list[str], best: str | None) -> None:
    found = nearest(OrtVersion.parse(target), versions(*have))
    assert found == (None if best is None else OrtVersion.parse(best))


@pytest.mark.parametrize(
    ("converter", "words"),
    [("1.31.1", "1.16 and later"), ("1.15.1", "1.15 and later"), ("1.11.0", "1.11 to 1.12")],
)
def test_whom_a_converter_serves(converter: str, words: str) -> None:
    assert served_by(OrtVersion.parse(converter)) == words


def test_one_is_chosen_by_version_path_or_nearness() -> None:
    ours, old = Converter(version="1.31.1"), Converter(version="1.15.1", python="/opt/old/bin/python")
    assert chosen([ours, old], None) == ours
    assert chosen([ours, old], OrtVersion(1, 15)) == old
    assert chosen([ours, old], OrtVersion(1, 12)) == ours, "nobody serves it: the reason is then said of ours"
    assert chosen([ours, old], OrtVersion(1, 30), "1.15.1") == chosen([ours, old], None, "/opt/old/bin/python") == old
    with pytest.raises(UsageError, match=r"--converter: 1\.14 is no registered converter .*1\.31\.1, 1\.15\.1"):
        chosen([ours, old], None, "1.14")


def test_registering_checks_and_removing_forgets(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert registered(home.converters) == (installed(),)
    found = add(home.converters, sys.executable)  # our own Python, as another process
    assert (found.version, found.python) == (installed().version, sys.executable)
    assert registered(home.converters) == (installed(), found)
    add(home.converters, sys.executable)
    assert len(registered(home.converters)) == 2, "once"
    assert [row.ort_format for row in converter_rows(home)] == [6, 6]
    assert remove(home.converters, found.version) == found
    with pytest.raises(UsageError, match=r"9\.9: is no registered converter \(registered: none\)"):
        remove(home.converters, "9.9")


def test_a_python_without_onnxruntime_is_told_what_to_install(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / "bin" / "python"
    with pytest.raises(UsageError) as error:
        add(tmp_path / "converters.json", str(python))
    (problem,) = error.value.problems
    assert "can't import onnxruntime" in problem.what
    assert problem.mend == f"{python} -m pip install onnxruntime==VERSION"
    assert not (tmp_path / "converters.json").exists()


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("exit 3", "ended with 3"),
        ("kill -9 $$", "was killed by signal 9"),
        ("echo hello", "does not answer as a Python does"),
        ("""echo '{"version": "1.2.0"}'""", "onnxruntime 1.2.0 is too old"),
        ("""echo '{"version": "x"}'""", "'x' is no version of onnxruntime"),
        ("""echo '{"version": "1.20.0"}'""", "can't convert: .*No such file"),
    ],
)
def test_what_is_no_such_python_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        add(tmp_path / "converters.json", script(tmp_path / "python", text))


def test_a_path_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't be started: No such file"):
        add(tmp_path / "converters.json", str(tmp_path / "nowhere"))


@pytest.mark.parametrize("text", ["{", "[1]", '[{"python": "/p"}]', '[{"python": "/p", "version": "new"}]'])
def test_a_damaged_register_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "converters.json").write_text(text)
    with pytest.raises(UsageError, match=r"converters\.json: can't be read"):
        registered(tmp_path / "converters.json")


def built_by(converter: Converter, recipe: Recipe, folder: Path) -> Variant | VariantError:
    folder.mkdir(exist_ok=True)
    model = load_model(nets.save(nets.conv_relu(), folder / "net.onnx"))
    (result,) = build_variants([(model, recipe, ())], Shelf(folder / "shelf"), converter=converter)
    return result


def test_another_process_makes_the_same_graph_under_the_same_name(tmp_path: Path) -> None:
    there = Converter(version=installed().version, python=sys.executable)
    first, second = built_by(installed(), EXTENDED, tmp_path / "a"), built_by(there, EXTENDED, tmp_path / "b")
    assert isinstance(first, Variant)
    assert isinstance(second, Variant)
    assert first.graph_digest == second.graph_digest
    assert first.variant_id == second.variant_id, "the version counts, not where it lies"
    assert dict(second.operators_after) == {"com.microsoft:FusedConv": 1}


def test_the_version_is_part_of_a_variant_s_identity(tmp_path: Path) -> None:
    model = load_model(nets.save(nets.conv_relu(), tmp_path / "net.onnx"))
    shelf = Shelf(tmp_path / "shelf")
    build_variants([(model, BASIC, ()), (model, ONNX, ())], shelf)
    older = Converter(version="1.15.1", python=sys.executable)
    assert shelf.find(model, BASIC, (), installed()) is not None
    assert shelf.find(model, BASIC, (), older) is None
    assert shelf.find(model, ONNX, (), older) is not None, "a copy is the same under every converter"


def test_a_python_whose_onnxruntime_changed_is_said(tmp_path: Path) -> None:
    result = built_by(Converter(version="1.15.1", python=sys.executable), BASIC, tmp_path)
    assert isinstance(result, VariantError)
    assert f"has onnxruntime {installed().version} now, not 1.15.1: orch model converters add" in str(result)
    assert list((tmp_path / "shelf" / "variants").iterdir()) == []


def test_what_the_other_onnxruntime_says_comes_through(tmp_path: Path) -> None:
    model = nets.conv_relu()
    model.graph.node[1].op_type = "NoSuchOperator"
    path = nets.save(model, tmp_path / "net.onnx")
    there = Converter(version=installed().version, python=sys.executable)
    (result,) = build_variants([(load_model(path), BASIC, ())], Shelf(tmp_path / "shelf"), converter=there)
    assert isinstance(result, VariantError)
    assert f"onnxruntime {installed().version} of {sys.executable}" in str(result)
    assert "NoSuchOperator" in str(result)


def test_a_binary_that_nobody_serves_gets_its_onnx_alone_with_the_reason(tmp_path: Path) -> None:
    path = nets.save(nets.conv_relu(), tmp_path / "net.onnx")
    wish = wish_of(RunOptions(things=(str(path),)))
    settings = wish.cells(1, None)[0].settings
    cells = [Cell(recipe, settings) for recipe in (ONNX, BASIC)]
    workshop = prepare(wish, cells, Home(tmp_path / "home"), OrtVersion(1, 12, 1))
    ((model, _),) = workshop.models
    assert isinstance(workshop.variant_of(model, ONNX), Variant)
    assert workshop.variant_of(model, BASIC) == (
        f"onnxruntime {installed().version} writes ORT format 6, which ORT 1.12.1 does not load: register an "
        "onnxruntime 1.8 to 1.12 (orch model converters add PYTHON), or use the .onnx itself"
    )


@pytest.fixture
def other(tmp_path: Path) -> Converter:
    python = os.environ.get(OTHER_PYTHON)
    if not python:
        pytest.skip(f"{OTHER_PYTHON} names no Python with another onnxruntime: converting with one is not tested")
    return add(tmp_path / "home" / "converters.json", python)


def test_another_release_converts_for_its_own_binaries(tmp_path: Path, other: Converter, mnist: Path) -> None:
    wish = wish_of(RunOptions(things=(str(mnist),)))
    settings = wish.cells(1, None)[0].settings
    cells = [Cell(recipe, settings) for recipe in (ONNX, BASIC, EXTENDED)]
    target = OrtVersion.parse(other.version)
    workshop = prepare(wish, cells, Home(tmp_path / "home"), target)
    ((model, _),) = workshop.models
    basic, extended = (workshop.variant_of(model, recipe) for recipe in (BASIC, EXTENDED))
    assert isinstance(basic, Variant)
    assert isinstance(extended, Variant)
    assert basic.converter_version == other.version
    assert basic.ort_format == {True: 6, False: 5 if target >= OrtVersion(1, 13) else 4}[target >= OrtVersion(1, 16)]
    assert sum(count for _, count in basic.operators_after) == 8
    assert dict(extended.operators_after)["com.microsoft:FusedConv"] == 2
