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
    cases = {case.case_id: case for case in contents.cases}
    asked: dict[str, dict[FlagSet, None]] = {
        phone.phone: {(): None, (NnapiFlag.NCHW,): None} for phone in contents.phones
    }
    for trial in contents.trials:
        settings = cases[trial.case_id].settings
        if settings.provider is ExecutionProvider.NNAPI:
            asked[trial.phone][settings.nnapi_flags] = None
    claimed: dict[tuple[str, int, FlagSet], Cells] = {}
    """By variant, API level and flags: phones of one level are told the same, and asked about once."""
    for phone in contents.phones:
        level = phone.facts.api_level
        for variant in contents.variants:
            graph = graphs.get(variant.variant_id)
            if graph is None:
                continue
            for flags in asked[phone.phone]:
                key = (variant.variant_id, level, flags)
                if key not in claimed:
                    target = NnapiTarget(api_level=level, flags=frozenset(flags))
                    claimed[key] = _claim_cells(graph, claim(graph, target))
                head = {"run": contents.run.run_id, **_of(phone, variant), "nnapi_flags": list(flags)}
                yield {**head, **claimed[key]}


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
