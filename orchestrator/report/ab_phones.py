"""Pure: a phone's own answer in a run that holds A against B says the same as the pair does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from orchestrator.measure.sequential import Finding
from orchestrator.report.ab import AbAnswer, PairAnswer
from orchestrator.report.stats import Ratio, Sureness, Verdict
from orchestrator.report.summary import PhoneAnswer, SettingRow


def as_pairs_say(phone: PhoneAnswer, answer: AbAnswer | None) -> PhoneAnswer:
    """The phone's rows with the pair's ratio, its ranks and its verdict in place of those that fixed rounds would have.

    Where A and B are two models each has one row: the verdict says where both are told.
    """
    if answer is None:
        return phone
    names = {row.row for row in phone.rows}
    own = [one for one in answer.pairs if one.phone == phone.phone and names & {one.a_row, one.b_row}]
    pair = next((one for one in own if names >= {one.a_row, one.b_row}), None)
    if pair is None:
        words = "A and B are two models: see A beside B" if own else phone.verdict.reason
        return replace(phone, verdict=Verdict(sureness=Sureness.NO_ANSWER, reason=words), best=None)
    rows = [_row(row, pair) for row in phone.rows]
    decided = pair.finding in (Finding.FASTER, Finding.SLOWER)
    winner = pair.b_row if pair.finding is Finding.FASTER else pair.a_row
    if decided:
        rows.sort(key=lambda row: row.row != winner)
    best = next((row for row in rows if row.row == winner), None) if decided else phone.best
    return replace(phone, rows=tuple(rows), best=_found(rows, best), verdict=_verdict(pair))


def _found(rows: Sequence[SettingRow], best: SettingRow | None) -> SettingRow | None:
    return None if best is None else next((row for row in rows if row.row == best.row), None)


def _row(row: SettingRow, pair: PairAnswer) -> SettingRow:
    if row.row not in (pair.a_row, pair.b_row) or row.rank is None:
        return row
    winner = {Finding.FASTER: pair.b_row, Finding.SLOWER: pair.a_row}.get(pair.finding)
    rank = 1 if winner in (None, row.row) else 2
    versus = _ratio(pair) if row.row == pair.b_row else None
    return replace(row, rank=rank, shared=winner is None, vs_default=versus, resolves=None)


def _ratio(pair: PairAnswer) -> Ratio | None:
    if pair.ratio is None or pair.low is None or pair.high is None:
        return None
    resolves = math.expm1((math.log(pair.high) - math.log(pair.low)) / 2)
    return Ratio(value=pair.ratio, low=pair.low, high=pair.high, n=pair.n, resolves=resolves)


def _verdict(pair: PairAnswer) -> Verdict:
    if pair.ratio is None or pair.reason:
        return Verdict(sureness=Sureness.NO_ANSWER, reason=pair.reason)
    if pair.finding in (Finding.FASTER, Finding.SLOWER):
        return Verdict(sureness=Sureness.SURE)
    return Verdict(sureness=Sureness.TIE, ties=1, reason=pair.finding.value)
