"""Where a phone's answer becomes a row: evidence first, then meaning."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from android_runner.block import TrialFolder, TrialTask
from android_runner.errors import ReportUnreadable, RunnerError
from android_runner.validity import Reason, Standing, Validity, judge_validity
from orchestrator.digest import digest_of
from orchestrator.farm.kit import LaneKit, failed
from orchestrator.farm.protocol import Work, WorkEnded
from orchestrator.outcome import Failed, Figures, Measured, rejected
from orchestrator.plan.case import LATENCIES, Purpose
from orchestrator.plan.length import Calibration
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.records import AttemptRecord

if TYPE_CHECKING:
    from android_runner.verdict import Reading


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
    readable = _second_names(folder)
    kept = evidence.keep_many(folder.files)
    outcome, calibration, in_force = _outcome(placed.work, readable)
    work = placed.work
    validity = settled(_validity(placed, folder, kit), outcome)
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
        tuned=kit.tuned,
        virtual=kit.facts.virtual,
        script_digest=kit.materials.script_digest,
        adopted=placed.adopted,
        process=folder.process,
        gate=folder.gate,
        validity=validity.standing.value if validity is not None else "",
        validity_reasons=tuple(f"{reason.value}: {detail}" for reason, detail in _reasons(validity)),
    )
    if record.rejected and isinstance(outcome, Measured):
        outcome = rejected([detail for _, detail in _reasons(validity)])
    return record, WorkEnded(work, outcome, calibration)


def _validity(placed: Placed, folder: TrialFolder, kit: LaneKit) -> Validity | None:
    """What the vitals say of a timed attempt; None for others, whose times nobody compares."""
    if placed.work.purpose not in (Purpose.TIME, Purpose.CANARY):
        return None
    process = folder.process
    if process is not None and kit.facts.virtual:  # the cores that it shows are its profile's, not this computer's
        process = replace(process, online_cpus=())
    return judge_validity(folder.before, folder.after, process, kit.limits, cpu_mask=placed.task.cpu_mask)


def settled(validity: Validity | None, outcome: Measured | Failed) -> Validity | None:
    """The verdict with what the process's own iterations say: one that never became flat is suspect."""
    figures = outcome.figures if isinstance(outcome, Measured) else None
    if validity is None or figures is None or figures.flat is not False:
        return validity
    return replace(
        validity,
        standing=Standing.SUSPECT if validity.standing is Standing.VALID else validity.standing,
        reasons=(*validity.reasons, Reason.NEVER_FLAT),
        details=(*validity.details, "the running median of its iterations never settled"),
    )


def _reasons(validity: Validity | None) -> list[tuple[Reason, str]]:
    """Reasons with their figures, the graver ones first; what only makes it suspect is no reason of an invalid one."""
    return [] if validity is None else list(zip(validity.reasons, validity.details, strict=True))


def _second_names(folder: TrialFolder) -> TrialFolder:
    """The same files under second names: the evidence store moves the first ones away."""
    files = {}
    for name, path in folder.files.items():
        second = path.with_name(f"{path.name}.read")
        os.link(path, second)
        files[name] = second
    return replace(folder, files=files)


def _outcome(work: Work, folder: TrialFolder) -> tuple[Measured | Failed, Calibration | None, Mapping[str, str]]:
    from android_runner.verdict import judge  # noqa: PLC0415 - numpy comes with it

    try:
        reading = judge(
            folder,
            wants_latencies=work.purpose in LATENCIES,
            wants_trace=work.purpose in (Purpose.TRACE, Purpose.VERIFY),
            wants_log=work.purpose is Purpose.INTROSPECT,
        )
    except RunnerError as error:
        return failed(error), None, {}
    if work.purpose is not Purpose.CALIBRATE:
        return Measured(figures=_figures(reading)), None, reading.in_force
    if not reading.iterations or not reading.mean_s:
        return failed(ReportUnreadable("no count or mean in a calibration's output")), None, reading.in_force
    return Measured(figures=None), Calibration(reading.iterations, reading.mean_s), reading.in_force


def _figures(reading: Reading) -> Figures | None:
    if reading.latencies is None:
        return None
    return Figures(**{name: getattr(reading.latencies, name) for name in Figures.__slots__})
