"""Pure: gates on a comparison: `p50:5%` fails a case whose p50 surely grew, and by more than 5 %."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.errors import Problem, UsageError
from orchestrator.measure.contrast import Contrast, Sides, Word, contrasts
from orchestrator.report.comparison.meeting import Pair
from orchestrator.report.comparison.nouns import GateResult, GateWord, NotCompared
from orchestrator.report.source import number, text

COLUMNS = {
    "p50": "p50_s",
    "p90": "p90_s",
    "p99": "p99_s",
    "session": "session_creation_s",
    "first": "first_inference_s",
    "peak": "peak_working_set_bytes",
}
"""Metrics of every round."""
SIZE, MISSING = "size", "missing"
_FORM = re.compile(r"(\w+):(\d+(?:\.\d+)?)\s*%")
MAX_PERCENT = 10_000


@dataclass(frozen=True, slots=True)
class Gate:
    """A pass/fail rule: a metric, and by how much of BASE's figure it may grow. `written` is how it was asked for."""

    metric: str
    limit: float
    written: str


def parse_gate(written: str) -> Gate:
    """`p50:5%`, `size:1%`, `missing`. Raises UsageError."""
    if written.strip() == MISSING:
        return Gate(MISSING, 0.0, MISSING)
    found = _FORM.fullmatch(written.strip())
    known = [*COLUMNS, SIZE]
    if found is None or found[1] not in known or float(found[2]) > MAX_PERCENT:
        raise UsageError(
            Problem(
                f"--fail-if {written}", "is no gate", f"METRIC:PERCENT%, METRIC one of {', '.join(known)}; or missing"
            )
        )
    return Gate(found[1], float(found[2]) / 100, f"{found[1]}:{found[2]}%")


def parse_share(written: str, option: str) -> float:
    """`2%` or `0.02` as a fraction above 0 and below 1. Raises UsageError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", written.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0.0 < share < 1.0:
        raise UsageError(Problem(f"{option} {written}", "is no share between 0 and 100 %", f"{option} 2%"))
    return share


@dataclass(frozen=True, slots=True)
class Judged:
    """What gates are judged by: the pairs, how a pair's figures become `Sides`, the size of each variant by id, delta,
    and what tempers a verdict."""

    pairs: Sequence[Pair]
    sides: Callable[[Pair, str], Sides]
    sizes: Sequence[tuple[float | None, float | None]]
    delta: float
    temper: Callable[[Pair, Contrast], tuple[Word, str]]


def gate_results(gates: Sequence[Gate], judged: Judged, lone: Sequence[NotCompared]) -> list[GateResult]:
    """Every gate on every case, gate by gate."""
    results: list[GateResult] = []
    for gate in gates:
        if gate.metric == MISSING:
            results += [_missing(one) for one in lone if one.lost]
            results += [_result(gate, pair, GateWord.PASSED, "measured") for pair in judged.pairs]
        elif gate.metric == SIZE:
            results += [_size(gate, pair, *sizes) for pair, sizes in zip(judged.pairs, judged.sizes, strict=True)]
        else:
            results += _of_rounds(gate, judged)
    return results


def _of_rounds(gate: Gate, judged: Judged) -> list[GateResult]:
    """A gate on what every round measured; `same` is at most its limit, so that one below delta still bites."""
    sides = [judged.sides(pair, COLUMNS[gate.metric]) for pair in judged.pairs]
    told = contrasts(sides, delta=min(judged.delta, gate.limit))
    return [_timed(gate, pair, one, *judged.temper(pair, one)) for pair, one in zip(judged.pairs, told, strict=True)]


def _timed(gate: Gate, pair: Pair, told: Contrast, word: Word, why: str) -> GateResult:
    if told.found is None:
        return _result(gate, pair, GateWord.NOT_TOLD, "fewer than 3 rounds with a figure on a side")
    limit = math.log1p(gate.limit)
    low, centre, high = (math.expm1(one) for one in (told.found.low, told.found.centre, told.found.high))
    figures = f"{gate.metric} {_signed(centre)} ({_signed(low)} … {_signed(high)})"
    if word is Word.SLOWER and told.found.centre > limit:
        return _result(gate, pair, GateWord.FAILED, figures)
    if told.found.high > limit and word in (Word.UNDECIDED, Word.INSUFFICIENT):
        return _result(gate, pair, GateWord.NOT_TOLD, f"{figures}, {why or word}")
    return _result(gate, pair, GateWord.PASSED, figures)


def _size(gate: Gate, pair: Pair, base: float | None, new: float | None) -> GateResult:
    if not base or new is None:
        return _result(gate, pair, GateWord.NOT_TOLD, "size not known")
    grown = new / base - 1
    word = GateWord.FAILED if grown > gate.limit else GateWord.PASSED
    return _result(gate, pair, word, f"size {_signed(grown)}")


def _missing(one: NotCompared) -> GateResult:
    return GateResult(
        gate=MISSING, label=one.label, model=one.model, row=one.row, word=GateWord.FAILED, words=one.reason
    )


def _result(gate: Gate, pair: Pair, word: GateWord, words: str) -> GateResult:
    row = pair.row if pair.row == pair.new_row else f"{pair.row} → {pair.new_row}"
    return GateResult(
        gate=gate.written, label=pair.base.label, model=pair.base.cell.model, row=row, word=word, words=words
    )


def _signed(share: float) -> str:
    return f"{'−' if share < 0 else '+'}{abs(share) * 100:.1f} %"


def sizes_of(pair: Pair, base: Mapping[str, object], new: Mapping[str, object]) -> tuple[float | None, float | None]:
    """The bytes of a pair's variants, from their rows."""
    known = text(base, "variant") and text(new, "variant")
    return (number(base, "size_bytes"), number(new, "size_bytes")) if known else (None, None)
