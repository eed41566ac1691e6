"""Pure: findings about the graph's shape: dynamic dimensions, sub-graphs, transposes, branches."""

from __future__ import annotations

from collections.abc import Iterator

from android_runner.nnapi.graph import Graph
from android_runner.nnapi.wiring import wiring_of
from android_runner.nnapi.work import multiply_adds
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

WORTH_A_TRY = 1.25
"""Multiply-adds over those of the longest path: what endless threads would gain at most with the parallel executor."""


def structure_findings(facts: ModelFacts, dynamic_nodes: tuple[str, ...]) -> Iterator[Finding]:
    """`dynamic_nodes`: what NNAPI leaves because dimensions are open."""
    yield from _dynamic(facts, dynamic_nodes)
    yield from _subgraphs(facts)
    yield from _moves(facts)
    yield from _branches(facts)


def _dynamic(facts: ModelFacts, nodes: tuple[str, ...]) -> Iterator[Finding]:
    if not facts.free_dims:
        return
    count, places = bounded(f"{key}: {', '.join(where)}" for key, where in facts.free_dims)
    keys = [key for key, _ in facts.free_dims]
    dims = facts.dims or [f"{key}=N" for key in keys]
    tried = f" (tried here with {', '.join(dims)}: put your own numbers)" if facts.guessed else ""
    problem = f"; with fixed numbers it could not be tried: {facts.fixed_problem}" if facts.fixed_problem else ""
    yield Finding(
        id="dynamic-shapes",
        severity=Severity.BLOCKS if nodes else Severity.NOTE,
        reason=(
            f"{counted(len(keys), 'dimension')} of its inputs left open; NNAPI takes fixed shapes only and leaves "
            f"{counted(len(nodes), 'node')} for that{problem}"
        ),
        count=count,
        places=places,
        remedy=f"fix them before conversion{tried}",
        command=build_command(facts.source, "basic", (), dims),
        needs_dims=True,
        threads=(11073,),
    )


def _subgraphs(facts: ModelFacts) -> Iterator[Finding]:
    if not facts.subgraphs:
        return
    count, places = bounded(one.node for one in facts.subgraphs)
    inside = sum(one.nodes for one in facts.subgraphs)
    kinds = ", ".join(sorted({one.operator for one in facts.subgraphs}))
    yield Finding(
        id="subgraphs",
        severity=Severity.COSTS,
        reason=f"graphs within nodes ({kinds}), {counted(inside, 'node')} in them: these always stay on the CPU",
        count=count,
        places=places,
        remedy="export without control flow where it is not needed (trace instead of script, fixed sequence lengths)",
    )


def _moves(facts: ModelFacts) -> Iterator[Finding]:
    if not facts.moves_after:
        return
    count, places = bounded(facts.moves_after)
    at_border = len(facts.moves_at_border)
    steps = known_steps("no-tf-transposes") if count > at_border else ()
    yield Finding(
        id="layout-transposes",
        severity=Severity.COSTS if count > at_border else Severity.NOTE,
        reason=(
            f"{counted(count, 'Transpose')} between NCHW and NHWC left after level basic, of {len(facts.moves_before)} "
            f"in the file ({at_border} at the model's inputs and outputs); each copies its whole tensor"
        ),
        count=count,
        places=places,
        remedy="take out those that undo each other; models from TensorFlow export better with NCHW inputs",
        command=build_command(facts.source, "basic", steps, facts.dims) if steps else "",
        steps=steps,
    )


def _branches(facts: ModelFacts) -> Iterator[Finding]:
    graph = facts.settled
    if graph is None:
        return
    found = parallelism(graph)
    if found is None or found[0] < WORTH_A_TRY:
        return
    gain, beside = found
    count, places = bounded(beside)
    yield Finding(
        id="branches",
        severity=Severity.NOTE,
        reason=(
            f"its branches hold {(1 - 1 / gain) * 100:.0f} % of the multiply-adds beside the longest path: the "
            f"parallel executor could gain up to {gain:.2f} times on the CPU, with as many threads as branches"
        ),
        count=count,
        places=places,
        remedy="try it; the preset cpu has it among its settings",
        command=run_command(facts.path, "--preset", "cpu", *(word for dim in facts.dims for word in ("--dim", dim))),
    )


def parallelism(graph: Graph) -> tuple[float, tuple[str, ...]] | None:
    """Work over that of the heaviest path, and the nodes with work that are not on it. Work is multiply-adds, or nodes
    where no shape or no such operator is known. None for a graph without nodes."""
    known = [multiply_adds(graph, node) for node in graph.nodes]
    weights = [one or 0 for one in known]
    if None in known or not sum(weights):
        weights = [1] * len(known)
    if not weights:
        return None
    wiring = wiring_of(graph)
    longest: list[int] = []
    before: list[int | None] = []
    for at, weight in enumerate(weights):
        sources = [edge.source for edge in wiring.incoming[at]]
        best = max(sources, key=lambda source: longest[source], default=None)
        longest.append(weight + (0 if best is None else longest[best]))
        before.append(best)
    last: int | None = max(range(len(longest)), key=lambda at: longest[at])
    path = set()
    total = longest[last or 0]
    while last is not None:
        path.add(last)
        last = before[last]
    beside = tuple(graph.nodes[at].name for at, weight in enumerate(weights) if weight and at not in path)
    return sum(weights) / total, beside
