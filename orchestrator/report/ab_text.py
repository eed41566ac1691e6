"""Pure: A beside B in words: a sentence for the whole, a line a phone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from orchestrator.measure.sequential import Finding
from orchestrator.report.ab import AbAnswer, AbSide, PairAnswer
from orchestrator.report.blocks import Block, Table, Words
from orchestrator.report.comparison.nouns import GateResult
from orchestrator.report.lines import Line, joined, line, paragraph
from orchestrator.report.numbers import NOTHING, decimals_for, finely, ms, percent, plural
from orchestrator.report.sentence import VIRTUAL

_DOUBLE = 2.0
"""From here on it is said how many times as fast, not by how many per cent."""
HEADS = ("phone", "model", "B beside A", "A ms", "B ms", "pairs")


def pair_words(one: PairAnswer, delta: float) -> str:
    """`B is 3.1 % faster (2.2 … 4.0 %)`, `same within ± 2.0 %`, `undecided: …`, `no answer: …`."""
    if one.ratio is None or one.low is None or one.high is None:
        return f"{'not decided yet' if one.going_on else 'no answer'}: {one.reason}"
    if one.reason:
        return f"no answer: {one.reason}; by its figures B is {_between(one.low, one.high)}"
    match one.finding:
        case Finding.FASTER:
            return f"B is {_by(one.ratio, one.low, one.high, 'faster')}"
        case Finding.SLOWER:
            return f"B is {_by(1 / one.ratio, 1 / one.high, 1 / one.low, 'slower')}"
        case Finding.SAME:
            return f"same within ± {percent(delta)}: B is {_between(one.low, one.high)}"
        case _:
            more = "not decided yet" if one.going_on else "undecided"
            return f"{more}: B is {_between(one.low, one.high)}"


def _by(ratio: float, low: float, high: float, word: str) -> str:
    if ratio >= _DOUBLE:
        return f"{ratio:.2f}× as {'fast' if word == 'faster' else 'slow'} ({low:.2f} … {high:.2f}×)"
    first = finely(low - 1.0).removesuffix(" %")
    return f"{finely(ratio - 1.0)} {word} ({first} … {finely(high - 1.0)})"


def _between(low: float, high: float) -> str:
    """`between 0.3 % slower and 1.1 % faster`."""
    return f"between {_side(low)} and {_side(high)}"


def _side(ratio: float) -> str:
    if ratio >= 1.0:
        return f"{finely(ratio - 1.0)} faster" if ratio < _DOUBLE else f"{ratio:.2f}× as fast"
    return f"{finely(1 / ratio - 1.0)} slower" if 1 / ratio < _DOUBLE else f"{1 / ratio:.2f}× as slow"


def ab_headline(answer: AbAnswer) -> str:
    """`mnist on B3 Pixel 8: B is 3.1 % faster (2.2 … 4.0 %), 14 pairs.`; a count of each word where there are more."""
    if not answer.pairs:
        return "No pair of A and B could be measured: no answer."
    if len(answer.pairs) == 1:
        (one,) = answer.pairs
        where = f"{VIRTUAL.strip()}, {one.name}" if one.virtual else f"on {one.name}"
        pairs = f", {plural(one.n, 'pair')}" if one.n else ""
        return f"{one.pair} {where}: {pair_words(one, answer.delta)}{pairs}."
    clauses = []
    for prefix, group in (("", [one for one in answer.pairs if not one.virtual]),
                          (VIRTUAL, [one for one in answer.pairs if one.virtual])):  # fmt: skip
        if group:
            clauses.append(prefix + _tally(group, answer.delta))
    return f"A and B: {'; '.join(clauses)}."


def ab_sentence(model: str, answer: AbAnswer) -> str:
    """What stands below a model's name: the answer of the pairs that it makes with itself."""
    own = tuple(one for one in answer.pairs if one.pair == model)
    return ab_headline(replace(answer, pairs=own)) if own else f"{model}: A and B are two models, see A beside B."


