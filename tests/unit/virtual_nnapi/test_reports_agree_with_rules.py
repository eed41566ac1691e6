"""What a virtual phone's log and trace tell is what the claim rules say of the same file, for every model, variant, API
level and set of flags; the host's side reads the file on its own way."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from apart import (
    ACCELERATOR,
    REFERENCE,
    Apart,
    convert,
    feeds_for,
    light,
    mnist,
    save,
    session,
    take_apart,
    value,
    weights,
)
from onnx import helper, numpy_helper

from android_runner.assignment import read_assignment
from android_runner.nnapi.claim import claim
from android_runner.nnapi.graph import Graph
from android_runner.nnapi.levels import chosen_devices
from android_runner.nnapi.placement import Placement
from android_runner.nnapi.target import NnapiDevice, NnapiTarget
from android_runner.ort import ModelFormat, NnapiFlag
from android_runner.partitions import partition_table
from android_runner.trace import read_trace
from android_runner.virtual.perf_test.standin.nnapi_trace import rewritten
from orchestrator.plan.nnapi_gates import flag_sets
from orchestrator.variants.claim_graph import claim_graph

LEVELS = (27, 28, 29, 34)
TRACED = ((), (NnapiFlag.NCHW,), (NnapiFlag.FP16,))
DEVICES = tuple(
    NnapiDevice(name, kind, level, frozenset(lacks)) for name, kind, level, lacks in (ACCELERATOR, REFERENCE)
)


def hostile(path: Path) -> Path:
    """Operators that NNAPI has not, or only later, between those that it has."""
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1"], ["a"], "first", pads=[1, 1, 1, 1]),
        node("HardSigmoid", ["a"], ["b"], "hostile"),
        node("Conv", ["b", "w2"], ["c"], "second", pads=[1, 1, 1, 1]),
        node("Elu", ["c"], ["d"], "late"),
        node("Relu", ["d"], ["e"], "relu"),
        node("GlobalAveragePool", ["e"], ["y"], "mean"),
    ]
    constants = [weights("w1", 4, 3, 3, 3), weights("w2", 4, 4, 3, 3)]
    return save(path, nodes, [value("x", [1, 3, 16, 16])], [value("y", [1, 4, 1, 1])], constants)


def half(path: Path) -> Path:
    """A layer in half precision between two in float32: the CPU's Casts around it are not there yet for NNAPI."""
    node, float16 = helper.make_node, onnx.TensorProto.FLOAT16
    kernel = numpy_helper.from_array(np.ones((4, 4, 3, 3), np.float16), "w2")
    nodes = [
        node("Conv", ["x", "w1"], ["a"], "first", pads=[1, 1, 1, 1]),
        node("Cast", ["a"], ["b"], "down", to=float16),
        node("Conv", ["b", "w2"], ["c"], "half", pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["d"], "relu"),
        node("Cast", ["d"], ["e"], "up", to=onnx.TensorProto.FLOAT),
        node("Relu", ["e"], ["f"], "last"),
        node("GlobalAveragePool", ["f"], ["y"], "mean"),
    ]
    return save(
        path, nodes, [value("x", [1, 3, 16, 16])], [value("y", [1, 4, 1, 1])], [weights("w1", 4, 3, 3, 3), kernel]
    )


def source(name: str, folder: Path) -> Path:
    path = folder / f"{name}.onnx"
    if name == "mnist":
        return mnist(path)
    if name == "hostile":
        return hostile(path)
    if name == "half":
        return half(path)
    onnx.save(onnx.load_model_from_string(light(name)), str(path))
    return path


VARIANTS = {"onnx": None, "basic": (1, False), "extended": (2, False), "all runtime": (99, True)}


@pytest.fixture(scope="module")
def variant(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("variants")

    @cache
    def made(model: str, recipe: str) -> tuple[Path, Graph]:
        path, how = source(model, folder), VARIANTS[recipe]
        if how is not None:
            path = convert(path, folder / f"{model}.{recipe}.ort", level=how[0], runtime_style=how[1])
        return path, claim_graph(path, ModelFormat(path.suffix[1:]))

    return made


def said(made: Apart) -> Any:
    lines = (*made.description.before, *made.description.after)
    return read_assignment(
        f" [{letter.upper()}:onnxruntime:{logger}, {where}] {text}" for letter, logger, where, text in lines
    )


def traced(made: Apart, folder: Path) -> Any:
    """Three runs of what was prepared, the trace rewritten as the stand-in does."""
    one = session(made.file, profile=folder / "trace")
    for _ in range(3):
        one.run(None, feeds_for(made.original))
    path = Path(one.end_profiling())
    partitions = [dict(partition) for partition in made.description.partitions]
    path.write_text("".join(rewritten(path.read_text().splitlines(keepends=True), partitions)))
    return partition_table(read_trace(path))


@pytest.mark.parametrize("recipe", VARIANTS)
@pytest.mark.parametrize("model", ["mnist", "hostile", "half", "squeezenet"])
def test_log_and_trace_say_what_the_rules_say(variant: Any, tmp_path: Path, model: str, recipe: str) -> None:
    path, graph = variant(model, recipe)
    for api_level in LEVELS if model != "squeezenet" else (27, 34):
        for flags in flag_sets():
            target = NnapiTarget(api_level=api_level, flags=frozenset(flags), devices=DEVICES)
            placement = claim(graph, target)
            where = f"{api_level} {' '.join(flags)}".strip()
            made = take_apart(
                path, tmp_path / where, *(one.perf_test_word.removeprefix("NNAPI_FLAG_") for one in flags),
                api_level=api_level,
            )  # fmt: skip
            _log_agrees(made, graph, target, placement, where)
            if flags in TRACED and placement.partitions:
                table = traced(made, tmp_path)
                assert len(table.partitions) == len(placement.partitions), where
                if recipe in ("basic", "extended"):
                    assert len(table.rest) == len(graph.nodes) - placement.claimed_count, where


def test_nnapi_takes_nothing_in_half_precision_of_an_onnx_file(variant: Any) -> None:
    target = NnapiTarget(api_level=34, flags=frozenset())
    taken = {}
    for recipe in ("onnx", "basic"):
        _, graph = variant("half", recipe)
        partitions = claim(graph, target).partitions
        taken[recipe] = {graph.nodes[at].name for one in partitions for at in one.nodes}
    assert "half" not in taken["onnx"] | taken["basic"]
    assert "relu" not in taken["onnx"]
    assert "relu" in taken["basic"], "an .ort has the Casts in the file, and float32 between them"


def _log_agrees(made: Apart, graph: Graph, target: NnapiTarget, placement: Placement, where: str) -> None:
    assignment = said(made)
    assert assignment.known, where
    counts = (assignment.partitions, assignment.claimed_nodes)
    assert counts == (len(placement.partitions), placement.claimed_count), where
    assert len(made.description.partitions) == len(placement.partitions), where
    if target.api_level >= 29:
        assert [name for name, _ in assignment.devices] == [one.name for one in chosen_devices(target)], where
    assert assignment.feature_level == placement.feature_level, where
    refused = {graph.nodes[one.node].name for one in placement.refused}
    assert {node.name for node in assignment.nodes if not node.supported} <= refused, where
