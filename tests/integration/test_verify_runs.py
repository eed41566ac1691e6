"""`orch run --verify` on virtual phones: what half precision costs, a driver that is wrong, a run that is cut off."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import orchestrator
from orchestrator.store.frames import RunFrames
from tests.host_phone import until
from tests.orch_cli import Ended, Orch

pytestmark = pytest.mark.xdist_group("verify-runs")  # one run for several tests

ROOT = Path(__file__).parents[2]
PLAN = """
rounds = 3
iterations = 20
verify = true
[[matrix]]
recipe = ["onnx", "basic", "extended", "all runtime"]
ep = ["nnapi"]
nnapi_flags = [[], ["fp16"], ["cpu_only"]]
[[matrix]]
recipe = ["onnx", "all"]
"""
OUTPUT = "Plus214_Output_0"


def session(model: Any, level: str, **more: Any) -> Any:
    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, level)
    for name, value in more.items():
        setattr(options, name, value)
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def half(value: Any) -> Any:
    return value.astype(np.float16).astype(np.float32) if value.dtype == np.float32 else value


def in_half_precision(graph: Any, opsets: Any, known: dict[str, Any]) -> dict[str, Any]:
    """Node by node, each on its own: what goes in and what comes out is rounded to half precision by numpy."""
    values = {name: half(value) for name, value in known.items()}
    values |= {one.name: half(numpy_helper.to_array(one)) for one in graph.initializer}
    for node in graph.node:
        given = {name: values[name] for name in node.input if name}
        ports = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in given.items()
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
        alone = helper.make_model(
            helper.make_graph([node], "alone", ports, outputs), opset_imports=opsets, ir_version=8
        )
        results = session(alone.SerializeToString(), "ORT_DISABLE_ALL").run(list(node.output), given)
        values |= {name: half(value) for name, value in zip(node.output, results, strict=True)}
    return values


def expected_db(mnist: Path, inputs: Path, scratch: Path) -> float:
    """The error of half precision, by the formula, computed here without any of the phone's parts."""
    basic = scratch / "basic.onnx"
    session(str(mnist), "ORT_ENABLE_BASIC", optimized_model_filepath=str(basic))
    model: Any = onnx.load(str(basic))
    tensor = onnx.TensorProto.FromString((inputs / "input_0.pb").read_bytes())
    given = {tensor.name: numpy_helper.to_array(tensor)}
    right = session(str(mnist), "ORT_DISABLE_ALL").run([OUTPUT], given)[0].astype(np.float64)
    found = in_half_precision(model.graph, model.opset_import, given)[OUTPUT].astype(np.float64)
    return 10 * math.log10(np.abs(right).max() / np.abs(found - right).max())


class Story:
    """One verified run and what it left."""

    def __init__(self, orch: Orch, ended: Ended) -> None:
        self.orch, self.ended = orch, ended
        self.frames: RunFrames = orchestrator.load(home=orch.home)

    def errors(self) -> dict[str, Any]:
        return {row["row"]: row for row in self.frames.checks.to_dict("records")}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, mnist: Path) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("verify")
    orch = Orch(folder / "home")
    plan = folder / "plan.toml"
    plan.write_text(PLAN)
    try:
        ended = orch("run", plan, mnist, "--device", "virtual:pixel-8", timeout_s=300)
        assert ended.code == 0, ended
        yield Story(orch, ended)
    finally:
        orch.end()


@pytest.mark.timeout(400)
def test_every_case_is_checked_and_the_counts_are_right(story: Story) -> None:
    errors = story.errors()
    assert len(errors) == 14
    assert all(row["checked"] for row in errors.values()), errors
    assert all(row["within"] for row in errors.values()), errors
    assert "verify: 14 planned = 14 measured" in story.ended.out
    assert set(story.frames.trials["state"]) == {"measured"}
    counts = story.orch.counts()
    assert counts["planned"] == counts["measured"] == len(story.frames.trials)
    timed = story.frames.attempts[story.frames.attempts["purpose"] == "time"]
    assert not timed["command"].str.contains(" -p ").any(), "what is timed is neither traced nor verified"


def test_half_precision_costs_what_the_host_computes_for_it(story: Story, mnist: Path, tmp_path: Path) -> None:
    attempts = story.frames.attempts[story.frames.attempts["purpose"] == "verify"]
    (inputs,) = {row for row in attempts["inputs_digest"] if isinstance(row, str)}
    exact = expected_db(mnist, story.orch.home / "inputs" / inputs, tmp_path)
    errors = story.errors()
    for recipe in ("onnx", "basic", "all runtime"):
        assert errors[f"nnapi {recipe} fp16"]["error_db"] == pytest.approx(exact, abs=1.0), recipe
    assert exact < 40.0, "half precision shows"


