"""Pure: whether a row that was asked again says what it said before, within what both can resolve."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from orchestrator.measure.interval import MIN_ROUNDS, difference, interval
from orchestrator.plan.case import Purpose
from orchestrator.report.source import Cell, Row, flag, number, rounds_of, text


class Agreement(StrEnum):
    """What a replay says of its origin."""

    AGREES = "agrees"
    DIFFERS = "differs"
    OTHER_MODEL = "another device model"
    NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The row that is asked again, as it was: `p50s_s` of its valid rounds; `resolves`: the smallest difference that
    its phone could tell in its run, as a fraction; `canary_s`: the median of its phone's canary then."""

    run: str
    phone: str
    label: str
    device_model: str
    fingerprint: str
    model: str
    row: str
    case: str
    virtual: bool
    tuned: bool
    p50s_s: tuple[float, ...]
    resolves: float | None
    canary_s: float | None

    @property
    def name(self) -> str:
        """`0412-quick-7k2f/B3/cpu all`: what names it for `orch show`."""
        return f"{self.run}/{self.label or self.phone}/{self.row}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayAnswer:
    """The same asked again, on one phone. `ratio` is how many times as fast it is now, `low` and `high` the ends of its
    95 % interval; `resolves` the smallest difference that both can tell; `canary` how many times as fast the phone's
    canary is now (None: not known of both). `notes`: what else is not as it was."""

    phone: str
    label: str
    device_model: str
    virtual: bool
    agreement: Agreement
    then_s: float | None
    now_s: float | None
    n_then: int
    n_now: int
    ratio: float | None
    low: float | None
    high: float | None
    resolves: float | None
    canary: float | None
    notes: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A run that asks one row again: of what, and what came of it on each phone."""

    origin: Origin
    answers: tuple[ReplayAnswer, ...]

    @property
    def differs(self) -> bool:
        """Whether a phone of the origin's kind says something else now."""
        return any(one.agreement is Agreement.DIFFERS for one in self.answers)


def origin_as_kept(cell: Cell, facts: Row, resolves: float | None, canaries: Sequence[Row], run: str) -> dict[str, Any]:
    """A row as the run that asks it again keeps it: JSON data. `canaries` are its phone's attempts of that run."""
    return {
        "run": run,
        "phone": cell.phone,
        "label": text(facts, "label", cell.phone),
        "device_model": text(facts, "device_model"),
        "fingerprint": text(facts, "fingerprint"),
        "model": cell.model,
        "row": cell.row,
        "case": cell.case,
        "virtual": flag(facts, "virtual"),
        "tuned": any(flag(row, "tuned") for row in cell.measured.values()),
        "p50s_s": list(rounds_of(cell).values()),
        "resolves": resolves,
        "canary_s": _canary_s(canaries, cell.phone),
    }


def origin_of(kept: object) -> Origin | None:
    """What `origin_as_kept` wrote; None for anything else."""
    if not isinstance(kept, Mapping) or not kept:
        return None
    p50s = kept.get("p50s_s")
    told = [float(one) for one in p50s if isinstance(one, int | float)] if isinstance(p50s, Sequence) else []
    return Origin(
        run=text(kept, "run"),
        phone=text(kept, "phone"),
        label=text(kept, "label"),
        device_model=text(kept, "device_model"),
        fingerprint=text(kept, "fingerprint"),
        model=text(kept, "model"),
        row=text(kept, "row"),
        case=text(kept, "case"),
        virtual=flag(kept, "virtual"),
        tuned=flag(kept, "tuned"),
        p50s_s=tuple(one for one in told if 0.0 < one < math.inf),
        resolves=number(kept, "resolves"),
        canary_s=number(kept, "canary_s"),
    )


