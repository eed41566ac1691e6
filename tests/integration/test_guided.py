"""The preset `guided` through the real CLI: what its second step tried is what the first step's figures say."""

from __future__ import annotations

from pathlib import Path

import onnx
import pandas as pd
from onnx import TensorProto, helper

import orchestrator
from orchestrator.farm.second_step import PAYS_WITHIN
from tests.orch_cli import Orch

SECOND = {
    "nnapi": [
        "nnapi onnx", "nnapi onnx fp16", "nnapi basic nchw", "nnapi basic cpu_disabled",
        "nnapi basic fp16 cpu_disabled", "nnapi all runtime nchw", "nnapi all runtime cpu_disabled",
        "nnapi all runtime fp16 cpu_disabled",
    ],
    "cpu": ["cpu all 1t", "cpu all 2t", "cpu all 4t", "cpu all no-spin", "cpu all parallel"],
}  # fmt: skip
PIECES = 100


def cut_net(path: Path) -> Path:
    """A small net of which NNAPI takes every second node alone: a hundred partitions, each with a border to cross."""
    nodes = []
    for at in range(PIECES):
        nodes.append(helper.make_node("Relu", [f"h{at - 1}" if at else "x"], [f"r{at}"], f"relu{at}"))
        nodes.append(helper.make_node("HardSigmoid", [f"r{at}"], [f"h{at}" if at < PIECES - 1 else "y"], f"hard{at}"))
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 2, 2]) for name in "xy"]
    graph = helper.make_graph(nodes, "cut", tensors[:1], tensors[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def names(trials: pd.DataFrame) -> pd.Series:
    """Every name of each row."""
    return trials.apply(lambda one: {one["row"], *one["also"]}, axis=1)


def of_step(trials: pd.DataFrame, rows: list[str]) -> pd.DataFrame:
    """The trials of the cases that have one of these names."""
    return trials[names(trials).map(lambda own: not own.isdisjoint(rows))]


def test_the_second_step_is_tried_where_the_first_steps_figures_say_that_it_pays(
    orch: Orch, mnist: Path, tmp_path: Path
) -> None:
    cut = cut_net(tmp_path / "cut.onnx")
    planned = orch("plan", mnist, cut, "--device", "virtual:pixel-8", "--preset", "guided")
    assert planned.code == 0, planned
    assert "at most" in planned.out
    marked = [line.split("  where ")[0].strip() for line in planned.out.splitlines() if "  where NNAPI pays" in line]
    assert set(SECOND["nnapi"]) | {"cpu onnx (trace)"} == set(marked[: len(SECOND["nnapi"]) + 1])
    ended = orch(
        "run", mnist, cut, "--device", "virtual:pixel-8", "--preset", "guided", "--rounds", "3", "--iterations", "30"
    )
    assert ended.code == 0, ended
    counts = orch.counts()
    assert counts["planned"] == counts["measured"] + counts["failed"] + counts["skipped"]
    assert counts["failed"] == 0
    frames = orchestrator.load(home=orch.home)
    trials, attempts = frames.trials, frames.attempts
    second = [row for rows in SECOND.values() for row in rows]
    timed = trials[(trials["purpose"] == "time") & trials["twin_of"].isna()]
    attempts = attempts[(attempts["purpose"] == "time") & attempts["twin_of"].isna() & attempts["counted"]]
    reasons = set()
    for model in ("mnist", "cut"):
        own, figures = timed[timed["model"] == model], attempts[attempts["model"] == model]
        first = figures[names(figures).map(lambda all_: all_.isdisjoint(second))]
        assert set(first["round"]) == {1, 2, 3}
        best = first.groupby(["provider", "case"])["p50_s"].median().groupby("provider").min()
        for ep, other in (("cpu", "nnapi"), ("nnapi", "cpu")):
            asked = of_step(own, SECOND[ep])
            assert set(asked["round"]) == {4, 5, 6}
            pays = best[ep] <= PAYS_WITHIN * best[other]
            assert set(asked["state"]) == {"measured" if pays else "skipped"}, (model, ep, best)
            reasons |= set(asked["message"].dropna())
    skipped = trials[trials["state"] == "skipped"]
    assert counts["skipped"] == len(skipped)
    assert set(skipped["reason"]) <= {"resolved early"}
    report = orch("report", "--all")
    assert report.code == 0, report
    for reason in reasons:
        assert f"not tried: {reason}"[:40] in " ".join(report.out.split())
    # a hundred crossings cost NNAPI twice the CPU's time here, whatever else this computer does
    assert set(of_step(timed[timed["model"] == "cut"], SECOND["nnapi"])["state"]) == {"skipped"}
    beside = skipped[(skipped["model"] == "cut") & (skipped["purpose"] != "time")]
    assert set(beside["purpose"]) == {"introspect", "trace"}
    assert orch("resume").err.strip().endswith("nothing is left to run")
