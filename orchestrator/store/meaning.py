"""Pure: what is said of a column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class ColumnMeaning(NamedTuple):
    """A column: its unit (empty for what has none), what it holds, and as which kind (`columns` names them)."""

    unit: str
    meaning: str
    kind: str = "text"


Columns = Mapping[str, ColumnMeaning]
