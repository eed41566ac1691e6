"""Frames as files: CSV for spreadsheets, Parquet for programs. One file a frame, whole or not at all."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from orchestrator.errors import Problem, StoreError, UsageError
from orchestrator.store.codec import plain
from orchestrator.store.columns import COLUMNS
from orchestrator.store.frames import RunFrames

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes text that begins so for a formula (OWASP, CSV injection)."""


def harmless(text: str) -> str:
    """`text` as a spreadsheet shows it: what would be a formula gets a leading apostrophe.

    A carriage return becomes a line feed: pandas does not quote it alone, and readers would see a new row in it.
    """
    marked = f"'{text}" if text.startswith(FORMULA_SIGNS) else text
    return marked.replace("\r\n", "\n").replace("\r", "\n")


def write_csv(frames: RunFrames, folder: Path) -> list[Path]:
    """`<frame>.csv` for every frame, UTF-8, lists as JSON; the files written. Raises StoreError."""

    def write(frame: pd.DataFrame, path: Path) -> None:
        for name in frame.columns:
            if frame[name].dtype == "string":
                frame[name] = frame[name].map(harmless, na_action="ignore")
        frame.to_csv(path, index=False, lineterminator="\n", encoding="utf-8", date_format="%Y-%m-%dT%H:%M:%S.%fZ")

    return _write_all(frames, folder, "csv", write)


def write_parquet(frames: RunFrames, folder: Path) -> list[Path]:
    """`<frame>.parquet` for every frame, lists as JSON; the files written.

    Raises UsageError without pyarrow, StoreError when a file can't be written.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise UsageError(Problem("--format parquet", "pyarrow is not installed", "pip install 'orch[parquet]'"))

    def write(frame: pd.DataFrame, path: Path) -> None:
        frame.to_parquet(path, engine="pyarrow", index=False)

    return _write_all(frames, folder, "parquet", write)


def _write_all(frames: RunFrames, folder: Path, suffix: str, write: Callable[[pd.DataFrame, Path], None]) -> list[Path]:
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in COLUMNS:
            target = folder / f"{name}.{suffix}"
            part = folder / f".{name}.{os.getpid()}.{suffix}"
            try:
                write(_flat(name, getattr(frames, name)), part)
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)
            written.append(target)
    except OSError as error:
        raise StoreError(f"{folder}: can't be written: {error.strerror or error}") from error
    return written


def _flat(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """A copy whose lists are JSON text."""
    flat = frame.copy()
    for column, meaning in COLUMNS[name].items():
        if meaning.kind == "list":
            flat[column] = pd.Series([_json(value) for value in frame[column]], dtype="string", index=frame.index)
    return flat


def _json(value: object) -> str | None:
    """Pairs (`(("Conv", 2), …)`) and mappings as objects, the rest as arrays; None where nothing is said."""
    if not isinstance(value, (Mapping, tuple, list)):
        return None
    pairs = bool(value) and all(isinstance(one, tuple) and len(one) == 2 for one in value)
    return json.dumps(plain(dict(value) if pairs else value), ensure_ascii=False)
