"""Where a phone's answer becomes a row: evidence first, then meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from android_runner.block import TrialFolder, TrialTask
from android_runner.errors import ReportUnreadable, RunnerError
from android_runner.verdict import Reading, TrialEnd, judge
from orchestrator.digest import digest_of
from orchestrator.farm.kit import RESULT_FILE, TRACE_PREFIX, LaneKit, failed
from orchestrator.farm.protocol import Work, WorkEnded
from orchestrator.outcome import Failed, Figures, Measured
from orchestrator.plan.case import Purpose
from orchestrator.plan.length import Calibration
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.records import AttemptRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A piece of work in its block: what the phone was told, under which epoch, as the how-manieth try."""

    work: Work
    task: TrialTask
    block_id: str
    epoch: int
    adopted: bool = False


def attempt_of(
    placed: Placed, folder: TrialFolder, kit: LaneKit, evidence: EvidenceStore, recorded_at: datetime
) -> tuple[AttemptRecord, WorkEnded]:
    """Keep what came back, then read it. Only then is there an outcome; a broken reading is a failed attempt.

    Raises StoreError when the evidence can't be kept: nothing is then recorded of the attempt.
    """
    kept: Mapping[str, str] = evidence.keep_many(folder.files)
    outcome, calibration, in_force = _outcome(placed.work, folder)
    work = placed.work
    record = AttemptRecord(
        attempt_id=digest_of([placed.block_id, placed.task.task_id])[:20],
        trial_id=work.trial.trial_id if work.trial is not None else "",
        run_id=kit.materials.run_id,
        case_id=work.case_id,
        phone=kit.phone,
        fingerprint=kit.facts.fingerprint,
        purpose=work.purpose.value,
        round=work.round,
        position=work.position,
        number=0,
        block_id=placed.block_id,
        epoch=placed.epoch,
        recorded_at=recorded_at,
        argv=tuple(str(word) for word in placed.task.argv),
        iterations_asked=work.iterations,
        exit_code=folder.exit_code,
        ending=folder.ending.value,
        started_uptime_s=folder.started_uptime_s,
        ended_uptime_s=folder.ended_uptime_s,
        slot_wait_s=folder.slot_wait_s,
        before=folder.before,
        after=folder.after,
        outcome=outcome,
        evidence=kept,
        in_force=in_force,
        virtual=kit.facts.virtual,
        script_digest=kit.materials.script_digest,
        adopted=placed.adopted,
    )
    return record, WorkEnded(work, outcome, calibration)


def _outcome(work: Work, folder: TrialFolder) -> tuple[Measured | Failed, Calibration | None, Mapping[str, str]]:
    timed = work.purpose is Purpose.TIME
    end = TrialEnd(
        ending=folder.ending,
        exit_code=folder.exit_code,
        stdout=_bytes(folder, "stdout"),
        stderr=_bytes(folder, "stderr"),
        result_file=_bytes(folder, RESULT_FILE) if timed and RESULT_FILE in folder.files else None,
        timed=timed,
    )
    reading = judge(end)
    if isinstance(reading, RunnerError):
        return failed(reading), None, {}
    report = reading.report
    if timed:
        return Measured(figures=_figures(reading)), None, report.in_force
    if work.purpose is Purpose.CALIBRATE:
        if report.iterations is None or report.mean_s is None:
            return failed(ReportUnreadable("no count or mean in a calibration's output")), None, report.in_force
        return Measured(figures=None), Calibration(report.iterations, report.mean_s), report.in_force
    if not any(name.startswith(TRACE_PREFIX) for name in folder.files):
        return failed(ReportUnreadable("no trace was written")), None, report.in_force
    return Measured(figures=None), None, report.in_force


def _bytes(folder: TrialFolder, name: str) -> bytes:
    """A raw file's bytes; nothing where the phone has none. Its size was bounded when it was pulled."""
    path = folder.files.get(name)
    return path.read_bytes() if path is not None else b""


def _figures(reading: Reading) -> Figures | None:
    if reading.figures is None:
        return None
    return Figures(**{name: getattr(reading.figures, name) for name in Figures.__slots__})
