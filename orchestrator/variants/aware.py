"""NNAPI-aware ORT format: what NNAPI takes stays as it is, the rest gets the fusions of level extended.

onnxruntime fuses nothing across a graph output. So, after level basic, every tensor at the border of a node that NNAPI
takes is made an output for as long as the extended fusions last. That is what a full build does by itself with an
`.onnx` on the phone, where NNAPI is asked before those fusions; ORT format is fused before it gets there.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from android_runner.nnapi.claim import claim
from android_runner.nnapi.from_onnx import node_positions
from android_runner.nnapi.levels import MIN_LEVEL
from android_runner.nnapi.target import NnapiTarget
from android_runner.ort import OptimizationLevel
from orchestrator.errors import VariantError
from orchestrator.variants.claim_graph import graph_of_plain
from orchestrator.variants.converter import Converter
from orchestrator.variants.read_onnx import load_whole
from orchestrator.variants.recipe import Recipe
from orchestrator.variants.saving import save
from orchestrator.variants.sessions import saving_as_onnx, saving_of, written


def save_aware(source: Path, recipe: Recipe, target: Path, scratch: Path, converter: Converter) -> None:
    """Save `source` (.onnx, below 2 GB) as ORT format for NNAPI on phones of the recipe's API level and up.

    Raises VariantError where NNAPI takes nothing, or lost nodes on the way; onnxruntime's errors.
    """
    import onnx  # noqa: PLC0415

    whole = written(load_whole(source), scratch / "whole.onnx")  # external data would stay outside
    save(saving_as_onnx(whole, OptimizationLevel.BASIC, scratch / "basic.onnx"), converter)
    model: Any = onnx.load_model(str(scratch / "basic.onnx"))
    on_nnapi = NnapiTarget(api_level=recipe.nnapi_api or MIN_LEVEL)
    libraries = tuple(path for path, _ in converter.custom_ops)
    view = graph_of_plain(model, scratch, libraries)
    placement = claim(view, on_nnapi)
    if not placement.claimed_count:
        why = placement.problem or (placement.refused or placement.dropped)[0].reason if view.nodes else "no nodes"
        raise VariantError(f"NNAPI takes nothing of this model on API {on_nnapi.api_level}: {why}")
    positions = node_positions(model)
    taken = [positions[at] for partition in placement.partitions for at in partition.nodes]
    left = 0
    for dequantized_too in (False, True):
        fused = _fused(model, taken, dequantized_too, scratch, converter)
        left = claim(graph_of_plain(fused, scratch, libraries), on_nnapi).claimed_count
        if left >= placement.claimed_count:
            as_saved = replace(recipe, level=OptimizationLevel.DISABLE, nnapi_api=None)
            save(saving_of(written(fused, scratch / "fused.onnx"), as_saved, target), converter)
            return
    raise VariantError(f"fusion left NNAPI {left} of its {placement.claimed_count} nodes")


def _fused(model: Any, taken: list[int], dequantized_too: bool, scratch: Path, converter: Converter) -> Any:
    """The model after the extended fusions that leave the nodes `taken` alone."""
    import onnx  # noqa: PLC0415

    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    show_borders(shown, taken, dequantized_too)
    source, target = written(shown, scratch / "shown.onnx"), scratch / "fused.onnx"
    save(saving_as_onnx(source, OptimizationLevel.EXTENDED, target), converter)
    fused: Any = onnx.load_model(str(target))
    del fused.graph.output[len(model.graph.output) :]
    return fused


def show_borders(model: Any, nodes: list[int], dequantized_too: bool = True) -> None:
    """Make every tensor that these nodes (indices into the graph's) read or make a graph output, by name alone.

    Those behind a DequantizeLinear may be left out: onnxruntime gives each reader one of its own, and an output is a
    reader; the output of what they feed is enough to keep a quantized group whole.
    """
    graph = model.graph
    made = {
        name
        for node in graph.node
        for name in node.output
        if name and (dequantized_too or node.op_type != "DequantizeLinear")
    }
    shown = {value.name for value in graph.output}
    for at in nodes:
        for name in (*graph.node[at].input, *graph.node[at].output):
            if name in made and name not in shown:
                shown.add(name)
                graph.output.add().name = name
