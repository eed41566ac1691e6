"""NNAPI-aware: NNAPI keeps what basic leaves it, and the rest is fused as if it stood alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from orchestrator.errors import VariantError
from orchestrator.variants.aware import save_aware
from orchestrator.variants.converter import installed
from orchestrator.variants.recipe_words import parse_recipe
from tests.unit.nnapi import placed
from tests.unit.variants import nets, step_nets
from tests.unit.variants.hostile_net import hostile_middle

API = 29


def made(model: Any, folder: Path, api_level: int = API) -> tuple[Path, Any]:
    """The variant, and its graph as ModelProto."""
    (folder / "scratch").mkdir()
    target = folder / "model.ort"
    recipe = parse_recipe(f"nnapi-aware={api_level}")
    save_aware(nets.save(model, folder / "net.onnx"), recipe, target, folder / "scratch", installed())
    return target, placed.optimized(target.read_bytes(), "disable")


def without(model: Any, taken: set[int]) -> Any:
    """The nodes that NNAPI does not take, alone: what they exchange with NNAPI becomes inputs and outputs."""
    shapes = placed.graph(model).values
    graph = model.graph
    kept = [node for at, node in enumerate(graph.node) if at not in taken]
    inside = {name for node in kept for name in node.output}
    outside = {name for at in taken for name in graph.node[at].output}
    wanted = {name for at in taken for name in graph.node[at].input} | {value.name for value in graph.output}
    borders = {name for node in kept for name in node.input} & (outside | {value.name for value in graph.input})
    alone = onnx.ModelProto()
    alone.CopyFrom(model)
    for field in ("node", "input", "output", "value_info"):
        del getattr(alone.graph, field)[:]
    alone.graph.node.extend(kept)
    info = helper.make_tensor_value_info
    alone.graph.input.extend(info(n, shapes[n].elem_type, shapes[n].dims) for n in sorted(borders))
    alone.graph.output.extend(info(n, shapes[n].elem_type, shapes[n].dims) for n in sorted(inside & wanted))
    return alone


def labels(model: Any) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def test_nnapi_keeps_its_nodes_and_the_rest_is_fused_as_if_alone(tmp_path: Path) -> None:
    basic = placed.optimized(hostile_middle().SerializeToString(), "basic")
    before = placed.placed(placed.graph(basic), API)
    _, aware = made(hostile_middle(), tmp_path)
    after = placed.placed(placed.graph(aware), API)
    assert after.claimed_count == before.claimed_count > 0
    taken = {at for partition in before.partitions for at in partition.nodes}
    alone = placed.optimized(without(basic, taken).SerializeToString(), "extended")
    on_cpu = [node.op_type for at, node in enumerate(aware.graph.node) if at not in
              {at for partition in after.partitions for at in partition.nodes}]  # fmt: skip
    assert len(on_cpu) <= len(alone.graph.node)
    assert Counter(on_cpu) == labels(alone)
    assert {"Gelu", "FusedConv"} <= set(on_cpu)
    extended = placed.optimized(hostile_middle().SerializeToString(), "extended")
    assert placed.placed(placed.graph(extended), API).claimed_count < before.claimed_count, "the test has teeth"
    assert len(on_cpu) < len(basic.graph.node) - before.claimed_count


def test_it_computes_the_same(tmp_path: Path) -> None:
    target, _ = made(hostile_middle(), tmp_path)
    given = step_nets.feeds(hostile_middle())
    (want,) = step_nets.outputs(hostile_middle(), given)
    (have,) = step_nets.session(str(target)).run(None, given)
    assert np.abs(want - have).max() <= 1e-4 * np.abs(want).max()
    assert np.abs(want).max() > 0.1


def test_where_all_is_taken_it_is_basic(tmp_path: Path, mnist: Path) -> None:
    _, aware = made(onnx.load_model(str(mnist)), tmp_path)
    assert labels(aware) == labels(placed.known_model("mnist", "basic"))


def test_the_api_level_decides(tmp_path: Path, mnist: Path) -> None:
    _, aware = made(onnx.load_model(str(mnist)), tmp_path, 27)
    assert labels(aware) == {"Conv": 2, "Relu": 2, "MaxPool": 2, "Reshape": 1, "Gemm": 1}, "API 27 takes both Relus"


def test_quantized_groups_stay_whole(tmp_path: Path) -> None:
    _, aware = made(nets.quantized(), tmp_path)
    basic = placed.optimized(nets.quantized().SerializeToString(), "basic")
    assert labels(aware) == labels(basic)
    assert step_nets.claimed(nets.quantized(), API).claimed_count == len(basic.graph.node)


def test_weights_in_their_own_file_come_inside(tmp_path: Path) -> None:
    source = nets.external(tmp_path / "source")
    (tmp_path / "scratch").mkdir()
    save_aware(source, parse_recipe("nnapi-aware=29"), tmp_path / "model.ort", tmp_path / "scratch", installed())
    aware = placed.optimized((tmp_path / "model.ort").read_bytes(), "disable")
    assert labels(aware) == {"Conv": 1, "Relu": 1}


def test_where_nnapi_takes_nothing_that_is_the_reason(tmp_path: Path) -> None:
    node = helper.make_node("Erf", ["x"], ["y"], "erf")
    model = nets.model_of([node], [nets.value("x", (1, 4))], [nets.value("y", (1, 4))])
    with pytest.raises(VariantError, match=r"NNAPI takes nothing of this model on API 29.*Erf"):
        made(model, tmp_path)
