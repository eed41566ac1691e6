"""Pure: findings about NNAPI: what it takes, in how many pieces, from which API level on, and what keeps it off."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from android_runner.nnapi.claim import LAYOUT_OPSETS
from android_runner.nnapi.graph import Graph
from android_runner.nnapi.placement import Placement, Refusal
from orchestrator.variants.checks.causes import cause_of
from orchestrator.variants.checks.facts import ModelFacts
from orchestrator.variants.checks.finding import (
    Finding,
    Severity,
    bounded,
    build_command,
    counted,
    known_steps,
    run_command,
)
from orchestrator.variants.checks.usability import API_LEVELS, HIGHEST, by_kind, left_out, place

_MANY_REASONS = 3
OPSET_TAKEN = 21
"""The newest opset that NNAPI's provider takes whole."""
_OLD_OPSET, _OLDEST_TAKEN = 13, 7


def nnapi_findings(facts: ModelFacts, graph: Graph, placements: Mapping[int, Placement]) -> Iterator[Finding]:
    """Findings from the claims of one graph."""
    highest = placements[HIGHEST]
    causes: dict[str, list[Refusal]] = defaultdict(list)
    for _, refusal in sorted(left_out(highest).items()):
        causes[cause_of(facts, graph, refusal)].append(refusal)
    for cause, refusals in causes.items():
        if cause in _TEXTS or cause.startswith("nnapi-"):
            yield _left(cause, facts, graph, refusals)
    if "opset-nnapi" in causes:
        yield _opset(facts, graph, causes["opset-nnapi"], whole=bool(highest.problem))
    yield from _pieces(facts, graph, highest)
    yield from _levels(facts, graph, placements)


def lost_to(facts: ModelFacts, graph: Graph, placement: Placement, cause: str) -> tuple[str, ...]:
    """Names of the nodes that NNAPI leaves for a cause."""
    refusals = left_out(placement).values()
    return tuple(place(graph.nodes[one.node]) for one in refusals if cause_of(facts, graph, one) == cause)


_TEXTS: Mapping[str, tuple[Severity, str, str, tuple[str, ...], tuple[int, ...]]] = {
    "nnapi-rewritable": (
        Severity.COSTS,
        "NNAPI does not take them, but they can be written in operators that it takes",
        "write them so (a Sum of two tensors is an Add); more nodes may cost more than they save: measure both",
        ("nnapi-rewrites",),
        (7859, 9285),
    ),
    "int8-activations": (
        Severity.COSTS,
        "NNAPI's provider takes quantized values as uint8; int8 only as weights of Conv and MatMul",
        "quantize the float model anew with uint8 activations",
        ("qdq-u8s8",),
        (18571, 19590, 25507),
    ),
    "dynamic-quantization": (
        Severity.COSTS,
        "NNAPI has no operators that quantize while they run",
        "quantize the float model statically instead",
        ("qdq-u8u8",),
        (18571,),
    ),
    "shapes-from-data": (
        Severity.COSTS,
        "their shapes depend on values, so they are not known although the inputs' are; NNAPI needs fixed ones",
        "",
        (),
        (11073,),
    ),
}
_STEPS_FROM_FLOAT = ("int8-activations", "dynamic-quantization")


def _left(cause: str, facts: ModelFacts, graph: Graph, refusals: list[Refusal]) -> Finding:
    nodes = [graph.nodes[one.node] for one in refusals]
    count, places = bounded(map(place, nodes))
    severity, text, remedy, steps, threads = _TEXTS.get(cause, (Severity.COSTS, "", "", (), ()))
    if cause == "nnapi-no-builder":
        text = "NNAPI's execution provider does not know them"
        severity, remedy, threads = _rest(cause)
    elif not text:
        reasons = list(dict.fromkeys(one.reason for one in refusals))
        more = [f"{len(reasons) - _MANY_REASONS} more reasons"] if len(reasons) > _MANY_REASONS else []
        text = "; ".join([*reasons[:_MANY_REASONS], *more])
        severity, remedy, threads = _rest(cause)
    command = build_command(facts.source, "basic", steps, facts.dims) if steps else ""
    if cause == "nnapi-no-builder":
        command = build_command(facts.source, "nnapi-aware", (), facts.dims)
    if cause in _STEPS_FROM_FLOAT:
        command = build_command("FLOAT_MODEL.onnx", "basic", steps, facts.dims)
    return Finding(
        id=cause,
        severity=severity,
        reason=f"{by_kind([node.label for node in nodes])} for the CPU: {text}",
        count=count,
        places=places,
        remedy=remedy,
        command=command,
        steps=() if cause in _STEPS_FROM_FLOAT else known_steps(*steps),
        threads=threads,
    )


