"""Pure: gates on A beside B: `p50:5%` fails a pair in which B is surely slower, and by more than 5 %."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.errors import Problem, UsageError
from orchestrator.measure.sequential import Finding
from orchestrator.report.ab import PairAnswer
from orchestrator.report.comparison.nouns import GateResult, GateWord
from orchestrator.report.numbers import finely

_FORM = re.compile(r"p50:(\d{1,5}(?:\.\d{1,6})?)\s*%")


def limit_of(written: str) -> float:
    """By how much of A's p50 that of B may be larger, as a fraction. Raises UsageError."""
    found = _FORM.fullmatch(written.strip())
    if found is None:
        mend = "p50:5%; other metrics are judged by orch compare, on what was measured"
        raise UsageError(Problem(f"--fail-if {written}", "is no gate of orch ab", mend))
    return float(found[1]) / 100


def ab_gates(gates: Sequence[str], pairs: Sequence[PairAnswer]) -> tuple[GateResult, ...]:
    """Every gate on every pair, gate by gate. Raises UsageError for what is no gate."""
    return tuple(_judged(gate, limit_of(gate), pair) for gate in gates for pair in pairs)


def _judged(gate: str, limit: float, pair: PairAnswer) -> GateResult:
    word, words = GateWord.NOT_TOLD, pair.reason or "too few pairs"
    if pair.ratio is not None and pair.low is not None and pair.high is not None and not pair.reason:
        longer, least, most = 1 / pair.ratio - 1, 1 / pair.high - 1, 1 / pair.low - 1
        words = f"p50 {_signed(longer)} ({_signed(least)} … {_signed(most)})"
        if pair.finding is Finding.SLOWER and longer > limit:
            word = GateWord.FAILED
        elif pair.finding is not Finding.UNDECIDED or most <= limit:
            word = GateWord.PASSED
    return GateResult(
        gate=gate, label=pair.label, model=pair.pair, row=f"{pair.a_row} → {pair.b_row}", word=word, words=words
    )


def _signed(share: float) -> str:
    return f"{'−' if share < 0 else '+'}{finely(abs(share))}"
