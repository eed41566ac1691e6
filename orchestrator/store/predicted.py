"""Pure: what NNAPI should take of each variant on each phone of a run, by the claim rules of today.

The rules need nodes and shapes, which a run keeps as evidence, the phone's API level and the flags. Which NNAPI devices
a phone has nobody knows beforehand: they are left out, so that CPU flags change nothing in a prediction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from android_runner.nnapi.claim import claim
from android_runner.nnapi.graph import Graph
from android_runner.nnapi.placement import Placement
from android_runner.nnapi.target import NnapiTarget
from android_runner.nnapi.work import multiply_adds
from android_runner.ort import ExecutionProvider, NnapiFlag
from orchestrator.plan.case import Case
from orchestrator.plan.nnapi_gates import FlagSet
from orchestrator.store.frame_rows import Cells
from orchestrator.store.records import PhoneRecord, RunContents, VariantRecord


def predicted_cells(contents: RunContents, graphs: Mapping[str, Graph]) -> Iterable[Cells]:
    """A row for each phone, variant with a graph (by variant id), and set of flags that a case has.

    Always there are no flags at all, and NCHW alone: what it would take away is why it is not measured below API 29.
    """
    claimed: dict[_Question, Cells] = {}
    """Phones of one API level are told the same, and asked about once."""
    for phone, variant, question in _questions(contents, graphs):
        if question not in claimed:
            graph = graphs[variant.variant_id]
            claimed[question] = _claim_cells(graph, claim(graph, _target(question)))
        head = {"run": contents.run.run_id, **_of(phone, variant), "nnapi_flags": list(question[2])}
        yield {**head, **claimed[question]}


def node_cells(contents: RunContents, graphs: Mapping[str, Graph]) -> Iterable[Cells]:
    """A row for each node of each variant, API level of a phone, and set of flags that `predicted_cells` asks about."""
    told: set[_Question] = set()
    for phone, variant, question in _questions(contents, graphs):
        if question in told:
            continue
        told.add(question)
        of = _of(phone, variant)
        head = {name: of[name] for name in ("api_level", "model", "variant", "recipe")}
        head |= {"run": contents.run.run_id, "nnapi_flags": list(question[2])}
        graph = graphs[variant.variant_id]
        yield from ({**head, **cells} for cells in _nodes_of(graph, claim(graph, _target(question))))


_Question = tuple[str, int, FlagSet]
"""A variant's id, an API level, flags."""


def _questions(
    contents: RunContents, graphs: Mapping[str, Graph]
) -> Iterable[tuple[PhoneRecord, VariantRecord, _Question]]:
    cases = {case.case_id: case for case in contents.cases}
    asked: dict[str, dict[FlagSet, None]] = {
        phone.phone: {(): None, (NnapiFlag.NCHW,): None} for phone in contents.phones
    }
    for trial in contents.trials:
        settings = cases[trial.case_id].settings
        if settings.provider is ExecutionProvider.NNAPI:
            asked[trial.phone][settings.nnapi_flags] = None
    for phone in contents.phones:
        for variant in contents.variants:
            if variant.variant_id in graphs:
                for flags in asked[phone.phone]:
                    yield phone, variant, (variant.variant_id, phone.facts.api_level, flags)


def _target(question: _Question) -> NnapiTarget:
    return NnapiTarget(api_level=question[1], flags=frozenset(question[2]))


def _nodes_of(graph: Graph, placement: Placement) -> Iterable[Cells]:
    made_by = {name: at for at, node in enumerate(graph.nodes) for name in node.outputs if name}
    piece = {at: number for number, partition in enumerate(placement.partitions) for at in partition.nodes}
    why = {one.node: one.reason for one in (*placement.refused, *placement.dropped)}
    for at, node in enumerate(graph.nodes):
        dims = graph.value(node.outputs[0]).dims if node.outputs else None
        after = {made_by[name] for name in (*node.inputs, *node.implicit) if name in made_by}
        yield {
            "node": at,
            "name": node.name,
            "operator": node.label,
            "shape": None if dims is None else list(dims),
            "after": sorted(after),
            "partition": piece.get(at),
            "reason": why.get(at) or placement.problem or None,
        }


def predicted_pieces(case: Case, graph: Graph, api_level: int) -> list[tuple[str, ...]]:
    """The names of the nodes in each partition that a case should have, in order."""
    target = NnapiTarget(api_level=api_level, flags=frozenset(case.settings.nnapi_flags))
    return [tuple(graph.nodes[at].name for at in one.nodes) for one in claim(graph, target).partitions]


def companion(case: Case, cases: Iterable[Case]) -> Case | None:
    """The case that traces the CPU on the nodes that NNAPI gets in `case`."""
    return next(
        (
            other
            for other in cases
            if other.traced and other.variant_id == case.variant_id and other.settings.provider is ExecutionProvider.CPU
        ),
        None,
    )


def _of(phone: PhoneRecord, variant: VariantRecord) -> Cells:
    return {
        "phone": phone.phone,
        "label": phone.label,
        "api_level": phone.facts.api_level,
        "model": variant.model_name,
        "variant": variant.variant_id,
        "recipe": variant.recipe,
    }


def _claim_cells(graph: Graph, placement: Placement) -> Cells:
    """What a claim says: counts, the operators of each partition, and what stays on the CPU for which reason."""
    work = [multiply_adds(graph, node) for node in graph.nodes]
    claimed = {at for partition in placement.partitions for at in partition.nodes}
    known = None not in work
    refused = Counter((graph.nodes[one.node].label, one.reason) for one in (*placement.refused, *placement.dropped))
    return {
        "feature_level": placement.feature_level,
        "nodes": len(graph.nodes),
        "nodes_claimed": len(claimed),
        "partitions": len(placement.partitions),
        "partition_operators": [
            [graph.nodes[at].label for at in partition.nodes] for partition in placement.partitions
        ],
        "multiply_adds": sum(one or 0 for one in work) if known else None,
        "multiply_adds_claimed": sum(work[at] or 0 for at in claimed) if known else None,
        "not_taken": [[operator, reason, count] for (operator, reason), count in sorted(refused.items())],
        "not_checked": sum(not one.checked for one in placement.refused),
        "caveat": placement.caveat or None,
    }
