"""What a frame says of the clocks meanwhile: of the cores that a case was bound to."""

from __future__ import annotations

import pytest
import sample_run as sample

from android_runner.facts import Vitals
from orchestrator.plan.case import Purpose, Trial
from orchestrator.store.vitals_rows import validity_cells


@pytest.mark.parametrize(("mask", "loss"), [(0b1, 0.5), (0b10000, 0.0), (None, 0.0)])
def test_a_case_on_little_cores_lost_what_these_lost(mask: int | None, loss: float) -> None:
    before = Vitals(residency_s={0: ((500, 0.0), (1000, 0.0)), 4: ((1000, 0.0), (2000, 0.0))})
    after = Vitals(residency_s={0: ((500, 10.0), (1000, 1e-9)), 4: ((1000, 0.0), (2000, 10.0))})
    trial = Trial(case_id="c", phone="p", purpose=Purpose.TIME, round=0, position=0)
    attempt = sample.attempt(trial, "a", before=before, after=after)
    assert validity_cells(attempt, mask)["residency_loss"] == pytest.approx(loss, abs=1e-6)
