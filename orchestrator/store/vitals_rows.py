"""Pure: how the phone was around an attempt, how its process was placed, and what follows, as a frame's cells."""

from __future__ import annotations

from dataclasses import asdict

from android_runner.facts import Vitals
from android_runner.residency import residency_loss
from orchestrator.store.records import AttemptRecord


def vitals_cells(when: str, vitals: Vitals | None) -> dict[str, object]:
    """The cells of one snapshot; `when` is `before` or `after`."""
    if vitals is None:
        return {}
    cells = {
        "boot_id": vitals.boot_id,
        "uptime_s": vitals.uptime_s,
        "battery_level": vitals.battery_level,
        "battery_c": vitals.battery_c,
        "battery_current_ua": vitals.battery_current_ua,
        "battery_health": vitals.battery_health,
        "battery_status": vitals.battery_status,
        "thermal_status": vitals.thermal_status,
        "zone_max_c": max(vitals.zones_c.values(), default=None),
        "zones_c": vitals.zones_c or None,
        "load_1m": vitals.load_1m,
        "freq_max_khz": max(vitals.current_freq_khz, default=None),
        "governors": sorted(set(vitals.governors.values())) or None,
        "available_bytes": vitals.available_bytes,
        "screen_on": vitals.screen_on,
        "doze": vitals.doze,
        "shells": None if vitals.shells is None else sorted(vitals.shells),
    }
    return {f"{name}_{when}": value for name, value in cells.items()}


def validity_cells(attempt: AttemptRecord, cpu_mask: int | None) -> dict[str, object]:
    """What its vitals say of an attempt, how its process was placed, how long the phone waited before it.

    `cpu_mask` are the cores that its case is bound to: what other clusters did is not its residency. None: all.
    """
    before, after, gate = attempt.before, attempt.after, attempt.gate
    placed = {} if attempt.process is None else asdict(attempt.process)
    return {
        "validity": attempt.validity or None,
        "validity_reasons": attempt.validity_reasons if attempt.validity else None,
        "residency_loss": _loss(before, after, cpu_mask),
        "gate_waited_s": None if gate is None else gate.waited_s,
        "gate_outcome": None if gate is None else gate.outcome.value,
        "gate_cause": None if gate is None else gate.cause,
        **{name: value or (0 if name == "nice" and value == 0 else None) for name, value in placed.items()},
    }


def _loss(before: Vitals | None, after: Vitals | None, cpu_mask: int | None) -> float | None:
    return None if before is None or after is None else residency_loss(before, after, cpu_mask)
