"""Step `nnapi-rewrites`: what NNAPI refuses at every API level is written with operators that it takes.

The claim rules decide twice: a node is touched only where they refuse it, and a replacement stays only where they take
all of it. Both are asked of the graph after level basic, as the phone's runtime asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from android_runner.nnapi.claim import claim
from android_runner.nnapi.from_onnx import node_positions
from android_runner.nnapi.graph import Graph
from android_runner.nnapi.shapes import name_graphs
from android_runner.nnapi.target import NnapiTarget
from android_runner.ort import OptimizationLevel
from orchestrator.variants.claim_graph import graph_of_plain
from orchestrator.variants.converter import Converter, installed
from orchestrator.variants.saving import save
from orchestrator.variants.sessions import saving_as_onnx, written
from orchestrator.variants.steps import rewrite_image, rewrite_matrix, rewrite_simple
from orchestrator.variants.steps.apply import Bench, NothingToDo
from orchestrator.variants.steps.site import Site

_MAX_TURNS = 4
API_LEVEL = 30
"""From here on the rules say the same for every level."""
REWRITES: Mapping[str, tuple[Callable[[Site], bool], ...]] = {
    **rewrite_simple.REWRITES,
    **rewrite_image.REWRITES,
    **rewrite_matrix.REWRITES,
}


def rewritten(model: Any, _step: str, bench: Bench) -> Any:
    """The model at level basic with every rewrite that NNAPI takes. Raises NothingToDo where there is none."""
    import onnx  # noqa: PLC0415

    basic = bench.scratch / "rewrite_basic.onnx"
    maker = Converter(version=installed().version, custom_ops=tuple((path, "") for path in bench.custom_ops))
    save(saving_as_onnx(written(model, bench.scratch / "rewrite.onnx"), OptimizationLevel.BASIC, basic), maker)
    start: Any = onnx.load_model(str(basic))
    name_graphs(start.graph)
    made, reasons = None, ""
    for turn in range(_MAX_TURNS):  # what one rewrite leaves, another may take further
        better, reasons = _one_turn(made or start, bench, f"{turn}." if turn else "")
        if better is None:
            break
        made = better
    if made is None:
        raise NothingToDo(f"no rewrite for what NNAPI refuses: {reasons}" if reasons else "NNAPI refuses no node")
    return made


def rewritable(model: Any, view: Graph, bench: Bench) -> frozenset[str]:
    """Names of the nodes that the step would rewrite at once; `model` is at level basic, `view` what `graph_of_plain`
    says of it. Raises as that does."""
    return frozenset(str(model.graph.node[at].name) for at in _fitting(model, view, bench, "")[0])


def _one_turn(start: Any, bench: Bench, mark: str) -> tuple[Any, str]:
    """The model with the rewrites that fit it now, None where there is none; and why NNAPI refuses what it does."""
    sites, reasons = _fitting(start, graph_of_plain(start, bench.scratch, bench.custom_ops), bench, mark)
    return (_with_sites(start, sites) if sites else None), reasons


def _fitting(start: Any, view: Graph, bench: Bench, mark: str) -> tuple[dict[int, Site], str]:
    """The replacements that NNAPI takes whole, by the node's place; and why it refuses what it does."""
    refused = {refusal.node: refusal.reason for refusal in claim(view, NnapiTarget(api_level=API_LEVEL)).refused}
    positions = node_positions(start)
    sites = _sites(start, view, [positions[at] for at in refused], mark)
    while sites:
        failed = _not_taken(_with_sites(start, sites), sites, bench)
        if not failed:
            break
        sites = {at: site for at, site in sites.items() if at not in failed}
    return sites, "; ".join(dict.fromkeys(refused.values()))


def _sites(model: Any, view: Graph, refused: Sequence[int], mark: str) -> dict[int, Site]:
    """By a node's place in the model the replacement that the first fitting rule made for it."""
    graph = model.graph
    held = {tensor.name: tensor for tensor in graph.initializer}
    makers = {name: node for node in graph.node for name in node.output}
    quantized = {name for name, node in makers.items() if node.op_type == "DequantizeLinear"}
    found = {}
    for at in refused:
        node = graph.node[at]
        if node.domain not in ("", "ai.onnx") or quantized.intersection(node.input):
            continue
        for rule in REWRITES.get(node.op_type, ()):
            site = Site(node, view, held, makers, mark)
            if rule(site):
                found[at] = site
                break
    return found


def _with_sites(start: Any, sites: Mapping[int, Site]) -> Any:
    import onnx  # noqa: PLC0415

    made: Any = onnx.ModelProto()
    made.CopyFrom(start)
    nodes = [new for at, old in enumerate(start.graph.node) for new in (sites[at].nodes if at in sites else [old])]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    for site in sites.values():
        made.graph.initializer.extend(site.constants)
    _drop_unread(made.graph)
    return made


def _drop_unread(graph: Any) -> None:
    """Leave out nodes and initializers that nobody reads any more; with sub-graphs nobody looks that far."""
    if any(attribute.HasField("g") or attribute.graphs for node in graph.node for attribute in node.attribute):
        return
    read = {value.name for value in graph.output}
    kept = []
    for node in reversed(graph.node):
        if read.intersection(node.output):
            kept.append(node)
            read.update(node.input)
    weights = [tensor for tensor in graph.initializer if tensor.name in read]
    for field, items in (("node", reversed(kept)), ("initializer", weights)):
        held = list(items)
        del getattr(graph, field)[:]
        getattr(graph, field).extend(held)


def _not_taken(made: Any, sites: Mapping[int, Site], bench: Bench) -> set[int]:
    """The sites with a node that NNAPI refuses still."""
    owners = {node.output[0]: at for at, site in sites.items() for node in site.nodes}
    view = graph_of_plain(made, bench.scratch, bench.custom_ops)
    refused = claim(view, NnapiTarget(api_level=API_LEVEL)).refused
    return {owners[name] for one in refused for name in view.nodes[one.node].outputs[:1] if name in owners}