def _tally(group: Sequence[PairAnswer], delta: float) -> str:
    words = Counter("no answer" if one.reason else one.finding.value for one in group)
    same = f"same within ± {percent(delta)}"
    named = {Finding.FASTER.value: "B is faster", Finding.SLOWER.value: "B is slower", Finding.SAME.value: same}
    order = [*Finding, "no answer"]
    return ", ".join(f"{named.get(word, word)} in {words[word]} of {len(group)}" for word in order if words[word])


def side_words(side: AbSide) -> str:
    """`A = binary=./old · ORT 1.21.0`."""
    version = f"ORT {side.ort_version}" if side.ort_version else "ORT version not told by the binary"
    return joined([f"{side.side} = {side.words or 'nothing named'}", version if side.binary_digest else ""])


def method_words(answer: AbAnswer) -> str:
    """How the interval was made, and why it holds though the run could stop early."""
    looks = ", ".join(map(str, answer.looks))
    return (
        "Speed of B over A by pairs of rounds (A B, B A, …), p50 against p50; looked at after "
        f"{looks} pairs, the 5 % spent over these looks, so that 95 % of such intervals hold whenever a run stops. "
        f"What matters: ± {percent(answer.delta)}."
    )


def ab_lines(answer: AbAnswer, width: int, gates: Sequence[GateResult] = ()) -> list[Line]:
    """For a terminal: what A and B are, a line a phone, how to read it."""
    lines = [one for side in answer.sides for one in paragraph(side_words(side), width, hang=4)]
    several = len({one.pair for one in answer.pairs}) > 1
    for virtual, group in ((False, [one for one in answer.pairs if not one.virtual]),
                           (True, [one for one in answer.pairs if one.virtual])):  # fmt: skip
        lines += [line(f"  {VIRTUAL.strip()}:")] if virtual and group else []
        for one in group:
            lines += paragraph(_line(one, answer.delta, several), width, indent=2, hang=4)
    lines += [one for words in gate_lines(gates) for one in paragraph(words, width, indent=2, hang=4, style="bold")]
    return [*lines, *paragraph(method_words(answer), width, indent=2, hang=2, style="dim")]


def _line(one: PairAnswer, delta: float, several: bool) -> str:
    decimals = decimals_for((one.a_p50_s, one.b_p50_s))
    figures = f"A {ms(one.a_p50_s, decimals)} ms, B {ms(one.b_p50_s, decimals)} ms"
    name = f"{one.name} · {one.pair}" if several else one.name
    return f"{name}: {pair_words(one, delta)}" + (f"; {figures}; {_pairs(one)}" if one.common else "")


def _pairs(one: PairAnswer) -> str:
    spare = f", {plural(one.rounds - one.common, 'round')} spared" if _spared(one) else ""
    return f"{plural(one.n or one.common, 'pair')}{spare}"


def _spared(one: PairAnswer) -> bool:
    decided = one.finding is not Finding.UNDECIDED and not one.reason
    return decided and not one.going_on and one.common < one.rounds


def gate_lines(gates: Sequence[GateResult]) -> list[str]:
    """`gate p50:5% failed: B3 · mnist: p50 +12 % (+10 % … +14 %)`, one a pair."""
    return [f"gate {one.gate} {one.word.value}: {one.label} · {one.model}: {one.words}" for one in gates]


def ab_section(answer: AbAnswer | None, gates: Sequence[GateResult] = ()) -> list[Block]:
    """The same for Markdown and HTML."""
    if answer is None:
        return []
    rows = []
    for one in answer.pairs:
        decimals = decimals_for((one.a_p50_s, one.b_p50_s))
        name = f"{one.name} (virtual)" if one.virtual else one.name
        figures = (ms(one.a_p50_s, decimals), ms(one.b_p50_s, decimals))
        rows.append((name, one.pair, pair_words(one, answer.delta), *figures, str(one.n or NOTHING)))
    table = [Table(HEADS, rows, numbers=(3, 4, 5))] if rows else []
    sides, judged = map(Words, map(side_words, answer.sides)), map(Words, gate_lines(gates))
    return [*sides, *table, *judged, Words(method_words(answer))]
