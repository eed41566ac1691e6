"""Pure: two models' variants beside each other: size, error, operators, from what the runs wrote down of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.report.comparison.meeting import Pair
from orchestrator.report.comparison.nouns import VariantChange
from orchestrator.report.source import Row, counts, number, text, whole


def variant_changes(pairs: Sequence[Pair], base: Mapping[str, Row], new: Mapping[str, Row]) -> list[VariantChange]:
    """Each variant of BASE's models that was compared, beside the one that stands for it in NEW; rows by variant id."""
    found: dict[tuple[str, str], VariantChange] = {}
    for pair in pairs:
        old, now = (rows.get(case.cell.first("variant"), {}) for rows, case in ((base, pair.base), (new, pair.new)))
        key = (pair.base.cell.model, pair.base.recipe)
        if key not in found:
            found[key] = _change(key, old, now)
    return list(found.values())


def _change(key: tuple[str, str], old: Row, now: Row) -> VariantChange:
    before, after = dict(counts(old, "nodes_after")), dict(counts(now, "nodes_after"))
    names = sorted({*before, *after})
    return VariantChange(
        model=key[0],
        recipe=key[1],
        base_bytes=whole(old, "size_bytes"),
        new_bytes=whole(now, "size_bytes"),
        base_error=number(old, "error"),
        new_error=number(now, "error"),
        base_verdict=text(old, "verdict"),
        new_verdict=text(now, "verdict"),
        operators=tuple(
            (name, before.get(name, 0), after.get(name, 0)) for name in names if before.get(name) != after.get(name)
        ),
    )
