"""What happened to phones in a run, as people read it."""

from __future__ import annotations

from orchestrator.report.hands import incident_lines, incidents_of, needs_hands
from orchestrator.report.lines import rendered

AT = "2026-04-12T02:10:05.123456+00:00"


def incident(phone: str | None, seen: str, rung: str, result: str, words: str = "") -> dict[str, object]:
    label = {"A": "B3", "B": "B4"}.get(phone or "")
    return {
        "phone": phone, "label": label, "at": AT, "seen": seen, "rung": rung, "result": result, "words": words,
        "took_s": 61.0 if rung == "wait" else 0.0,
    }  # fmt: skip


ROWS = [
    incident("A", "no answer", "wait", "in vain", "adb lists it as device"),
    incident("A", "no answer", "quarantine", "ended"),
    incident("B", "not attached", "leave to a person", "ended"),
    incident(None, "adb server", "started again", "back", "the adb server had died"),
    incident("B", "not attached", "wait", "back"),
    incident(None, "hub", "phones lost together", "ended", "hub 1-1 lost 2 phones"),
]


def test_only_what_is_not_over_needs_hands_with_its_mend() -> None:
    assert needs_hands(incidents_of(ROWS)) == (
        "B3: no answer, quarantine: hold its power button until it starts again",
        "hub 1-1 lost 2 phones",
    )
    assert needs_hands(()) == ()


def test_incidents_stand_one_a_line_with_what_was_tried() -> None:
    lines = rendered(incident_lines(incidents_of(ROWS), 100), colour=False).splitlines()
    assert lines[1] == "incidents (UTC)"
    assert lines[2] == "  02:10:05 B3 no answer; wait: in vain, 1 min 1 s, adb lists it as device"
    assert lines[5] == "  02:10:05 adb server; started again: back, the adb server had died"
    assert incident_lines((), 80) == []
