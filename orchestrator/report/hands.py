"""Pure: what happened to phones and their adb servers while a run went on, and what of it needs a person's hands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from android_runner.recovery.ladder import MENDS
from android_runner.recovery.rungs import Result
from orchestrator.report.lines import Line, joined, line, paragraph
from orchestrator.report.numbers import span
from orchestrator.report.source import Row, number, text


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownIncident:
    """One thing that was tried, or befell a server or a hub (`phone` and `label` empty); `at` is UTC, in ISO form."""

    at: str
    phone: str
    label: str
    seen: str
    rung: str
    result: str
    words: str
    took_s: float


def incidents_of(rows: Sequence[Row]) -> tuple[ShownIncident, ...]:
    """The incidents of a run in their order, from their frame's rows."""
    return tuple(
        ShownIncident(
            at=text(row, "at")[:19].replace("T", " "),
            phone=text(row, "phone"),
            label=text(row, "label") or text(row, "phone"),
            seen=text(row, "seen"),
            rung=text(row, "rung"),
            result=text(row, "result"),
            words=text(row, "words"),
            took_s=number(row, "took_s") or 0.0,
        )
        for row in rows
    )


def needs_hands(incidents: Sequence[ShownIncident]) -> tuple[str, ...]:
    """A sentence for each phone whose last climb ended in vain, each hub that failed, a server that does not start."""
    ends: dict[str, ShownIncident] = {}
    others: list[str] = []
    for one in incidents:
        if not one.phone and one.result in (Result.ENDED, Result.FAILED):
            others.append(one.words)
        elif one.phone and one.result == Result.ENDED:
            ends[one.phone] = one
        elif one.result == Result.BACK:
            ends.pop(one.phone, None)
    phones = [f"{one.label}: {one.seen}, {one.rung}: {_mend(one)}" for one in ends.values()]
    return (*phones, *dict.fromkeys(others))


def _mend(one: ShownIncident) -> str:
    return next((mend for seen, mend in MENDS.items() if seen.value == one.seen), "look after it")


def incident_lines(incidents: Sequence[ShownIncident], width: int) -> list[Line]:
    """The incidents below a run's rows, one after another; nothing where there were none."""
    if not incidents:
        return []
    lines: list[Line] = [(), line("incidents (UTC)")]
    for one in incidents:
        took = span(one.took_s) if one.took_s >= 1 else ""
        head = joined([one.at[11:], one.label, one.seen], " ")
        lines += paragraph(
            joined([f"{head}; {one.rung}: {one.result}", took, one.words], ", "), width, indent=2, hang=4
        )
    return lines
