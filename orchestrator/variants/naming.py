"""Pure: names from files and graphs, made fit to be shown and to name files."""

from __future__ import annotations

from pathlib import Path

_KEPT = "-_.+"
MAX_NAME = 64
MAX_SHOWN = 200


def shown(text: str | Path) -> str:
    """Any text on one line without control characters, at most 200 characters long."""
    clean = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(text))
    return clean if len(clean) <= MAX_SHOWN else clean[: MAX_SHOWN - 1] + "…"


def clean_name(stem: str) -> str:
    """A file's stem as a model's name: letters, digits and `-_.+`, the rest as `_`; no leading dot; never empty."""
    clean = "".join(char if char.isalnum() or char in _KEPT else "_" for char in stem)
    return clean.lstrip(".")[:MAX_NAME] or "model"
