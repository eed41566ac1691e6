from dataclasses import replace

import pytest

from android_runner.errors import Blame, Retry
from android_runner.validity import Reason, Standing, Validity
from orchestrator.farm.attempts import settled
from orchestrator.outcome import Failed, Figures, Measured

FIGURES = Figures(
    iterations=100, p50_s=1.0, p90_s=1.0, p95_s=1.0, p99_s=1.0, min_s=1.0, max_s=1.0, mean_s=1.0,
    session_creation_s=None, first_inference_s=None, peak_working_set_bytes=None, flat=False,
)  # fmt: skip
HOT = Validity(standing=Standing.INVALID, reasons=(Reason.STATUS_HIGH,), details=("thermal status 3, at most 1",))


def test_a_process_that_never_settled_is_suspect():
    found = settled(Validity(standing=Standing.VALID), Measured(figures=FIGURES))
    assert (found.standing, found.reasons) == (Standing.SUSPECT, (Reason.NEVER_FLAT,))
    assert "never settled" in found.details[0]


def test_what_is_invalid_stays_so():
    found = settled(HOT, Measured(figures=FIGURES))
    assert (found.standing, found.reasons) == (Standing.INVALID, (Reason.STATUS_HIGH, Reason.NEVER_FLAT))
    assert len(found.details) == 2


@pytest.mark.parametrize("flat", [True, None])
def test_what_settled_or_nobody_can_tell_is_left_alone(flat):
    assert settled(HOT, Measured(figures=replace(FIGURES, flat=flat))) == HOT
    assert settled(None, Measured(figures=FIGURES)) is None
    assert settled(HOT, Failed(kind="x", blame=Blame.LAB, retry=Retry.HERE, message="")) == HOT