def replay_of(run: Row, cells: Sequence[Cell], phones: Mapping[str, Row], attempts: Sequence[Row]) -> Replay | None:
    """What a run says of the row that it asks again; None where it is no replay."""
    origin = origin_of(run.get("origin"))
    if origin is None:
        return None
    canaries = [row for row in attempts if text(row, "purpose") == Purpose.CANARY]
    answers = [_answer(origin, cell, phones.get(cell.phone, {}), canaries) for cell in cells]
    return Replay(origin=origin, answers=tuple(answers))


def _canary_s(canaries: Sequence[Row], phone: str) -> float | None:
    own = [value for row in canaries if text(row, "phone") == phone and (value := number(row, "p50_s") or 0.0) > 0.0]
    return statistics.median(own) if own else None


def _answer(origin: Origin, cell: Cell, facts: Row, canaries: Sequence[Row]) -> ReplayAnswer:
    now = list(rounds_of(cell).values())
    then_logs, now_logs = ([math.log(one) for one in values] for values in (origin.p50s_s, now))
    enough = min(len(then_logs), len(now_logs)) >= MIN_ROUNDS
    found = difference(then_logs, now_logs) if enough else None
    resolves = max(origin.resolves or _own(then_logs), _own(now_logs)) if enough else None
    device_model = text(facts, "device_model")
    canary_s = _canary_s(canaries, cell.phone)
    same = cell.phone == origin.phone
    agreement = Agreement.NO_ANSWER
    if found is not None and resolves is not None:
        within = max(abs(found.low), abs(found.high)) <= math.log1p(resolves)
        agreement = Agreement.AGREES if found.low <= 0.0 <= found.high or within else Agreement.DIFFERS
        agreement = agreement if device_model == origin.device_model else Agreement.OTHER_MODEL
    return ReplayAnswer(
        phone=cell.phone,
        label=text(facts, "label", cell.phone),
        device_model=device_model,
        virtual=flag(facts, "virtual"),
        agreement=agreement,
        then_s=statistics.median(origin.p50s_s) if origin.p50s_s else None,
        now_s=statistics.median(now) if now else None,
        n_then=len(then_logs),
        n_now=len(now_logs),
        ratio=_exp(found.centre) if found else None,
        low=_exp(found.low) if found else None,
        high=_exp(found.high) if found else None,
        resolves=resolves,
        canary=origin.canary_s / canary_s if same and origin.canary_s and canary_s else None,
        notes=tuple(_notes(origin, cell, facts)),
        reason=_too_few(origin, cell, len(now)) if not enough else "",
    )


def _own(logs: Sequence[float]) -> float:
    """The smallest difference that rounds like these could tell, held against as many of the same kind: the half-width
    of their own interval, twice in quadrature."""
    return math.expm1(min(math.sqrt(2.0) * interval(logs).half, 700.0))


def _notes(origin: Origin, cell: Cell, facts: Row) -> list[str]:
    """What is not as it was, though the same was asked."""
    notes = []
    if cell.phone != origin.phone and text(facts, "device_model") == origin.device_model:
        notes.append(f"another phone of the same device model ({origin.label or origin.phone} then)")
    if cell.phone == origin.phone and text(facts, "fingerprint") != origin.fingerprint:
        notes.append("its fingerprint has changed since: another build of Android")
    tuned = any(flag(row, "tuned") for row in cell.measured.values())
    if tuned != origin.tuned:
        notes.append("tuned then, stock now" if origin.tuned else "stock then, tuned now")
    return notes


def _too_few(origin: Origin, cell: Cell, n: int) -> str:
    if len(origin.p50s_s) < MIN_ROUNDS:
        return f"{len(origin.p50s_s)} valid rounds then, {MIN_ROUNDS} are needed"
    why = next((text(row, "message") for row in cell.trials if text(row, "state") == "failed"), "")
    return f"{n} valid rounds now, {MIN_ROUNDS} are needed" + (f": {why}" if why else "")


def _exp(value: float) -> float:
    return math.exp(min(max(value, -700.0), 700.0))
