"""Pure: what a run says of A beside B, on every phone. The rule is `orchestrator.measure.sequential`'s."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.measure.interval import MIN_ROUNDS
from orchestrator.measure.sequential import Decision, Finding, Looks, pair_logs
from orchestrator.outcome import SkipReason
from orchestrator.plan.case import Side
from orchestrator.report import source
from orchestrator.report.source import Cell, Row, number, rounds_of, text, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class AbSide:
    """A or B: the words that asked for it, and what it turned out to be."""

    side: str
    words: str
    models: tuple[str, ...]
    rows: tuple[str, ...]
    binary_digest: str
    ort_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAnswer:
    """B beside A on one phone. `ratio` is how many times as fast B is, `low` and `high` its interval's ends (None with
    too few pairs), `level` that interval's own confidence; `n` of `common` pairs of rounds made it, of `rounds` that
    were planned. `going_on`: more may come, also by `orch resume`. `reason`: why there is no
    answer.
    """

    pair: str
    phone: str
    label: str
    device_model: str
    virtual: bool
    finding: Finding
    ratio: float | None
    low: float | None
    high: float | None
    level: float | None
    n: int
    common: int
    rounds: int
    a_row: str
    b_row: str
    a_p50_s: float | None
    b_p50_s: float | None
    going_on: bool
    reason: str

    @property
    def name(self) -> str:
        """`B3 Pixel 8`: what a person calls the phone."""
        return " ".join(part for part in (self.label or self.phone, self.device_model) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbAnswer:
    """A held against B: `delta` is the difference that matters, as a fraction, `looks` the numbers of pairs at which
    it was asked whether they decide."""

    delta: float
    looks: tuple[int, ...]
    sides: tuple[AbSide, ...]
    pairs: tuple[PairAnswer, ...]


def ab_answer(
    run: Row, cells: Sequence[Cell], phones: Mapping[str, Row], why_unranked: Mapping[tuple[str, str], str]
) -> AbAnswer | None:
    """What a run's cells say of A and B; None where nothing of the kind was asked. `why_unranked`: by (phone, case) why
    its figures count for nothing."""
    delta, rounds = number(run, "delta"), whole(run, "rounds")
    if delta is None or not 0.0 < delta < 1.0 or not rounds or rounds < 1:
        return None
    looks = Looks(delta, max(rounds, MIN_ROUNDS))
    found: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in cells:
        if cell.side:
            found.setdefault((cell.pair, cell.phone), {})[cell.side] = cell
    pairs = [
        _pair(sides[Side.A], sides[Side.B], looks, phones.get(phone, {}), why_unranked)
        for (_, phone), sides in found.items()
        if len(sides) == len(Side)
    ]
    pairs.sort(key=lambda one: one.virtual)
    return AbAnswer(delta=delta, looks=looks.at, sides=tuple(_sides(run, cells)), pairs=tuple(pairs))


def _sides(run: Row, cells: Sequence[Cell]) -> list[AbSide]:
    words = run.get("sides")
    typed = words if isinstance(words, Mapping) else {}
    sides = []
    for side in Side:
        own = [cell for cell in cells if cell.side == side]
        sides.append(
            AbSide(
                side=side.value,
                words=str(typed.get(side.value, "")),
                models=tuple(dict.fromkeys(cell.model for cell in own)),
                rows=tuple(dict.fromkeys(cell.row for cell in own)),
                binary_digest=next((digest for cell in own if (digest := cell.first("binary_digest"))), ""),
                ort_version=next((version for cell in own if (version := cell.first("ort_version"))), ""),
            )
        )
    return sides


def _pair(a: Cell, b: Cell, looks: Looks, phone: Row, why_unranked: Mapping[tuple[str, str], str]) -> PairAnswer:
    a_s, b_s = rounds_of(a), rounds_of(b)
    going_on = any(map(_may_come, (*a.trials, *b.trials)))
    logs = pair_logs(a_s, b_s)
    told = looks.decide(logs, over=not going_on)
    wrong = [
        f"{side}: {why}"
        for side, cell in zip(Side, (a, b), strict=True)
        if (why := why_unranked.get((cell.phone, cell.case)))
    ]
    finding = Finding.UNDECIDED if wrong else told.finding
    interval = told.interval
    return PairAnswer(
        pair=a.pair,
        phone=a.phone,
        label=text(phone, "label", a.phone),
        device_model=text(phone, "device_model"),
        virtual=source.flag(phone, "virtual"),
        finding=finding,
        ratio=_exp(interval.centre) if interval else None,
        low=_exp(interval.low) if interval else None,
        high=_exp(interval.high) if interval else None,
        level=told.level if interval else None,
        n=interval.n if interval else 0,
        common=len(logs),
        rounds=looks.cap,
        a_row=a.row,
        b_row=b.row,
        a_p50_s=statistics.median(a_s.values()) if a_s else None,
        b_p50_s=statistics.median(b_s.values()) if b_s else None,
        going_on=going_on and not told.resolved,
        reason="; ".join(wrong) or _too_few(told, logs, looks if going_on else None, (a, b)),
    )


def _may_come(trial: Row) -> bool:
    """Whether a trial is still to be measured: open, or left by a Ctrl-C, after which somebody may go on by what he
    sees; budget and deadline were set before anything was seen."""
    state = text(trial, "state")
    return state == "planned" or (state == "skipped" and text(trial, "reason") == SkipReason.INTERRUPTED)


def _too_few(told: Decision, logs: Sequence[float], going_on: Looks | None, both: tuple[Cell, Cell]) -> str:
    """Why there is no interval; "" where there is one."""
    if told.interval is not None:
        return ""
    if going_on is not None:
        return f"{len(logs)} pairs so far, looked at first after {going_on.at[0]}"
    lost = [
        f"{side}: {words}"
        for side, cell in zip(Side, both, strict=True)
        if (words := next((text(row, "message") for row in cell.trials if text(row, "state") == "failed"), ""))
    ]
    return "; ".join([f"{len(logs)} of {MIN_ROUNDS} pairs that are needed", *lost])


def _exp(value: float) -> float:
    """`exp` that stays a finite number above 0, whatever figures a phone sends."""
    return math.exp(min(max(value, -700.0), 700.0))
