"""What the ledger promises of runs, blocks, trials and attempts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sample_run as sample

from android_runner.block import BlockEnding, GateOutcome, GateWait
from android_runner.facts import ProcessFacts
from orchestrator.errors import StoreError
from orchestrator.outcome import Measured, Skipped, SkipReason, rejected
from orchestrator.plan.case import Purpose
from orchestrator.store.ledger import Ledger
from orchestrator.store.migrations import SCHEMA_VERSION
from orchestrator.store.records import BlockRecord, Counts, RunState, TrialState
from orchestrator.variants.tolerance import Numerics, OutputError, Precision

pytestmark = pytest.mark.usefixtures("each_database")

CONTENTS = sample.contents()
TRIALS = CONTENTS.trials
FIRST = TRIALS[0].trial_id(sample.RUN)
SKIPPED = Skipped(reason=SkipReason.INTERRUPTED)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger.open(tmp_path)
    ledger.add_run(CONTENTS)
    yield ledger
    ledger.close()


def block(block_id: str = "b1", **more: object) -> BlockRecord:
    record = BlockRecord(
        block_id=block_id,
        run_id=sample.RUN,
        phone=sample.PHONES[0],
        epoch=3,
        boot_id="b007",
        opened_at=sample.START,
        tasks={"t-0": '{"case":"x"}'},
    )
    return replace(record, **more)  # type: ignore[arg-type]


def test_contents_come_back_as_they_went_in(ledger: Ledger) -> None:
    assert ledger.contents(sample.RUN) == CONTENTS
    assert [row.trial for row in ledger.trials(sample.RUN)] == list(TRIALS)
    assert {row.state for row in ledger.trials(sample.RUN)} == {TrialState.PLANNED}


def test_numerics_join_a_variant_s_row_when_they_are_known(ledger: Ledger) -> None:
    figures = OutputError(output="y", n=10, max_abs=1e-6, max_rel=None, max_ref=7.0, cosine=1.0, top1_same=True)
    numerics = Numerics(inputs="cc" * 32, runtime="1.31.1", precision=Precision.INT8, outputs=(figures,))
    first, second = CONTENTS.variants
    ledger.set_numerics(sample.RUN, {second.variant_id: numerics, "nobody's": numerics})
    assert ledger.contents(sample.RUN).variants == (first, replace(second, numerics=numerics))


def test_a_run_is_written_once_and_whole_or_not(ledger: Ledger) -> None:
    with pytest.raises(StoreError, match="already"):
        ledger.add_run(CONTENTS)
    other = sample.contents("0412-other-aaaa")
    with pytest.raises(StoreError):
        ledger.add_run(replace(other, trials=(*other.trials, other.trials[0])))
    assert [one.run.run_id for one in ledger.runs()] == [sample.RUN]
    with pytest.raises(StoreError, match="0412-other-aaaa"):
        ledger.contents("0412-other-aaaa")


def test_calibrations_are_never_planned_nor_counted(ledger: Ledger) -> None:
    other = sample.contents("0412-other-aaaa")
    calibration = replace(other.trials[0], purpose=Purpose.CALIBRATE)
    ledger.add_run(replace(other, trials=(*other.trials, calibration)))
    assert ledger.counts("0412-other-aaaa").planned == len(other.trials)
    for name in ("c1", "c2"):
        attempt = sample.attempt(calibration, name, Measured(figures=None), run_id=sample.RUN)
        assert ledger.record_attempt(replace(attempt, trial_id=""))
    assert ledger.counts(sample.RUN).measured == 0
    kept = ledger.attempts(sample.RUN)
    assert [(one.attempt_id, one.trial_id, one.number) for one in kept] == [("c1", "", 1), ("c2", "", 2)]


def test_an_attempt_comes_back_as_it_went_in(ledger: Ledger) -> None:
    attempt = sample.attempt(TRIALS[0], "a1", evidence={"stdout": "ab" * 32}, tuned=True, adopted=True)
    assert ledger.record_attempt(attempt)
    assert attempt.before is not None
    finite = replace(attempt.before, zones_c={"cpu": 40.5, "skin": 33.0})
    expected = replace(attempt, number=1, before=finite, schema_version=SCHEMA_VERSION)
    assert ledger.attempts(sample.RUN) == [expected]


def test_measuring_ends_a_trial_in_the_same_stroke(ledger: Ledger) -> None:
    ledger.record_attempts([sample.attempt(TRIALS[0], "a1"), sample.attempt(TRIALS[1], "a2", sample.FAILED)])
    first, second = ledger.trials(sample.RUN)[:2]
    assert (first.state, first.outcome, first.attempt_id) == ("measured", sample.MEASURED, "a1")
    assert (second.state, second.outcome, second.attempt_id) == ("planned", None, None)
    ledger.end_trial(FIRST, Measured(figures=None))
    assert ledger.trials(sample.RUN)[0].outcome == sample.MEASURED


def test_a_rejected_attempt_is_kept_and_ends_nothing(ledger: Ledger) -> None:
    hot = sample.attempt(
        TRIALS[0], "a1", validity="invalid", validity_reasons=("battery hot: 45 °C",),
        process=ProcessFacts(cpuset="/foreground", allowed_cpus=(0, 1)),
        gate=GateWait(waited_s=12, outcome=GateOutcome.FLAT, cause="battery"),
    )  # fmt: skip
    assert ledger.record_attempt(hot)
    assert ledger.trials(sample.RUN)[0].state is TrialState.PLANNED
    assert ledger.record_attempt(sample.attempt(TRIALS[0], "a2", validity="suspect"))
    row = ledger.trials(sample.RUN)[0]
    assert (row.state, row.attempt_id) == (TrialState.MEASURED, "a2")
    kept = ledger.attempts(sample.RUN)[0]
    told = (kept.validity, kept.validity_reasons, kept.process, kept.gate)
    assert told == (hot.validity, hot.validity_reasons, hot.process, hot.gate)
    assert kept.rejected


def test_a_trial_of_which_every_attempt_was_rejected_fails(ledger: Ledger) -> None:
    ledger.record_attempt(sample.attempt(TRIALS[0], "a1", validity="invalid"))
    ledger.end_trial(FIRST, rejected(["battery at 45 °C"]))
    row = ledger.trials(sample.RUN)[0]
    assert row.state is TrialState.FAILED
    assert row.attempt_id is None


def test_adopting_twice_counts_once(ledger: Ledger) -> None:
    attempt = sample.attempt(TRIALS[0], "a1")
    assert ledger.record_attempts([attempt, attempt]) == 1
    assert ledger.record_attempts([replace(attempt, adopted=True)]) == 0
    assert ledger.record_attempt(sample.attempt(TRIALS[0], "a2", Measured(figures=sample.figures(9.0))))
    assert [(one.attempt_id, one.number, one.adopted) for one in ledger.attempts(sample.RUN)] == [
        ("a1", 1, False),
        ("a2", 2, False),
    ]
    assert ledger.trials(sample.RUN)[0].attempt_id == "a1"
    assert ledger.counts(sample.RUN).measured == 1


def test_a_batch_is_written_whole_or_not_at_all(ledger: Ledger) -> None:
    stranger = replace(sample.attempt(TRIALS[1], "a2"), trial_id="feedfacefeedfacefeed")
    with pytest.raises(ValueError, match="feedface"):
        ledger.record_attempts([sample.attempt(TRIALS[0], "a1"), stranger])
    assert ledger.attempts(sample.RUN) == []
    assert ledger.counts(sample.RUN).open == len(TRIALS)


def test_a_trial_has_one_end(ledger: Ledger) -> None:
    ledger.end_trial(FIRST, sample.FAILED)
    ledger.end_trial(FIRST, sample.FAILED)
    with pytest.raises(ValueError, match="already"):
        ledger.end_trial(FIRST, SKIPPED)
    with pytest.raises(ValueError, match="only an attempt"):
        ledger.end_trial(FIRST, sample.MEASURED)
    with pytest.raises(ValueError, match="was planned"):
        ledger.end_trial("nobody", SKIPPED)
    assert [event.kind for event in ledger.events(sample.RUN)] == ["run planned", "trial failed"]


def test_what_a_phone_finished_alone_is_adopted_after_the_trial_was_given_up(ledger: Ledger) -> None:
    ledger.end_trial(FIRST, SKIPPED)
    ledger.record_attempt(sample.attempt(TRIALS[0], "a1", adopted=True))
    row = ledger.trials(sample.RUN)[0]
    assert (row.state, row.attempt_id) == ("measured", "a1")
    with pytest.raises(ValueError, match="already"):
        ledger.end_trial(FIRST, SKIPPED)


def test_reopening_plans_again_what_did_not_measure_and_forgets_nothing(ledger: Ledger) -> None:
    ids = [trial.trial_id(sample.RUN) for trial in TRIALS]
    ledger.record_attempt(sample.attempt(TRIALS[0], "a1"))
    ledger.end_trial(ids[1], SKIPPED)
    ledger.end_trial(ids[2], sample.FAILED)
    assert ledger.reopen(ids) == 2
    assert ledger.counts(sample.RUN) == Counts(planned=len(TRIALS), measured=1, failed=0, skipped=0)
    kinds = [(event.kind, event.trial_id, event.detail) for event in ledger.events(sample.RUN)]
    assert ("trial skipped", ids[1], '{"reason":"interrupted","message":""}') in kinds
    assert ("trial reopened", ids[2], "was failed") in kinds


def test_blocks_are_open_until_their_first_ending(ledger: Ledger) -> None:
    ledger.open_block(block("b2", opened_at=sample.START + timedelta(seconds=1)))
    ledger.open_block(block())
    assert ledger.open_blocks(sample.RUN) == [block(), block("b2", opened_at=sample.START + timedelta(seconds=1))]
    ledger.close_block("b1", BlockEnding.DONE, sample.START)
    ledger.close_block("b1", BlockEnding.VANISHED, sample.START)
    assert [one.block_id for one in ledger.open_blocks(sample.RUN)] == ["b2"]
    with pytest.raises(StoreError):
        ledger.open_block(block())
    with pytest.raises(ValueError, match="b9"):
        ledger.close_block("b9", BlockEnding.DONE, sample.START)


def test_epochs_only_rise_also_across_processes(ledger: Ledger, tmp_path: Path) -> None:
    assert [ledger.next_epoch("p"), ledger.next_epoch("p"), ledger.next_epoch("q")] == [1, 2, 1]
    assert ledger.next_epoch("p", at_least=40) == 40
    again = Ledger.open(tmp_path)
    assert again.next_epoch("p", at_least=7) == 41
    again.close()


def test_iterations_are_fixed_once(ledger: Ledger) -> None:
    ledger.set_iterations(sample.RUN, "case", "p", 120)
    ledger.set_iterations(sample.RUN, "case", "p", 120)
    with pytest.raises(ValueError, match="120"):
        ledger.set_iterations(sample.RUN, "case", "p", 121)
    assert ledger.iterations(sample.RUN) == {("case", "p"): 120}


def test_capabilities_are_kept_by_phone_and_binary(ledger: Ledger) -> None:
    ledger.save_capabilities("p", "bin", "{}")
    ledger.save_capabilities("p", "bin", '{"flags":[]}')
    assert ledger.capabilities("p", "bin") == '{"flags":[]}'
    assert ledger.capabilities("p", "other") is None


def test_runs_are_listed_newest_first_with_their_counts(ledger: Ledger) -> None:
    later = sample.START + timedelta(days=1)
    ledger.add_run(replace(sample.contents("0413-quick-zzzz", created_at=later), trials=()))
    ledger.record_attempt(sample.attempt(TRIALS[0], "a1"))
    ledger.set_run_state(sample.RUN, RunState.INTERRUPTED, later)
    newest, older = ledger.runs()
    assert (newest.run.run_id, newest.state, newest.planned, newest.ended_at) == (
        "0413-quick-zzzz", RunState.RUNNING, 0, None,
    )  # fmt: skip
    assert ledger.summary(sample.RUN) == older
    assert (older.state, older.planned, older.measured, older.ended_at) == (RunState.INTERRUPTED, 12, 1, later)
    ledger.set_run_state(sample.RUN, RunState.RUNNING)
    assert ledger.runs()[1].ended_at is None
    assert ledger.run_state(sample.RUN) is RunState.RUNNING
    assert ledger.find_run("@last", later) == "0413-quick-zzzz"
    with pytest.raises(StoreError, match="nobody"):
        ledger.set_run_state("nobody", RunState.FINISHED)


def test_text_that_no_database_takes_is_kept_escaped(ledger: Ledger) -> None:
    contents = sample.contents("0412-odd-bbbb")
    odd = replace(contents.run, note="byte \udcff and nul \0", tags=("\udc80",))
    ledger.add_run(replace(contents, run=odd))
    assert ledger.contents("0412-odd-bbbb").run.note == "byte \\udcff and nul \\x00"
    assert ledger.contents("0412-odd-bbbb").run.tags == ("\\udc80",)
    ledger.record_attempt(sample.attempt(TRIALS[0], "a1", argv=("model\udcff",)))
    assert ledger.attempts(sample.RUN)[0].argv == ("model\\udcff",)


def test_moments_need_a_zone(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="time zone"):
        ledger.set_run_state(sample.RUN, RunState.FINISHED, sample.START.replace(tzinfo=None))
    assert ledger.run_state(sample.RUN) is RunState.RUNNING
