"""Pure: the report as JSON, with the fields of `summary` by name. Latencies in seconds, as stored.

`schema` counts up when a field changes its meaning or goes; new fields come without that.
"""

from __future__ import annotations

import dataclasses
import json
import math
from datetime import datetime
from enum import Enum

from orchestrator.report.summary import RunSummary

SCHEMA = 1


def render_json(summary: RunSummary) -> str:
    """One JSON object, ASCII only, keys in the order of the fields, with a newline at its end."""
    return json.dumps({"schema": SCHEMA, **_fields(summary)}, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def plain(value: object) -> object:
    """A value as JSON knows it: dataclasses as objects, enums by value, moments as ISO 8601, no NaN or infinity."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _fields(value: object) -> dict[str, object]:
    return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}  # type: ignore[arg-type]
