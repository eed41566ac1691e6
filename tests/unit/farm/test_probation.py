"""A phone whose quarantine has expired proves itself first."""

from __future__ import annotations

from android_runner.errors import Blame, Retry
from orchestrator.farm.blocks import Canary
from orchestrator.farm.probation import Judged, Probation
from orchestrator.farm.protocol import BlockEnded, PhoneGone, PhoneUp, WorkEnded
from orchestrator.outcome import Failed, Measured
from orchestrator.plan.case import Purpose

UP = PhoneUp("A")
BROKEN = Failed(kind="crashed", blame=Blame.RUNTIME, retry=Retry.ELSEWHERE, message="signal 11")


def on_probation() -> Probation:
    return Probation(Canary(case_id="canary", iterations=7), ["A"])


def ended(proof: Judged, outcome: Measured | Failed) -> BlockEnded:
    (block,) = proof.proof
    (work,) = block.works
    return BlockEnded("A", (WorkEnded(work, outcome),))


def test_its_canary_comes_first_and_nothing_else_until_it_measured() -> None:
    probation = on_probation()
    proof = probation.see(UP)
    assert proof.events == ()
    (block,) = proof.proof
    (work,) = block.works
    assert (work.case_id, work.purpose, work.iterations, work.trial) == ("canary", Purpose.CANARY, 7, None)
    judged = probation.see(ended(proof, Measured(figures=None)))
    assert judged == Judged(events=(UP,), released="A")
    assert probation.see(UP) == Judged(events=(UP,))


def test_a_canary_that_fails_sends_it_back() -> None:
    probation = on_probation()
    judged = probation.see(ended(probation.see(UP), BROKEN))
    assert judged.failed == "A"
    assert "signal 11" in judged.why
    (gone,) = judged.events
    assert isinstance(gone, PhoneGone)
    assert gone.for_good


def test_a_phone_that_is_lost_while_it_proves_itself_is_lost() -> None:
    probation = on_probation()
    probation.see(UP)
    gone = PhoneGone("A", "cable")
    assert probation.see(gone) == Judged(events=(gone,))


def test_other_phones_and_runs_without_a_canary_go_on_as_ever() -> None:
    other = PhoneUp("B")
    assert on_probation().see(other) == Judged(events=(other,))
    probation = Probation(None, ["A"])
    assert probation.see(UP) == Judged(events=(UP,))
    proof = on_probation().see(UP)
    vain = ended(proof, BROKEN)
    assert probation.see(vain) == Judged(events=(vain,))
    well = ended(proof, Measured(figures=None))
    assert probation.see(well) == Judged(events=(well,), released="A")
    assert probation.see(well) == Judged(events=(well,))
