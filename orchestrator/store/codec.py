"""Pure: nouns to JSON text and back, for columns that nobody searches in.

A field that is added to a noun later needs a default, or a migration that fills it in; a field that is gone is ignored.
Numbers that are not finite have no JSON: they become null, and are left out of mappings.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Hashable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from orchestrator.errors import StoreError
from orchestrator.outcome import Failed, Measured, Outcome, Skipped

T = TypeVar("T")
E = TypeVar("E", bound=Enum)

_OUTCOMES: Mapping[str, type[Outcome]] = {"measured": Measured, "failed": Failed, "skipped": Skipped}


def storable(text: str) -> str:
    """`text` as every database takes it: what is no Unicode (names of files) and NUL are written escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")


def plain(value: object) -> object:
    """`value` as JSON data. Raises TypeError for what has no JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, datetime):
        return moment_text(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, Mapping):
        items = ((storable(str(key)), plain(item)) for key, item in value.items())
        return {key: item for key, item in items if item is not None}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    raise TypeError(f"no JSON for {type(value).__name__}")


def to_text(value: object) -> str:
    """`value` as one line of JSON."""
    return json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False)


@cache
def _adapter_of(kind: Hashable) -> TypeAdapter[Any]:
    shape: Any = kind
    return TypeAdapter(shape)


def from_text(kind: type[T], text: str) -> T:
    """The noun that `to_text` wrote. Raises StoreError."""
    try:
        value: T = _adapter_of(cast(Hashable, kind)).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise StoreError(f"a stored {kind.__name__} can't be read: {where}: {first['msg']}") from error
    return value


def outcome_state(outcome: Outcome) -> str:
    """`measured`, `failed` or `skipped`."""
    match outcome:
        case Measured():
            return "measured"
        case Failed():
            return "failed"
        case Skipped():
            return "skipped"


def outcome_from(state: str, text: str) -> Outcome:
    """The outcome that `to_text` wrote, of the kind that `outcome_state` named. Raises StoreError."""
    kind = _OUTCOMES.get(state)
    if kind is None:
        raise StoreError(f"a stored outcome is of no known kind: {str(state)[:80]!r}")
    return from_text(kind, text)


def moment_text(moment: datetime) -> str:
    """UTC, ISO 8601, microseconds: sorts as text. Raises ValueError for a moment without a zone."""
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def moment_from(text: str) -> datetime:
    """The moment that `moment_text` wrote, UTC. Raises StoreError."""
    try:
        moment = datetime.fromisoformat(text)
    except (ValueError, TypeError) as error:
        raise StoreError(f"a stored moment can't be read: {str(text)[:80]!r}") from error
    if moment.tzinfo is None:
        raise StoreError(f"a stored moment has no time zone: {text[:80]!r}")
    return moment


def word_from(kind: type[E], text: str) -> E:
    """The member of an enumeration that `text` is the value of. Raises StoreError."""
    try:
        return kind(text)
    except ValueError as error:
        raise StoreError(f"a stored {kind.__name__} can't be read: {str(text)[:80]!r}") from error
