"""Pure: what a phone's sensors say of it; some are missing, some lie."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Sensor(StrEnum):
    """What a phone may not offer, or lie about; the value is the field of `Readings`."""

    BATTERY_TEMPERATURE = "battery_c"
    BATTERY_CURRENT = "battery_current_ma"
    ZONES = "zones_c"
    THERMAL_STATUS = "thermal_status"
    CLOCKS = "clock"
    RESIDENCY = "residency_s"


class Honesty(StrEnum):
    """How a sensor is: a lying one says for ever what it said when the phone was cold."""

    HONEST = "honest"
    MISSING = "missing"
    LYING = "lying"


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """What can be read of a phone at one moment; None: not offered.

    `clock` is the share of the top clock, `residency_s` seconds spent at each such share since the boot,
    `battery_current_ma` flows into the battery.
    """

    battery_level: int
    battery_c: float | None = None
    battery_current_ma: float | None = None
    zones_c: Mapping[str, float] | None = field(default_factory=dict)
    thermal_status: int | None = None
    clock: float | None = None
    residency_s: Mapping[float, float] | None = field(default_factory=dict)


def shown(truth: Readings, cold: Readings, honesty: Mapping[Sensor, Honesty]) -> Readings:
    """What the sensors make of the truth; `cold` is how the phone was at its boot.

    A residency that lies counts the true time, all of it at the top clock, as a phone does whose governor's limits
    are not the kernel's own.
    """
    said: dict[str, object] = {}
    for sensor, how in honesty.items():
        if how is Honesty.MISSING:
            said[sensor.value] = None
        elif how is Honesty.LYING and sensor is Sensor.RESIDENCY:
            said[sensor.value] = {1.0: sum((truth.residency_s or {}).values())}
        elif how is Honesty.LYING:
            said[sensor.value] = getattr(cold, sensor.value)
    return dataclasses.replace(truth, **said)  # type: ignore[arg-type]  # the names are the fields
