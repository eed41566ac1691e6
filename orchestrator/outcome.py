"""Pure: how a trial ended. A closed union, matched exhaustively; only `Measured` has figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from android_runner.errors import Blame, Retry


class SkipReason(StrEnum):
    """Why a planned trial was not tried, or not to its end, without anything having failed."""

    RESOLVED_EARLY = "resolved early"
    BUDGET = "budget"
    DEADLINE = "deadline"
    INTERRUPTED = "interrupted"
    PHONE_LOST = "phone lost"
    HELD = "held"
    QUARANTINED = "phone quarantined"


PRINTED_STEP_S = 1e-3
"""perf_test prints the first inference in whole milliseconds, cut off: it is below what is printed and this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one process measured; latencies in seconds over its iterations, but for the first `warm_up_dropped`.

    `flat`: whether the running median settled; None where nobody could tell, or nobody looked (ledgers of old).
    Percentiles are linear interpolations between order statistics (numpy's default, Hyndman and Fan type 7). None
    where the binary's dialect does not tell.
    """

    iterations: int
    p50_s: float
    p90_s: float
    p95_s: float
    p99_s: float
    min_s: float
    max_s: float
    mean_s: float
    session_creation_s: float | None
    first_inference_s: float | None
    peak_working_set_bytes: int | None
    warm_up_dropped: int = 0
    flat: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The trial did what it was for. `figures` is None for a trace and for an introspection."""

    figures: Figures | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """It was tried and did not measure: the kind, who must act, may it be tried again, in which words."""

    kind: str
    blame: Blame
    retry: Retry
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """It was planned and not tried to its end. `message` says more where there is more to say."""

    reason: SkipReason
    message: str = ""


Outcome = Measured | Failed | Skipped

INVALID = "invalid"
"""The kind of a trial of which every attempt was rejected for what its vitals say."""


def rejected(reasons: Sequence[str]) -> Failed:
    """How an attempt that measured counts when its vitals say that it is not to be trusted."""
    return Failed(kind=INVALID, blame=Blame.LAB, retry=Retry.HERE, message=", ".join(reasons) or INVALID)
