"""Where a phone hung in a run, and what its battery asks of a person, as cells of a frame."""

from __future__ import annotations

from collections.abc import Sequence

from android_runner.battery import BatteryReading, battery_care, capacity, falling
from android_runner.facts import Vitals
from orchestrator.store.battery_log import BatteryLog
from orchestrator.store.records import AttemptRecord


def battery_cells(readings: Sequence[BatteryReading], attempts: Sequence[AttemptRecord]) -> dict[str, object]:
    """Of one phone: its readings up to this run's, oldest first, and the run's attempts in their order."""
    if not readings:
        return {}
    place = readings[-1].place
    held = capacity(readings)
    fell = _fell(attempts, place)
    return {
        "place": place or None,
        "battery_capacity": held[0] if held is not None else None,
        "battery_care": [*([fell] if fell else []), *battery_care(readings)] or None,
    }


def with_batteries(
    rows: Sequence[dict[str, object]], run_id: str, log: BatteryLog, attempts: Sequence[AttemptRecord]
) -> list[dict[str, object]]:
    """Rows of a run's phones with what is known of their batteries."""
    return [
        row | battery_cells(log.of(phone, up_to_run=run_id), [one for one in attempts if one.phone == phone])
        for row in rows
        for phone in [str(row["phone"])]
    ]


def _fell(attempts: Sequence[AttemptRecord], place: str) -> str:
    known: list[tuple[AttemptRecord, Vitals]] = [
        (attempt, vitals)
        for attempt in attempts
        for vitals in (attempt.before, attempt.after)
        if vitals is not None and vitals.battery_level is not None and vitals.uptime_s is not None
    ]
    if not known:
        return ""
    (first, before), (last, after) = known[0], known[-1]
    took_s = (last.recorded_at - first.recorded_at).total_seconds()
    if before.boot_id == after.boot_id:
        took_s = (after.uptime_s or 0.0) - (before.uptime_s or 0.0)
    return falling(before.battery_level, after.battery_level, took_s, place)
