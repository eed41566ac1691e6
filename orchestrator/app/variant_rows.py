"""A run's variants as the ledger keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from android_runner.ort import ExecutionProvider
from orchestrator.home import Home
from orchestrator.plan.case import Case
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.records import VariantRecord
from orchestrator.variants.claim_shelf import claim_graphs
from orchestrator.variants.recipe import Variant
from orchestrator.variants.shelf import Shelf
from orchestrator.variants.tolerance import Numerics


def described(
    cases: Sequence[Case], built: Mapping[str, Variant], home: Home, operators: Sequence[str]
) -> dict[str, str]:
    """Evidence by variant id: what NNAPI's claim rules need to know of the variants, where a case asks for NNAPI.

    A variant that can't be described has none; that costs its prediction, not its measurement.
    """
    if not any(case.settings.provider is ExecutionProvider.NNAPI for case in cases):
        return {}
    evidence = EvidenceStore(home.root)
    found = claim_graphs(list(built.values()), Shelf(home.shelf), operators)
    return {one: evidence.keep_bytes(text.encode()) for one, text in found.items() if isinstance(text, str)}


def variant_record(variant: Variant, claim_graph: str = "", numerics: Numerics | None = None) -> VariantRecord:
    """A variant as the ledger keeps it; `claim_graph` is evidence, `numerics` what is known before the run."""
    return VariantRecord(
        variant_id=variant.variant_id,
        model_name=variant.model.name,
        model_digest=variant.model.digest,
        recipe=variant.recipe.name,
        format=variant.recipe.format.value,
        converter_version=variant.converter_version,
        graph_digest=variant.graph_digest,
        sha256=variant.sha256,
        size_bytes=variant.size_bytes,
        ort_format=variant.ort_format,
        build_s=variant.build_s,
        nodes_before=variant.operators_before,
        nodes_after=variant.operators_after,
        claim_graph=claim_graph,
        numerics=numerics,
    )
