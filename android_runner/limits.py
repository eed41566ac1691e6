"""A `[limits]` table, of a device profile or a plan: what it changes of the limits that attempts are judged by.

A figure replaces the one below it, `false` switches a rule off, a key that is not there changes nothing. Defaults lie
in `android_runner.validity`; a profile's table goes over them, a plan's table over that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from android_runner.validity import Limits

_Celsius = Annotated[float, Field(ge=-20, le=120)]
_Off = Literal[False]


@dataclass(frozen=True, kw_only=True, config=ConfigDict(strict=True, extra="forbid"))
class LimitsTable:
    """The keys of a table, as in `validity.Limits` with its units; None: not there."""

    max_battery_c: _Celsius | _Off | None = None
    max_zone_c: _Celsius | _Off | None = None
    min_battery_level: Annotated[int, Field(ge=0, le=100)] | _Off | None = None
    battery_hysteresis: Annotated[int, Field(ge=0, le=100)] | None = None
    max_load: Annotated[float, Field(ge=0, le=1000)] | _Off | None = None
    max_status: Annotated[int, Field(ge=0, le=6)] | _Off | None = None
    max_residency_loss: Annotated[float, Field(ge=0, le=1)] | _Off | None = None
    max_rise_c: Annotated[float, Field(ge=0, le=100)] | _Off | None = None
    flat_c: Annotated[float, Field(ge=0.001, le=100)] | None = None
    flat_window_s: Annotated[int, Field(ge=1, le=86_400)] | None = None
    gate_timeout_s: Annotated[int, Field(ge=0, le=86_400)] | None = None

    def changes(self) -> dict[str, Any]:
        """What the table says, by key; `false` where a rule is off."""
        said = {name: getattr(self, name) for name in LimitsTable.__dataclass_fields__}
        return {name: value for name, value in said.items() if value is not None}

    def over(self, limits: Limits) -> Limits:
        """The limits with this table's changes."""
        changed: dict[str, Any] = {n: None if value is False else value for n, value in self.changes().items()}
        return replace(limits, **changed)
