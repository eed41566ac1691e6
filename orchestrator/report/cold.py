"""Pure: what a case costs before its first answer: session, first inference, memory; medians over its processes.

perf_test prints the first inference in whole milliseconds, cut off: 0 means "below 1 ms" and is never taken for a
figure. A trace has it to the microsecond, of a process that traces; the two are never mixed.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from orchestrator.outcome import PRINTED_STEP_S
from orchestrator.report.source import Row, number, text

WARM = "warm"
"""`page_cache` of a process before which another one had read the same model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStart:
    """A case's start on a phone; times in seconds, medians over `n` timed processes, each told by it or None.

    `session_creation_s` holds NNAPI's compilation too. `first_inference_s` is what was printed, in whole milliseconds,
    None where that was nothing or 0; `first_inference_below_s` is what it surely is below. `first_inference_traced_s`
    is from a trace, to the microsecond. `peak_memory_bytes` is the largest of perf_test's own, without drivers.
    `warm` of the `n` processes found a model that an earlier process had read: it was in the page cache.
    """

    session_creation_s: float | None
    first_inference_s: float | None
    first_inference_below_s: float | None
    first_inference_traced_s: float | None
    peak_memory_bytes: int | None
    warm: int
    n: int

    @property
    def is_told(self) -> bool:
        """Whether anything is known."""
        told = (self.session_creation_s, self.first_inference_below_s, self.first_inference_traced_s)
        return any(one is not None for one in (*told, self.peak_memory_bytes))


def cold_start(measured: Collection[Row], traced_s: Sequence[float]) -> ColdStart | None:
    """The start of a case by its timed attempts that count, and its first inferences by traces; None without any."""
    if not measured:
        return None
    below = _figures(measured, "first_inference_below_s")
    below_s = statistics.median_low(below) if below else None
    found = ColdStart(
        session_creation_s=_median(_figures(measured, "session_creation_s")),
        first_inference_s=below_s - PRINTED_STEP_S if below_s is not None and below_s > 1.5 * PRINTED_STEP_S else None,
        first_inference_below_s=below_s,
        first_inference_traced_s=_median(traced_s),
        peak_memory_bytes=int(max(peaks)) if (peaks := _figures(measured, "peak_working_set_bytes")) else None,
        warm=sum(text(row, "page_cache") == WARM for row in measured),
        n=len(measured),
    )
    return found if found.is_told else None


def _figures(rows: Collection[Row], key: str) -> list[float]:
    return [value for row in rows if (value := number(row, key)) is not None]


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None
