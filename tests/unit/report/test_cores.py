"""The cores that processes were bound to, as they were read back of each, in a report."""

from __future__ import annotations

from rich.cells import cell_len

from orchestrator.report.cores import bound_cores
from orchestrator.report.markdown import render_markdown
from orchestrator.report.summarize import summarize
from orchestrator.report.terminal import render_terminal
from tests.unit.report.report_frames import Made

ASKED = {"affinity": "big", "cpu_mask": "0xf0"}


def test_what_was_asked_is_held_against_what_each_process_had() -> None:
    bound = bound_cores([{**ASKED, "allowed_cpus": had} for had in ([4, 5, 6, 7], (7, 6, 5, 4), [4, 5, 6], None)])
    assert bound is not None
    assert bound.words == "@big: cores 4-7, read back of 2 of 4 processes; others had 4-6"
    assert bound_cores([{"allowed_cpus": [0, 1]}]) is None
    assert bound_cores([]) is None


def test_a_report_says_it_under_the_table() -> None:
    made = Made(rounds=3)
    phone = made.phone("A", "A1", "Galaxy A54")
    made.case(phone, "net", "default", 9.5)
    made.case(phone, "net", "cpu all 4t @big", 4.1)
    for attempt in made.attempts:
        if attempt["row"] == "cpu all 4t @big":
            attempt.update(ASKED, allowed_cpus=[4, 5, 6, 7])
    found = summarize(made.frames())
    shown = render_terminal(found)
    assert max(cell_len(line) for line in shown.splitlines()) <= 80
    words = "@big: cores 4-7, read back of 3 of 3 processes"
    assert words in " ".join(shown.split())
    assert words in render_markdown(found)