def _rest(cause: str) -> tuple[Severity, str, tuple[int, ...]]:
    """Severity, remedy and threads of nodes that are refused by a rule of their own operator."""
    if cause in ("nnapi-lone-node", "nnapi-constant-inputs"):
        return Severity.NOTE, "", ()
    if cause == "nnapi-stop-op":
        mend = "leave post-processing (NonMaxSuppression and what follows) to the app, or accept it on the CPU"
        return Severity.COSTS, mend, ()
    if cause == "nnapi-no-builder":
        return Severity.COSTS, "give what stays on the CPU its fusions: a variant that keeps NNAPI's part", (9054,)
    return Severity.COSTS, "", ()


def _opset(facts: ModelFacts, graph: Graph, refusals: list[Refusal], *, whole: bool) -> Finding:
    count, places = bounded(place(graph.nodes[one.node]) for one in refusals)
    is_old = facts.opset < _OLDEST_TAKEN or (not whole and facts.opset <= OPSET_TAKEN)
    wanted = f"opset={_OLD_OPSET if is_old else OPSET_TAKEN}"
    return Finding(
        id="opset-layout" if whole else "opset-nnapi",
        severity=Severity.BLOCKS if whole else Severity.COSTS,
        reason=(
            f"opset {facts.opset}: the layout transformer takes {LAYOUT_OPSETS.start} to {LAYOUT_OPSETS.stop - 1}, "
            "so NNAPI gets nothing, unless it runs with NCHW"
            if whole
            else f"{refusals[0].reason}; onnxruntime's checker does not look at versions"
        ),
        count=count,
        places=places,
        remedy=f"convert to {wanted.replace('=', ' ')}",
        command=build_command(facts.source, "basic", (wanted,), facts.dims),
        steps=(wanted,),
    )


def _pieces(facts: ModelFacts, graph: Graph, highest: Placement) -> Iterator[Finding]:
    pieces, taken, nodes = len(highest.partitions), highest.claimed_count, len(graph.nodes)
    if not nodes or (pieces == 1 and taken * 2 > nodes):
        return
    count, places = bounded(place(graph.nodes[at]) for at in sorted(left_out(highest)))
    threads = (7859, 9285, 19452, 9054)
    if not pieces:
        cpu = run_command(facts.path, "--preset", "cpu")
        yield Finding(
            id="nnapi-none",
            severity=Severity.BLOCKS,
            reason=f"NNAPI takes none of the {nodes} nodes at any API level",
            count=count,
            places=places,
            remedy="mend what the other findings name; else it is a model for the CPU",
            command=cpu,
            threads=threads,
        )
    elif pieces == 1:
        yield Finding(
            id="nnapi-small-share",
            severity=Severity.COSTS,
            reason=f"NNAPI takes {taken} of {nodes} nodes, half of them or less; the rest stays on the CPU",
            count=count,
            places=places,
            remedy="keep NNAPI's part, give the rest its fusions",
            command=build_command(facts.source, "nnapi-aware", (), facts.dims),
            threads=threads,
        )
    else:
        yield Finding(
            id="nnapi-partitions",
            severity=Severity.COSTS,
            reason=(
                f"NNAPI gets {pieces} pieces with {taken} of {nodes} nodes; between pieces data goes to the CPU and "
                "back, which often costs more than NNAPI saves"
            ),
            count=count,
            places=places,
            remedy="mend what lies between; else give what stays on the CPU its fusions and measure",
            command=build_command(facts.source, "nnapi-aware", (), facts.dims),
            threads=threads,
        )


def _levels(facts: ModelFacts, graph: Graph, placements: Mapping[int, Placement]) -> Iterator[Finding]:
    """Nodes that only newer phones take."""
    later: dict[int, list[int]] = defaultdict(list)
    left = {level: left_out(placement) for level, placement in placements.items()}
    for at in range(len(graph.nodes)):
        without = [level for level in API_LEVELS if at in left[level]]
        if without and without[-1] < HIGHEST:
            later[API_LEVELS[API_LEVELS.index(without[-1]) + 1]].append(at)
    if not later:
        return
    count, places = bounded(place(graph.nodes[at]) for level in sorted(later, reverse=True) for at in later[level])
    parts = [f"API {level}: {by_kind([graph.nodes[at].label for at in later[level]])}" for level in sorted(later)]
    least = max(later)
    below = placements[API_LEVELS[API_LEVELS.index(least) - 1]]
    yield Finding(
        id="nnapi-api-level",
        severity=Severity.NOTE if least <= API_LEVELS[1] else Severity.COSTS,
        reason=(
            f"some nodes are taken from an API level on ({'; '.join(parts)}); just below API {least} NNAPI gets "
            f"{below.claimed_count} of {len(graph.nodes)} nodes in {counted(len(below.partitions), 'piece')}"
        ),
        count=count,
        places=places,
        remedy="measure old and new phones apart: the best setting may differ",
        command=run_command(facts.path, "--device", f"api>={least}"),
        threads=(19496,),
    )
