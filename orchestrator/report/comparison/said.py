"""Pure: a comparison in words, the same in every format."""

from __future__ import annotations

import math

from orchestrator.measure.contrast import Word
from orchestrator.report.comparison.nouns import (
    Across,
    CanaryChange,
    ComparedCase,
    ComparedRun,
    Comparison,
    GateWord,
    VariantChange,
)
from orchestrator.report.lines import joined
from orchestrator.report.numbers import NOTHING, percent, plural, size

VIRTUAL = "virtual: computed by this computer, says nothing of a phone's speed"
_MAX_OPERATORS = 6


def sentence(comparison: Comparison) -> str:
    """The first line: what is to be taken from it all."""
    cases = comparison.cases
    virtual = "on virtual phones " if cases and all(case.virtual for case in cases) else ""
    if len(cases) == 1:
        return f"{virtual}{cases[0].models}, {cases[0].name} on {cases[0].label}: {case_words(cases[0])}."
    told = [(word, n) for word, n in comparison.counts if n]
    words = ", ".join(f"{n} {_word(comparison, word)}" for word, n in told)
    return f"{virtual}NEW beside BASE in {plural(len(cases), 'case')}: {words}{_most(cases)}."


def _word(comparison: Comparison, word: Word) -> str:
    return f"the same within ± {_share(comparison.delta)}" if word is Word.SAME else str(word)


def _share(share: float) -> str:
    """A share that somebody chose, as it was written: `2 %`."""
    return f"{share * 100:g} %"


def _most(cases: tuple[ComparedCase, ...]) -> str:
    """The case that changed most, if any did."""
    sure = [case for case in cases if case.verdict in (Word.FASTER, Word.SLOWER) and case.ratio is not None]
    if not sure:
        return ""
    most = max(sure, key=lambda case: abs(math.log(case.ratio.value)) if case.ratio is not None else 0.0)
    return f"; most: {most.models}, {most.name} on {most.label} is {case_words(most)}"


def case_words(case: ComparedCase) -> str:
    """`3.1 % faster (2.2 … 4.0)`, `the same`, `undecided`."""
    if case.ratio is None or case.verdict in (Word.INSUFFICIENT, Word.UNDECIDED):
        return str(case.verdict) + (f" ({case.reason})" if case.reason else "")
    return f"{case.verdict}{f' by {change_words(case)}' if case.verdict is not Word.SAME else ''}"


def change_words(case: ComparedCase) -> str:
    """By how much of BASE's time NEW's is less or more, with the interval: `12 % (11 % … 13 %)`."""
    ratio = case.ratio
    if ratio is None or ratio.low is None or ratio.high is None:
        return NOTHING
    ends = sorted(abs(1 / one - 1) for one in (ratio.low, ratio.high))
    return f"{abs(1 / ratio.value - 1):.1%} ({ends[0]:.1%} … {ends[1]:.1%})".replace("%", " %")


def beside_words(case: ComparedCase) -> str:
    """What else changed with a case: what NNAPI took, what it computes; "" where nothing of that did."""
    parts = [
        f"{name} {old or 'not known'} → {new or 'not known'}"
        for name, old, new in (
            ("NNAPI took", case.base_nnapi, case.new_nnapi),
            ("outputs", case.base_error, case.new_error),
        )
        if old != new
    ]
    return "; ".join(parts)


def side_words(name: str, run: ComparedRun) -> str:
    """`BASE 0412-quick-7k2f/B3 · 12 Apr 02:14 · ORT 1.23.2`."""
    of = "/".join(part for part in (run.run, run.phone, run.row) if part)
    at = run.created_at.strftime("%Y-%m-%d %H:%M") if run.created_at is not None else ""
    version = f"ORT {run.ort_version}" if run.ort_version else ""
    return joined([f"{name} {of}", at, version, run.state if run.state not in ("", "finished") else ""])


def across_words(comparison: Comparison) -> list[str]:
    """What differs, and who said so; a line for each pair of values."""
    if not comparison.across:
        return ["nothing differs but the day: what is told apart here is the phone's own, or the tool's"]
    how = "as asked" if comparison.across_named else "the one thing that differs"
    lines = [f"across {comparison.across} ({how}), all else equal"]
    for one in comparison.changes:
        if comparison.across != Across.SETTINGS or one.base or one.new:
            lines.append(f"{', '.join(one.where)}: {one.base or 'none'} → {one.new or 'none'}")
    return lines


def canary_words(canary: CanaryChange) -> str:
    """What a phone's canary says of the time between two runs."""
    change = percent(abs(1 / canary.ratio - 1))
    moved = f"flat ({change})" if canary.flat else f"{change} {'faster' if canary.ratio > 1 else 'slower'} in NEW"
    if canary.flat:
        return f"{canary.label}: canary {moved}, n {canary.n_base} and {canary.n_new}"
    why = (
        "what differs acts on it, too"
        if canary.shared
        else "the phone itself changed: no case that moved as little is called faster or slower"
    )
    return f"{canary.label}: canary {moved}, n {canary.n_base} and {canary.n_new}: {why}"


def variant_words(change: VariantChange) -> str:
    """Size, error, operators of a variant on both sides."""
    parts = [f"size {size(change.base_bytes)} → {size(change.new_bytes)}"]
    if change.base_bytes and change.new_bytes and change.base_bytes != change.new_bytes:
        grown = change.new_bytes / change.base_bytes - 1
        parts[0] += f" ({'+' if grown > 0 else '−'}{percent(abs(grown))})"
    errors = [f"{one:.2g}" if one is not None else NOTHING for one in (change.base_error, change.new_error)]
    parts.append(f"error from its own source {errors[0]} → {errors[1]}" if set(errors) != {NOTHING} else "")
    moved = [f"{name} {old} → {new}" for name, old, new in change.operators[:_MAX_OPERATORS]]
    more = f" and {len(change.operators) - _MAX_OPERATORS} more" if len(change.operators) > _MAX_OPERATORS else ""
    parts.append(f"operators: {', '.join(moved)}{more}" if moved else "operators as before")
    return f"{change.model} {change.recipe}: {'; '.join(part for part in parts if part)}"


def gate_words(comparison: Comparison) -> str:
    """`gates: 11 passed, 1 failed`; "" without gates."""
    counted = [(word, sum(one.word is word for one in comparison.gates)) for word in GateWord]
    told = ", ".join(f"{n} {word}" for word, n in counted if n)
    return f"gates: {told}" if told else ""


def method_words(comparison: Comparison) -> list[str]:
    """How the words came about, in three sentences."""
    pairing = "paired by round" if comparison.one_run else "two runs, so unpaired (Welch)"
    lines = [
        f"×: how many times as fast NEW is, with its 95 % interval, {pairing}.",
        f"faster, slower: exact rank test, at most {_share(comparison.false_rate)} false among them; same: the "
        f"interval lies within ± {_share(comparison.delta)}.",
    ]
    if comparison.rounds_needed is not None:
        what = "common rounds" if comparison.one_run else "rounds in each run"
        lines.append(
            f"insufficient data: {comparison.rounds_needed} {what} tell a single difference among these cases "
            f"(orch run --rounds {comparison.rounds_needed})."
        )
    return lines
