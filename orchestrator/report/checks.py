"""Pure: how far what a case computes on a phone is from what the host expects, from the rows of the frame `checks`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.report.source import Row, flag, number, text

ERROR_NOTE = (
    "error: the largest difference from what this computer expects lies so far below the largest value; 10 dB are a "
    "factor of ten"
)
REFERENCE_NOTE = "cpu_only is the phone's own reference: shown, not ranked"
UNKNOWN = "?"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCheck:
    """One output. `within` is None where it was not checked, and `why` then says why; `error_db` None where it is not
    a number: `difference` is then `equal`, `not finite` or `other shape`."""

    output: str
    within: bool | None
    difference: str
    error_db: float | None
    tolerance_db: float | None
    why: str

    @property
    def words(self) -> str:
        """`34 dB below the signal`, `equal`, `not finite`, `not checked: …`."""
        if self.within is None:
            return f"not checked: {self.why}"
        if self.error_db is None:
            return self.difference
        return f"{abs(self.error_db):.0f} dB {'above' if self.error_db < 0 else 'below'} the signal"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseCheck:
    """One case on one phone; `reference` says that Android's own CPU implementation alone computed it."""

    outputs: tuple[OutputCheck, ...]
    reference: bool

    @property
    def worst(self) -> OutputCheck | None:
        """The checked output that is furthest off its tolerance; None where none was checked."""
        checked = [one for one in self.outputs if one.within is not None]
        return min(checked, key=_room_db, default=None)

    @property
    def within(self) -> bool | None:
        """Whether every output that was checked is; None where none was."""
        return None if self.worst is None else self.worst.within

    @property
    def short(self) -> str:
        """`34 dB` for a column, of the worst output; a mark where nothing is known."""
        worst = self.worst
        if worst is None:
            return UNKNOWN
        return worst.difference if worst.error_db is None else f"{worst.error_db:.0f} dB"

    @property
    def unknown(self) -> str:
        """Why an output was not checked, each reason once; "" where all were."""
        reasons = dict.fromkeys(one.words for one in self.outputs if one.within is None)
        return "; ".join(reasons)

    @property
    def refusal(self) -> str:
        """Why the case may not win, in words; "" where it may."""
        worst = self.worst
        if worst is not None and not worst.within:
            name = f"output {worst.output}: " if len(self.outputs) > 1 else ""
            allowed = f", {worst.tolerance_db:g} dB asked" if worst.tolerance_db is not None else ""
            return f"wrong on this phone: {name}{worst.words}{allowed}"
        return REFERENCE_NOTE if self.reference else ""


def checks_of(rows: Iterable[Row]) -> dict[tuple[str, str], CaseCheck]:
    """By phone and case."""
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        grouped.setdefault((text(row, "phone"), text(row, "case")), []).append(row)
    return {place: _check(own) for place, own in grouped.items()}


def _check(rows: Sequence[Row]) -> CaseCheck:
    return CaseCheck(outputs=tuple(map(_output, rows)), reference=any(flag(row, "reference") for row in rows))


def _output(row: Row) -> OutputCheck:
    checked = flag(row, "checked")
    return OutputCheck(
        output=text(row, "output"),
        within=flag(row, "within") if checked else None,
        difference=text(row, "difference"),
        error_db=number(row, "error_db"),
        tolerance_db=number(row, "tolerance_db"),
        why=text(row, "why"),
    )


def _room_db(one: OutputCheck) -> float:
    """How far above its tolerance an output is; what has no number is either perfect or worse than anything."""
    if one.error_db is None:
        return float("inf") if one.within else float("-inf")
    return one.error_db - (one.tolerance_db or 0.0)
