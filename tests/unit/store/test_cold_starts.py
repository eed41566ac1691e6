"""Cold starts from the ledger's rows: never 0, warm by the phone's clock, and what a trace tells."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sample_run as sample

from android_runner.facts import Vitals
from android_runner.trace import read_trace_chunks
from orchestrator.outcome import Failed, Figures
from orchestrator.plan.case import Case, Purpose, Trial
from orchestrator.store.records import AttemptRecord
from orchestrator.store.trace_rows import cold_cells, first_inference_cells, warm_attempts

CASES = (sample.case("cpu all"), sample.case("cpu all 2t", threads=2), sample.case("default", ort=False))


def figures(first_s: float | None) -> Figures:
    return Figures(
        iterations=5, p50_s=1.0, p90_s=1.0, p95_s=1.0, p99_s=1.0, min_s=1.0, max_s=1.0, mean_s=1.0,
        session_creation_s=0.1, first_inference_s=first_s, peak_working_set_bytes=1,
    )  # fmt: skip


def ran(name: str, case: Case, start_s: float, **more: object) -> AttemptRecord:
    trial = Trial(case_id=case.case_id, phone=sample.PHONES[0], purpose=Purpose.TIME, round=1, position=0)
    record = sample.attempt(trial, name)
    return replace(record, started_uptime_s=start_s, ended_uptime_s=start_s + 1, **more)


@pytest.mark.parametrize(("printed_s", "first_s", "below_s"), [(0.0, None, 0.001), (0.012, 0.012, 0.013)])
def test_a_printed_0_is_no_figure_but_a_bound(printed_s: float, first_s: float | None, below_s: float) -> None:
    cells = first_inference_cells(figures(printed_s))
    assert cells == {"first_inference_s": first_s, "first_inference_below_s": pytest.approx(below_s)}


def test_what_a_dialect_does_not_tell_has_no_bound() -> None:
    assert first_inference_cells(figures(None)) == first_inference_cells(None) == {}


def test_a_process_is_warm_after_another_one_read_the_same_model() -> None:
    """By the phone's clock: the second in time may be the first that was written down."""
    one, other, third = CASES
    assert one.variant_id == other.variant_id != third.variant_id
    attempts = [
        ran("later", one, 50.0),
        ran("first", other, 10.0),
        ran("beside", one, 10.5),
        ran("other file", third, 60.0),
    ]
    assert warm_attempts(attempts, CASES) == {"later": "warm"}


def test_a_reboot_and_a_process_that_failed_leave_nothing_in_the_cache() -> None:
    one = CASES[0]
    gone = Failed(kind="crashed", blame=sample.Blame.MODEL, retry=sample.Retry.NEVER, message="")
    rebooted = Vitals(uptime_s=1.0, boot_id="another")
    attempts = [
        ran("first", one, 10.0, outcome=gone),
        ran("second", one, 20.0),
        ran("rebooted", one, 30.0, before=rebooted),
        ran("nothing told", one, 40.0, before=Vitals()),
        ran("third", one, 40.0),
    ]
    assert warm_attempts(attempts, CASES) == {"third": "warm"}


def test_a_trace_tells_the_first_inference_to_the_microsecond() -> None:
    event = '{"cat" : "Session","pid" :1,"tid" :1,"dur" :%d,"ts" :%d,"ph" : "X","name" :"%s","args" : {}},\n'
    lines = [event % (412, 1, "model_loading_uri"), event % (900, 500, "session_initialization")]
    lines += [event % (310, 2000, "model_run"), event % (45, 3000, "model_run")]
    table = read_trace_chunks([("[\n" + "".join(lines)).encode()])
    cells = cold_cells(table)
    assert cells["first_inference_s"] == pytest.approx(310e-6)
    assert cells["session_initialization_s"] == pytest.approx(900e-6)
    assert cells["model_loading_s"] == pytest.approx(412e-6)
    assert cells["complete"] is False
