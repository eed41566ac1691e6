"""`--verify`: the check variants of a run's cases, made before a phone is touched."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.app.prepare import Workshop
from orchestrator.home import Home
from orchestrator.plan.case import Case
from orchestrator.plan.order import verified
from orchestrator.store.records import VariantRecord
from orchestrator.variants.converters import registered
from orchestrator.variants.recipe import Variant
from orchestrator.variants.shelf import Shelf
from orchestrator.variants.verify_shelf import check_variants, kept_check
from orchestrator.variants.verify_variant import CheckFacts, CheckVariant


@dataclass(frozen=True, slots=True)
class Checks:
    """The check variants of a run, and what its ledger keeps of each, also of those that could not be made; both by
    the id of the variant that is checked."""

    built: Mapping[str, CheckVariant] = field(default_factory=dict)
    facts: Mapping[str, CheckFacts] = field(default_factory=dict)

    def checkable(self, cases: Sequence[Case]) -> Collection[str]:
        """The cases, by id, that have a check variant."""
        return {case.case_id for case in cases if case.variant_id in self.built}


def checks_for(
    cases: Sequence[Case], workshop: Workshop, home: Home, libraries: tuple[tuple[str, str], ...] = ()
) -> Checks:
    """Make them; `libraries` have the host's custom operators, (path, sha256).

    A variant that can't have one is not verified, with the reason; that costs nothing else.
    """
    wanted = verified(cases)
    used = {case.variant_id: case.inputs_digest for case in cases if case.case_id in wanted}
    inputs = {one.digest: one for _, one in workshop.models}
    variants = [one for one in workshop.variants.values() if isinstance(one, Variant) and one.variant_id in used]
    asked = {one.variant_id: (one, inputs[used[one.variant_id]]) for one in variants}
    converters = [replace(one, custom_ops=libraries) for one in registered(home.converters)]
    found = check_variants(list(asked.values()), Shelf(home.shelf), converters)
    built = {one: check for one, check in found.items() if isinstance(check, CheckVariant)}
    facts = {
        one: check.facts if isinstance(check, CheckVariant) else CheckFacts(why_not=str(check))
        for one, check in found.items()
    }
    return Checks(built, facts)


def kept_checks(variants: Sequence[VariantRecord], home: Home) -> dict[str, CheckVariant]:
    """Those of an earlier run, by the variant's id. Raises StoreError where one is gone."""
    shelf = Shelf(home.shelf)
    return {
        one.variant_id: kept_check(shelf, one.check.check_id)
        for one in variants
        if one.check is not None and one.check.check_id
    }