def test_the_reference_reports_no_error_and_nobody_crowns_it(story: Story) -> None:
    errors = story.errors()
    for recipe in ("onnx", "basic", "extended", "all runtime"):
        only, plain = errors[f"nnapi {recipe} cpu_only"], errors[f"nnapi {recipe}"]
        assert only["reference"]
        assert not plain["reference"]
        assert only["error_db"] == plain["error_db"] >= 40.0
    (phone,) = json.loads(story.orch("report", "--format", "json").out)["models"][0]["phones"]
    references = [row for row in phone["rows"] if "cpu_only" in row["row"]]
    assert len(references) == 4
    assert [row["rank"] for row in references] == [None] * 4
    assert all(row["p50_s"] for row in references)
    assert "cpu_only" not in phone["best"]["row"]


def test_tails_are_counted_nowhere(story: Story) -> None:
    frames = story.frames
    assert not {"ConstantOfShape", "ReduceMax", "Less", "Cast"} & set(frames.operators["operator"])
    assert set(frames.placements["nodes_in_graph"]) == {8, 6}
    assert frames.partitions.groupby("row")["partition"].nunique().to_dict()["nnapi basic fp16"] == 1
    assert "ConstantOfShape" not in {name for row in frames.variants["nodes_after"] for name, _ in row}


def test_the_report_says_it_in_words(story: Story) -> None:
    assert "dB" in story.ended.out
    assert "factor of ten" in " ".join(story.ended.out.split())
    markdown = story.orch("report", "--format", "md").out
    assert "dB below the signal" in markdown


@pytest.mark.timeout(300)
def test_a_driver_that_is_wrong_under_one_flag_never_wins_with_it(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    profile = (ROOT / "device_profiles" / "pixel-8.toml").read_text()
    wrong = 'kind = "accelerator", feature_level = 31, wrong_under = ["fp16"]'
    assert profile.count('kind = "accelerator", feature_level = 31') == 1
    profile = profile.replace('kind = "accelerator", feature_level = 31', wrong)
    (tmp_path / "wrong.toml").write_text(profile.replace('name = "pixel-8"', 'name = "wrong"', 1))
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'rounds = 3\niterations = 20\n[[matrix]]\nrecipe = ["basic", "extended"]\nep = ["nnapi"]\n'
        'nnapi_flags = [[], ["fp16"], ["fp16", "cpu_only"]]\n'
    )
    ended = orch("run", plan, mnist, "--verify", "--device", "virtual:wrong.toml", timeout_s=250)
    assert ended.code == 0, ended
    (phone,) = json.loads(orch("report", "--format", "json").out)["models"][0]["phones"]
    rows = {row["row"]: row for row in phone["rows"]}
    for recipe in ("basic", "extended"):
        row = rows[f"nnapi {recipe} fp16"]
        assert row["n"] == 3
        assert row["rank"] is None
        assert row["reason"].startswith("wrong on this phone")
        assert rows[f"nnapi {recipe}"]["rank"] is not None
        assert "wrong" not in rows[f"nnapi {recipe} fp16 cpu_only"]["reason"], "another device computed it"
    assert phone["best"]["row"] in ("nnapi basic", "nnapi extended")
    assert "wrong on this phone" in ended.out


def verifying(home: Path) -> bool:
    """Whether a block of checks is open."""
    if not (home / "ledger.sqlite").exists():
        return False
    with closing(sqlite3.connect(home / "ledger.sqlite")) as ledger:
        try:
            rows = ledger.execute("select tasks from block where ending is null").fetchall()
        except sqlite3.OperationalError:
            return False
    return any('"verify' in tasks or "-verify-" in tasks for (tasks,) in rows)


SMALL = 'rounds = 1\niterations = 5\n[[matrix]]\nrecipe = ["basic", "all"]\nep = ["nnapi", "cpu"]\n'


@pytest.mark.timeout(300)
def test_a_run_killed_while_it_verifies_goes_on(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(SMALL)
    running = orch.start("run", plan, mnist, "--verify", "--device", "virtual:pixel-8")
    try:
        until(lambda: verifying(orch.home), seconds_s=150.0, what="the block of checks")
    finally:
        running.kill()
        running.communicate()
    ended = orch("resume")
    assert ended.code == 0, ended
    frames = orchestrator.load(home=orch.home)
    assert set(frames.trials["state"]) == {"measured"}
    assert len(frames.checks) == 4
    assert frames.checks["within"].all()


def test_a_plan_says_what_verifying_adds(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(SMALL)
    words = ("plan", plan, mnist, "--device", "virtual:pixel-8")
    plain, verified = orch(*words), orch(*words, "--verify")
    assert plain.code == verified.code == 0, verified
    assert "--verify" not in plain.out
    assert "--verify: 4 trials more, never timed" in verified.out
