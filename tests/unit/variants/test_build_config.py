"""Configurations of reduced builds: read as the build reads them, and what a model needs that is not in one."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxruntime.tools.reduced_build_config_parser import parse_config

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle
from orchestrator.errors import UsageError
from orchestrator.variants.build_config import lacking, parse_build_config
from orchestrator.variants.inspect import load_model
from orchestrator.variants.kernels import Counted, config_text, kernel_recipes, read_build_config, since_version
from orchestrator.variants.recipe import Recipe, Variant
from orchestrator.variants.rules import AS_IS, ONNX
from orchestrator.variants.shelf import Shelf, build_variants
from tests.unit.variants import nets

TEXT = """\
# Generated from model/s:
# - m.ort
ai.onnx;11;Conv{"inputs": {"0": ["float"]}},Flatten
ai.onnx;12,13;Cast{"inputs": {"0": ["float", "int8_t"]}, "outputs": {"0": ["float"]}},Relu
ai.onnx;9;OneHot{"custom": [["float", "int64_t", "int64_t"]]}
com.microsoft;1;FusedConv
"""


def missing(needs: str, has: str) -> tuple[str, ...]:
    return lacking(parse_build_config(needs), parse_build_config(has), since_version)


def test_it_is_read_as_the_build_s_own_parser_reads_it(tmp_path: Path) -> None:
    (tmp_path / "c").write_text(TEXT + "ai.onnx;11;MaxPool\n")
    theirs, _ = parse_config(str(tmp_path / "c"), True)
    ours = parse_build_config((tmp_path / "c").read_text())
    assert {(domain, opset): set(names) for domain, by in theirs.items() for opset, names in by.items()} == {
        key: set(names) for key, names in ours.operators.items()
    }
    assert ours.types[("ai.onnx", "Cast")] == {
        "input 0": frozenset({"float", "int8_t"}),
        "output 0": frozenset({"float"}),
    }


def test_what_it_has_it_does_not_lack() -> None:
    assert missing(TEXT, TEXT) == ()
    assert missing(TEXT, "!no_ops_specified_means_all_ops_are_required\n") == ()
    assert missing(TEXT, "") == (
        "Cast (opset 12)", "Cast (opset 13)", "Conv (opset 11)", "Flatten (opset 11)", "OneHot (opset 9)",
        "Relu (opset 12)", "Relu (opset 13)", "com.microsoft:FusedConv (opset 1)",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("needs", "has", "lost"),
    [
        ("ai.onnx;11;Conv", "ai.onnx;12;Conv", ()),  # by a model's opset: the same Conv
        ("ai.onnx;11;Conv", "ai.onnx;10;Conv", ("Conv (opset 11)",)),  # an older one
        ("ai.onnx;13;Relu", "com.microsoft;13;Relu", ("Relu (opset 13)",)),
        ("com.microsoft;1;FusedConv", "com.microsoft;1;FusedGemm", ("com.microsoft:FusedConv (opset 1)",)),
        ('ai.onnx;13;Relu{"inputs": {"0": ["double"]}}', "ai.onnx;13;Relu", ()),  # no word on types: all of them
        (
            'ai.onnx;13;Relu{"inputs": {"0": ["double", "float"]}}',
            'ai.onnx;13;Relu{"inputs": {"0": ["float"]}}',
            ("Relu (input 0: double)",),
        ),
        # whatever the configuration says, builds keep the integers of shape arithmetic
        ('ai.onnx;14;Add{"inputs": {"0": ["int64_t"]}}', 'ai.onnx;14;Add{"inputs": {"0": ["float"]}}', ()),
        (
            'ai.onnx;14;Add{"inputs": {"0": ["uint8_t"]}}',
            'ai.onnx;14;Add{"inputs": {"0": ["float"]}}',
            ("Add (input 0: uint8_t)",),
        ),
        (
            'ai.onnx;13;Relu{"inputs": {"0": ["double"]}}',
            "!globally_allowed_types;float,int64_t\nai.onnx;13;Relu",
            ("Relu (input 0: double)",),
        ),
        (
            'ai.onnx;11;OneHot{"custom": [["float", "float", "int64_t"]]}',
            'ai.onnx;11;OneHot{"custom": [["float", "int64_t", "int64_t"]]}',
            ("OneHot (combination: float, float, int64_t)",),
        ),
    ],
)
def test_what_is_lacking_has_a_name(needs: str, has: str, lost: tuple[str, ...]) -> None:
    assert missing(needs, has) == lost


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ai.onnx;11", "line 1: not of the form"),
        ("\n;11;Conv", "line 2: not of the form"),
        ("ai.onnx;eleven;Conv", "line 1: no opset: eleven"),
        ('ai.onnx;11;Conv{"inputs": {', "line 1: types of Conv can't be read"),
        ('ai.onnx;11;Conv{"inputs": 7}', "line 1: types of Conv can't be read"),
        ("ai.onnx;11;Conv,,Relu", "line 1: no operator: ''"),
        ("ai.onnx;11;\x1b[31mConv", "line 1: no operator"),
        (f"ai.onnx;11;Conv{'{' * 100_000}", "line 1: types of Conv can't be read"),
    ],
)
def test_a_file_that_is_none_is_said_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "some.config").write_text(text)
    with pytest.raises(UsageError, match=words) as error:
        read_build_config(tmp_path / "some.config")
    assert "\x1b" not in str(error.value)


def test_files_that_are_no_configuration_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("# nothing\n")
    (tmp_path / "binary").write_bytes(b"\x80\xff")
    for name, words in (("empty", "lists no operator"), ("binary", "decode"), ("nowhere", "No such file")):
        with pytest.raises(UsageError, match=words):
            read_build_config(tmp_path / name)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse_build_config(text).operators is not None


def test_which_files_tell_what_a_recipe_needs() -> None:
    fixed = Recipe(format=ModelFormat.ORT, level=OptimizationLevel.BASIC, style=OptimizationStyle.FIXED)
    runtime = Recipe(format=ModelFormat.ORT, level=OptimizationLevel.ALL, style=OptimizationStyle.RUNTIME)
    assert kernel_recipes(fixed) == (fixed,)
    assert kernel_recipes(AS_IS) == (AS_IS,)
    assert [one.name for one in kernel_recipes(runtime)] == ["all runtime", "all runtime (applied)"]
    assert kernel_recipes(ONNX, OptimizationLevel.BASIC) == (fixed,)
    assert [one.name for one in kernel_recipes(ONNX)] == ["all"]


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # theirs
def test_a_given_ort_file_needs_what_its_records_put_in(tmp_path: Path) -> None:
    runtime = Recipe(format=ModelFormat.ORT, level=OptimizationLevel.ALL, style=OptimizationStyle.RUNTIME)
    model = load_model(nets.save(nets.conv_relu(), tmp_path / "net.onnx"))
    (built,) = build_variants([(model, runtime, ())], Shelf(tmp_path / "shelf"))
    assert isinstance(built, Variant)
    assert "FusedConv" not in config_text([Counted("net", built.path)])
    alone = config_text([Counted("net", built.path, alone=True)])
    assert "com.microsoft;1;FusedConv" in alone.splitlines()
    assert str(tmp_path) not in alone, "this host's paths are nobody's business"
