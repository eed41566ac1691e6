"""What attempts left as raw files, read with the parsers of today; the content is held against its digest.

Who wants all or nothing gets EvidenceUnread at the first file that can't be read. Who asks with `lenient` goes on
without it, and `unread` says what was left out.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TypeVar

import numpy as np

from android_runner.assignment import Assignment, assignment_of
from android_runner.block import LOG_FILE
from android_runner.errors import ReportUnreadable
from android_runner.perf_report import MAX_STDOUT_BYTES, Latencies, iteration_lines
from android_runner.result_file import MAX_RESULT_FILE_BYTES, parse_result_file
from android_runner.trace import TraceTable, read_trace_chunks
from orchestrator.errors import StoreError
from orchestrator.store.evidence import EvidenceCleaned, EvidenceStore
from orchestrator.store.records import AttemptRecord, VariantRecord

RESULT_FILE = "result.csv"
_TRACE_CHUNK_BYTES = 1024 * 1024
_Read = TypeVar("_Read")


class EvidenceUnread(StoreError):
    """A file of an attempt is missing, damaged, or nothing that its reader knows."""


class AttemptEvidence:
    """The evidence of a run's attempts. Without `lenient` every method raises EvidenceUnread: which file of which."""

    def __init__(self, evidence: EvidenceStore, *, lenient: bool = False) -> None:
        self._evidence = evidence
        self._lenient = lenient
        self._unread: dict[str, None] = {}
        self._cleaned: dict[str, set[str]] = {}
        self._traces: dict[str, TraceTable | None] = {}

    @property
    def unread(self) -> tuple[str, ...]:
        """What was left out so far, a sentence each; one for all that was cleaned at a time."""
        cleaned = [
            f"{words}: of {len(attempts)} attempt{'s' * (len(attempts) != 1)}"
            for words, attempts in sorted(self._cleaned.items())
        ]
        return (*cleaned, *self._unread)

    def latencies(self, attempt: AttemptRecord) -> Latencies:
        """The latency of each iteration in seconds; none where the attempt kept none."""
        result, stdout = attempt.evidence.get(RESULT_FILE), attempt.evidence.get("stdout")

        def read() -> Latencies:
            if result is not None:
                return parse_result_file(self._evidence.read(result, MAX_RESULT_FILE_BYTES))
            if stdout is not None:
                return iteration_lines(self._evidence.read(stdout, MAX_STDOUT_BYTES))
            return np.array([], dtype=np.float64)

        found = self._tried(attempt, RESULT_FILE if result is not None else "stdout", read)
        return np.array([], dtype=np.float64) if found is None else found

    def said(self, attempt: AttemptRecord) -> Assignment:
        """What the runtime said; an attempt that never came to it has no log, and nothing is known."""
        return assignment_of(self._text(attempt, LOG_FILE), self._text(attempt, "stderr") or b"")

    def _text(self, attempt: AttemptRecord, name: str) -> bytes | None:
        digest = attempt.evidence.get(name)
        return None if digest is None else self._tried(attempt, name, lambda: self._evidence.read(digest))

    def trace(self, attempt: AttemptRecord) -> TraceTable | None:
        """A trace's sums, read once: operators, partitions and checks all ask for them. None: can't be read."""
        if attempt.attempt_id not in self._traces:
            self._traces[attempt.attempt_id] = self.of_trace(attempt, read_trace_chunks)
        return self._traces[attempt.attempt_id]

    def of_trace(self, attempt: AttemptRecord, read: Callable[[Iterable[bytes]], _Read]) -> _Read | None:
        """What `read` makes of a trace's bytes; None where it can't be read."""
        name = trace_name(attempt.evidence)
        if name is None:
            return self._tried(attempt, "its trace", _not_there)
        digest = attempt.evidence[name]
        return self._tried(attempt, name, lambda: read(self._evidence.pieces(digest, _TRACE_CHUNK_BYTES)))

    def leave_out(self, words: str) -> None:
        """Note what is gone on without."""
        self._unread.setdefault(words)

    def _tried(self, attempt: AttemptRecord, name: str, read: Callable[[], _Read]) -> _Read | None:
        try:
            return read()
        except (ReportUnreadable, StoreError, OSError, EOFError, zlib.error) as error:
            words = f"attempt {attempt.attempt_id}: {name} can't be read: {error}"
            if not self._lenient:
                raise EvidenceUnread(words) from error
            if isinstance(error, EvidenceCleaned):
                self._cleaned.setdefault(str(error), set()).add(attempt.attempt_id)
            else:
                self.leave_out(words)
            return None


def _not_there() -> None:
    raise StoreError("it is not in its evidence")


def trace_name(evidence: Iterable[str]) -> str | None:
    """Which of an attempt's files is its trace."""
    return next((name for name in sorted(evidence) if name.endswith(".json")), None)


def cleaned_days(
    cleaned: Mapping[tuple[str, str], datetime], attempts: Iterable[AttemptRecord], variants: Iterable[VariantRecord]
) -> dict[str, str]:
    """By digest the day on which a run's file was cleaned; `cleaned` is when, by phone and case.

    An attempt that came later has its files.
    """
    if not cleaned:
        return {}
    days: dict[str, str] = {}
    for one in attempts:
        at = cleaned.get((one.phone, one.case_id))
        if at is not None and one.recorded_at <= at:
            days |= dict.fromkeys(one.evidence.values(), f"{at:%Y-%m-%d}")
    if (own := cleaned.get(("", ""))) is not None:
        days |= {one.claim_graph: f"{own:%Y-%m-%d}" for one in variants if one.claim_graph}
    return days
