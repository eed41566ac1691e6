"""Rows as frames with exactly the columns that the dictionary declares, each of its kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from orchestrator.store.columns import COLUMNS
from orchestrator.store.frame_rows import Cells
from orchestrator.store.meaning import ColumnMeaning

_DTYPES = {"text": "string", "int": "Int64", "float": "float64", "flag": "boolean"}


def frame_of(name: str, rows: Iterable[Cells]) -> pd.DataFrame:
    """Rows as a frame with exactly the columns of `COLUMNS[name]`."""
    columns = COLUMNS[name]
    listed = list(rows)
    return typed({column: [row.get(column) for row in listed] for column in columns}, columns)


def typed(cells: Mapping[str, object], columns: Mapping[str, ColumnMeaning]) -> pd.DataFrame:
    """Whole columns as a frame."""
    return pd.DataFrame({name: _series(cells[name], meaning.kind) for name, meaning in columns.items()})


def _series(values: object, kind: str) -> pd.Series:
    if kind == "moment":
        return pd.Series(pd.to_datetime(list(values), utc=True)).astype("datetime64[us, UTC]")  # type: ignore[call-overload]
    return pd.Series(values, dtype=_DTYPES.get(kind, "object"))
