"""Which ended trials `orch resume` plans again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from android_runner.errors import Blame, Retry
from android_runner.ort import ExecutionProvider
from orchestrator.app.resuming import to_try_again
from orchestrator.outcome import Failed, Measured, Outcome, Skipped, SkipReason
from orchestrator.plan.case import Purpose, Trial
from orchestrator.store.records import TrialRow, TrialState
from tests.unit.store import sample_run

LOST = Failed(kind="lost", blame=Blame.LAB, retry=Retry.HERE, message="gone")
REFUSED = Failed(kind="setting_refused", blame=Blame.PLAN, retry=Retry.NEVER, message="no")
EARLY = Skipped(reason=SkipReason.RESOLVED_EARLY, message="NNAPI was not as fast as the CPU")
STOPPED = Skipped(reason=SkipReason.INTERRUPTED)
MEASURED = Measured(figures=None)
FIRST, ALSO_FIRST = sample_run.CASES[0], sample_run.CASES[1]
SECOND = replace(sample_run.CASES[2], where_pays=ExecutionProvider.NNAPI)
OTHER_MODEL = replace(SECOND, model_name="big", variant_id="other")
CASES = (FIRST, ALSO_FIRST, SECOND, OTHER_MODEL)


def row(name: str, outcome: Outcome | None, *, phone: str = "A", purpose: Purpose = Purpose.TIME) -> TrialRow:
    """A trial of the case that `name` begins with."""
    case = {"first": FIRST, "also": ALSO_FIRST, "second": SECOND, "big": OTHER_MODEL}[name.split(maxsplit=1)[0]]
    trial = Trial(case_id=case.case_id, phone=phone, purpose=purpose, round=1, position=0)
    return TrialRow(trial=trial, trial_id=name, state=TrialState.PLANNED, outcome=outcome, attempt_id=None)


@pytest.mark.parametrize(("outcome", "again"), [(LOST, True), (STOPPED, True), (REFUSED, False), (MEASURED, False)])
def test_what_the_lab_or_a_stop_spoilt_is_tried_again(outcome: Outcome, again: bool) -> None:
    assert to_try_again(CASES, [row("first", outcome), row("also", None)]) == (["first"] if again else [])


def test_what_did_not_pay_is_not_tried_again() -> None:
    rows = [row("first", MEASURED), row("second", EARLY), row("first trace", LOST, purpose=Purpose.TRACE)]
    assert to_try_again(CASES, rows) == ["first trace"]


def test_with_a_timed_trial_of_the_first_step_its_models_second_step_is_open_again() -> None:
    rows = [
        row("first", LOST), row("second", EARLY), row("second trace", EARLY, purpose=Purpose.TRACE), row("big", EARLY),
        row("second elsewhere", EARLY, phone="B"), row("also", MEASURED),
    ]  # fmt: skip
    assert to_try_again(CASES, rows) == ["first", "second", "second trace"]
