"""Canonical JSON to sha256: the only way an id is made."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

CHUNK_BYTES = 1024 * 1024


def canonical(value: object) -> object:
    """`value` as plain JSON data: dataclasses and mappings as objects, enums by value, sets sorted.

    Raises TypeError for what has no canonical form (floats included: a digest must not depend on their text).
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: canonical(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): canonical(item) for key, item in sorted(value.items(), key=lambda kv: str(kv[0]))}
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((canonical(item) for item in value), key=str)
    raise TypeError(f"no canonical form for {type(value).__name__}")


def digest_of(value: object) -> str:
    """64 hex digits of the sha256 of `value`'s canonical JSON."""
    text = json.dumps(canonical(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_file(path: Path) -> str:
    """64 hex digits of the sha256 of a file's bytes. Raises OSError."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
