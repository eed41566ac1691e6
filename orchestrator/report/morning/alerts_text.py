"""Pure: what `orch nightly alerts` prints."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.nights.alerts import Alert
from orchestrator.report.lines import Line, joined, line, paragraph, rendered
from orchestrator.report.morning.words import night_words
from orchestrator.report.numbers import plural


def alerts_text(alerts: Sequence[Alert], *, width: int = 80, colour: bool = False) -> str:
    """Each alert, since when, and how it stands; the open ones first."""
    ordered = [*(one for one in alerts if one.stands), *(one for one in alerts if not one.stands)]
    lines: list[Line] = []
    for one in ordered:
        lines += paragraph(_head(one), width, style="bad" if one.stands else "dim")
        lines += paragraph(one.words, width, indent=2, hang=2)
    return rendered(lines or [line("no alert")], colour=colour)


def _head(one: Alert) -> str:
    held = "case" if one.kind == "regression" else "phone"
    stands = f"{len(one.members)} of {plural(len(one.ever), held)}" if one.stands else ""
    ended = f"closed {night_words(one.closed_night)}: {one.why}" if not one.stands else ""
    seen = f"{plural(one.nights, 'night')}"
    return joined([one.nightly, one.kind.value, f"since {night_words(one.opened_night)}", seen, stands, ended])
