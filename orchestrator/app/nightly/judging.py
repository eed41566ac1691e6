"""The word on each series of a night, from the ledger; and which of them are to be asked again."""

from __future__ import annotations

from orchestrator.nights.nouns import Judged, SeriesKey, Verdict
from orchestrator.nights.rule import judge
from orchestrator.store.history import histories
from orchestrator.store.ledger import Ledger


def judged_in(ledger: Ledger, nightly: str, night: str) -> tuple[Judged, ...]:
    """Each series that a night asked, judged with the nights up to it; sorted. Raises StoreError."""
    found = []
    for _, nights in sorted(histories(ledger, nightly=nightly).items()):
        known = [one for one in nights if one.night <= night]
        if known and known[-1].night == night:
            found.append(judge(known))
    return tuple(found)


def to_confirm(judged: tuple[Judged, ...]) -> frozenset[SeriesKey]:
    """The series that were slow and were not asked again yet."""
    return frozenset(one.key for one in judged if one.verdict is Verdict.SUSPECTED)
