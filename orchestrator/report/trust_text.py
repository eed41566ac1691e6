"""Pure: words on what speaks for and against a phone's figures."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.report.numbers import percent, plural, ratio
from orchestrator.report.sentence import how_sure
from orchestrator.report.summary import PhoneAnswer
from orchestrator.report.trust import FLAT, Drift, PhoneTrust, Rejections

MOST_ROWS = 3


def trust_words(phone: PhoneAnswer) -> list[str]:
    """Sentences for below a phone's table: drift, rejections, the answer without them."""
    trust = phone.trust
    if trust is None:
        return []
    return [words for words in (_canary(trust), _rejected(trust), _other_answer(phone)) if words]


def _canary(trust: PhoneTrust) -> str:
    if trust.drift is None:
        return f"no canary here: {trust.mute}" if trust.mute else ""
    return f"canary (a tiny fixed model, {plural(trust.drift.n, 'look')}): {_drift(trust.drift)}"


def _drift(drift: Drift) -> str:
    changed = f"{percent(abs(drift.change))} {'slower' if drift.change >= 0 else 'faster'} at the end than at first"
    if drift.flat:
        return f"flat, {changed}"
    return f"{changed}, above {percent(FLAT)}: the phone drifted, whatever ran on it"


def _rejected(trust: PhoneTrust) -> str:
    total = trust.total
    if total is None:
        return ""
    reasons = ", ".join(f"{count} {reason}" for reason, count in total.reasons[:MOST_ROWS])
    suspect = f"{total.suspect} suspect" if total.suspect else ""
    if not total.rejected:
        note = f"; {suspect} ({reasons})" if suspect else ""
        return f"none of {plural(total.judged, 'attempt')} rejected for its vitals{note}"
    rows = sorted((row for row in trust.rows if row.rejected), key=lambda row: -row.rejected / row.judged)
    which = ", ".join(_row(row) for row in rows[:MOST_ROWS]) + (" …" if len(rows) > MOST_ROWS else "")
    more = f", {suspect}" if suspect else ""
    hotter = "; a setting that is rejected more often is hotter" if len(trust.rows) > len(rows) or len(rows) > 1 else ""
    return f"rejected for their vitals: {total.rejected} of {total.judged} attempts ({reasons}{more}): {which}{hotter}"


def _row(row: Rejections) -> str:
    return f"{row.row} {row.rejected} of {row.judged}"


def _other_answer(phone: PhoneAnswer) -> str:
    other = None if phone.trust is None else phone.trust.unrejected
    if other is None:
        return ""
    versus = ratio(other.vs_default.value, other.vs_default.half_width) if other.vs_default else ""
    told = " ".join(part for part in (other.row, versus, f"({other.how_sure})") if part)
    best = phone.best.row if phone.best is not None else ""
    own = " ".join(part for part in (best, f"({how_sure(phone)})") if part)
    return f"had nothing been rejected, the answer were {told}; it is {own}"


def shell_notes(phones: Sequence[PhoneAnswer]) -> list[str]:
    """`Measured by a shell process in cpuset /foreground, screen on; an app in the foreground may differ.`: once for
    all phones where they say the same."""
    notes: dict[str, list[str]] = {}
    for phone in phones:
        around = phone.trust.around if phone.trust is not None else ()
        notes.setdefault(f" {', '.join(around)}" if around else "", []).append(phone.label)
    several = len(notes) > 1
    return [
        f"{', '.join(labels) + ': measured' if several else 'Measured'} by a shell process{around}; "
        "an app in the foreground may differ."
        for around, labels in notes.items()
    ]
