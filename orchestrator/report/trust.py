"""Pure: what speaks for and against a phone's figures: its canary, what was rejected, and what that changed."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.report.source import Cell, Row, flag, names, number, text
from orchestrator.report.stats import Ratio

FLAT = 0.03
"""A canary that changed by no more than this fraction is flat: it is about what one process differs from the next."""
MIN_CANARIES = 3
"""Fewer than this tell no drift."""
_INVALID, _SUSPECT = "invalid", "suspect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How a phone's canary changed: by how much slower (above 0) or faster its last third was than its first, as a
    fraction, medians of `n` looks in the order in which they were taken."""

    n: int
    change: float

    @property
    def flat(self) -> bool:
        """Whether that is nothing."""
        return abs(self.change) <= FLAT


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejections:
    """Of one setting's timed attempts, or of all of a phone's: how many were judged, suspect, rejected, and why:
    (reason, how often), most first."""

    row: str
    judged: int
    suspect: int
    rejected: int
    reasons: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherAnswer:
    """The answer that would have been given had nothing been rejected: the best row, its ratio, how sure."""

    row: str
    vs_default: Ratio | None
    how_sure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneTrust:
    """What a reader needs to believe one phone's answers. `drift` is None where too few canaries measured, `mute` then
    says why they did not; `rows` are the settings of which something was judged; `unrejected` is there where it
    differs; `around` are words on how the processes ran: cpuset, screen, charging."""

    drift: Drift | None = None
    mute: str = ""
    total: Rejections | None = None
    rows: tuple[Rejections, ...] = ()
    unrejected: OtherAnswer | None = None
    around: tuple[str, ...] = ()


def drift_of(canaries: Sequence[Row]) -> Drift | None:
    """The drift that a phone's canaries tell; None with too few."""
    logs = [math.log(p50_s) for row in canaries if (p50_s := number(row, "p50_s") or 0.0) > 0.0]
    if len(logs) < MIN_CANARIES:
        return None
    third = max(1, len(logs) // 3)
    change = statistics.median(logs[-third:]) - statistics.median(logs[:third])
    return Drift(n=len(logs), change=math.expm1(max(-700.0, min(change, 700.0))))


def why_mute(canaries: Sequence[Row]) -> str:
    """Why a phone has no canary, in the words of its last failure; "" where none failed."""
    return next((text(row, "message") or text(row, "kind") for row in reversed(canaries) if text(row, "kind")), "")


def rejections_of(cell: Cell) -> Rejections:
    """What was judged and rejected of one setting on one phone."""
    judged = [row for row in cell.tries if text(row, "validity")]
    rejected = [row for row in judged if text(row, "validity") == _INVALID]
    return Rejections(
        row=cell.row,
        judged=len(judged),
        suspect=sum(text(row, "validity") == _SUSPECT for row in judged),
        rejected=len(rejected),
        reasons=_counted(Counter(_reason(row) for row in rejected)),
    )


def _reason(row: Row) -> str:
    """The gravest reason of an attempt, without its figures."""
    return next(iter(names(row, "validity_reasons")), _INVALID).partition(":")[0]


def _counted(reasons: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))


def in_all(rows: Sequence[Rejections], cells: Sequence[Cell]) -> Rejections | None:
    """The same of all settings; None where nothing was judged. Its reasons are those of the suspect ones where nothing
    was rejected: they say what the phone does not offer."""
    judged = sum(row.judged for row in rows)
    if not judged:
        return None
    reasons: Counter[str] = Counter()
    for row in rows:
        reasons.update(dict(row.reasons))
    if not reasons:
        suspect = [row for cell in cells for row in cell.tries if text(row, "validity") == _SUSPECT]
        reasons.update(_reason(row) for row in suspect)
    return Rejections(
        row="",
        judged=judged,
        suspect=sum(row.suspect for row in rows),
        rejected=sum(row.rejected for row in rows),
        reasons=_counted(reasons),
    )


def unrejected(cell: Cell) -> Mapping[int, Row]:
    """The attempt of each round that would count if nothing were rejected: the first that measured."""
    found: dict[int, Row] = {}
    for row in cell.tries:
        if (number(row, "p50_s") or 0.0) > 0.0:
            found.setdefault(int(number(row, "round") or 0), row)
    return found


def around_of(cells: Sequence[Cell]) -> tuple[str, ...]:
    """How the counted processes ran, as far as their phone tells it: in which cpuset, with what screen, charging."""
    rows = [row for cell in cells for row in cell.measured.values()]
    cpusets = sorted({text(row, "cpuset") for row in rows} - {""})
    screens = {flag(row, "screen_on_after") for row in rows if row.get("screen_on_after") is not None}
    charging = sorted({text(row, "battery_status_after").lower() for row in rows} - {""})
    words = [f"in cpuset {', '.join(cpusets)}" if cpusets else ""]
    words.append("screen " + " and ".join(sorted("on" if on else "off" for on in screens)) if screens else "")
    words.append(f"battery {', '.join(charging)}" if charging else "")
    return tuple(word for word in words if word)
