"""Many phones, many trials, over time: variants, plans, the farm, the ledger and the report.

`orchestrator.load("@last")` gives a run's results as tidy pandas frames: `.attempts`, `.trials`, `.iterations`,
`.operators`, `.phones`, `.variants`, `.dropped`, `.runs` and more; `orchestrator.COLUMNS` names each frame, and says
what each of its columns holds (docs/data.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.store.columns import COLUMNS
    from orchestrator.store.frames import RunFrames
    from orchestrator.store.load import load

__version__ = "0.1.0"

__all__ = ["COLUMNS", "RunFrames", "__version__", "load"]


def __getattr__(name: str) -> object:
    """`load`, `RunFrames` and `COLUMNS`, brought in when they are asked for: pandas is slow to start."""
    if name == "COLUMNS":
        from orchestrator.store import columns  # noqa: PLC0415

        return columns.COLUMNS
    if name == "RunFrames":
        from orchestrator.store import frames  # noqa: PLC0415

        return frames.RunFrames
    if name == "load":
        from orchestrator.store import load  # noqa: PLC0415

        return load.load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
