"""Pure: how often a block is looked at, how long its phone is waited for, how long it took."""

from __future__ import annotations

from dataclasses import replace

from android_runner.block import BlockReport
from android_runner.recovery.climb import Patience
from android_runner.run import Pace
from orchestrator.farm.messages import BlockOrder
from orchestrator.plan.case import Purpose

CALIBRATION_POLL_S = 0.02
"""Calibrations are over in no time, and nobody ranks them: the phone may be asked often."""


def pace_of(order: BlockOrder, patience: Patience) -> Pace:
    """How a block is followed."""
    usual = Pace(answer_s=patience.answer_s, lost_after_s=patience.lost_after_s)
    calibrates = all(work.purpose is Purpose.CALIBRATE for work in order.works)
    return replace(usual, poll_s=CALIBRATION_POLL_S) if calibrates else usual


def took_s(report: BlockReport) -> float:
    """From the first start to the last end, on the phone's clock; 0 when nothing ended."""
    starts = [folder.started_uptime_s for folder in report.folders if folder.started_uptime_s is not None]
    ends = [folder.ended_uptime_s for folder in report.folders if folder.ended_uptime_s is not None]
    return max(0.0, max(ends) - min(starts)) if starts and ends else 0.0
