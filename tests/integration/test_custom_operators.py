"""Custom operators: converted here with their library, run on a phone with `-R`, refused by name without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import custom_operator
from tests.orch_cli import Orch, cpu_plan, wait_for_line
from tests.unit.variants import nets

ONE_ROUND = ("--rounds", "1", "--iterations", "3", "--device", "virtual")


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    return custom_operator.model(tmp_path)


def test_without_its_library_a_model_is_refused_by_domain(orch: Orch, twice: Path) -> None:
    for words in (
        ("model", "build", twice), ("model", "check", twice), ("model", "diff", twice, twice),
        ("plan", "--device", "virtual", twice), ("run", "--device", "virtual", twice),
    ):  # fmt: skip
        ended = orch(*words)
        assert ended.code == 2, ended
        assert "uses operators that onnxruntime does not have, of domain orch.test (Twice)" in ended.err
        assert "give --custom-ops LIB" in ended.err


def test_it_is_converted_and_shipped_with_its_library(orch: Orch, twice: Path, tmp_path: Path) -> None:
    library = custom_operator.library(tmp_path)
    words = ("--recipe", "basic", "--recipe", "all runtime", "--custom-ops", library)
    rows = json.loads(orch("model", "build", twice, *words, "--json").out)
    assert [row["reason"] for row in rows] == ["", ""]
    assert rows[0]["nodes_after"] == {"Relu": 1, "orch.test:Twice": 1}
    ended = orch("model", "ship", twice, "--custom-ops", library, "-o", tmp_path / "out")
    assert ended.code == 0, ended
    config = (tmp_path / "out" / "twice.required_operators_and_types.config").read_text()
    assert "orch.test;1;Twice" in config.splitlines()


def test_it_runs_on_a_phone(orch: Orch, twice: Path, tmp_path: Path) -> None:
    ended = orch("run", twice, "--preset", "cpu", "--custom-ops", custom_operator.library(tmp_path), *ONE_ROUND)
    assert ended.code == 0, ended
    counts = orch.counts()
    assert counts["measured"] == counts["planned"] > 0
    shown = orch("show", "@last/virtual-pixel-8-1/1")
    assert "-R" in shown.out
    assert "libcustom_ops.so" in shown.out


def test_a_perf_test_that_is_too_old_for_it_is_said(orch: Orch, twice: Path, tmp_path: Path) -> None:
    library = custom_operator.library(tmp_path)
    ended = orch("run", twice, "--preset", "cpu", "--custom-ops", library, "--dialect", "old", *ONE_ROUND)
    assert ended.code == 2, ended
    assert "this binary has no -R, which custom operators need: it came with 1.20" in ended.err


def test_what_is_no_library_is_refused(orch: Orch, twice: Path, tmp_path: Path) -> None:
    ended = orch("model", "build", twice, "--custom-ops", twice, "--custom-ops", tmp_path / "nowhere.so")
    assert ended.code == 2
    assert "is neither an ELF file nor a script" in ended.err
    assert "nowhere.so: is not a file" in ended.err


def test_functions_of_the_model_s_own_are_no_custom_operators(orch: Orch, tmp_path: Path) -> None:
    model = nets.with_function()
    ended = orch("model", "build", nets.save(model, tmp_path / "own.onnx"), "--recipe", "basic", "--json")
    assert ended.code == 0, ended
    assert json.loads(ended.out)[0]["reason"] == ""


def test_it_is_checked_and_compared_with_its_library(orch: Orch, twice: Path, tmp_path: Path) -> None:
    library = custom_operator.library(tmp_path)
    checked = orch("model", "check", twice, "--custom-ops", library, "--json")
    assert checked.code == 0, checked
    (report,) = json.loads(checked.out)
    assert report["verdict"]["command"] == f"orch run {twice} --preset quick --custom-ops {library}"
    different = orch("model", "diff", twice, f"{twice}:basic", "--custom-ops", library)
    assert different.code == 0, different
    (row,) = json.loads(
        orch("model", "build", twice, "--recipe", "basic", "--check", "--custom-ops", library, "--json").out
    )
    assert row["verdict"] == "within", row


def test_its_library_is_known_when_a_run_goes_on(orch: Orch, twice: Path, tmp_path: Path) -> None:
    library = custom_operator.library(tmp_path)
    plan = cpu_plan(tmp_path)
    words = ("run", plan, "--device", "virtual", "--rounds", "2", "--iterations", "3", "--custom-ops", library)
    plan.write_text(f'models = ["{twice}"]\n{plan.read_text()}')
    process = orch.start(*words)
    wait_for_line(process, "run ")
    process.kill()
    process.communicate()
    shelf = orch.home / "shelf" / "numerics"
    for known in shelf.glob("*.json"):
        known.unlink()
    ended = orch("resume")
    assert ended.code == 0, ended
    rows = json.loads(orch("report", "--format", "json").out)
    assert {one["verdict"] for one in rows["models"][0]["variants"]} == {"within", "the source itself"}, rows
