"""Pure: two sides and what is asked → the comparison."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.measure.contrast import DELTA, Contrast, Sides, Word, contrasts
from orchestrator.measure.discoveries import FALSE_RATE, rounds_to_tell
from orchestrator.measure.interval import MIN_ROUNDS
from orchestrator.report.answer import BASELINE
from orchestrator.report.comparison.differing import differences, meant, notes_of, nothing_in_common, require_fixed
from orchestrator.report.comparison.gates import Gate, Judged, gate_results, sizes_of
from orchestrator.report.comparison.meeting import Pair, meet, names_of
from orchestrator.report.comparison.models import variant_changes
from orchestrator.report.comparison.nouns import Across, CanaryChange, ComparedCase, Comparison
from orchestrator.report.comparison.said import sentence
from orchestrator.report.comparison.sides import Side, SideCase
from orchestrator.report.lines import as_listed
from orchestrator.report.numbers import percent, plural
from orchestrator.report.source import Row, text
from orchestrator.report.stats import ratio_of
from orchestrator.report.trust import FLAT, MIN_CANARIES

_ON_THE_CANARY_TOO = (Across.BINARY, Across.FINGERPRINT)
"""What differs acts on the canary as well: its change is no measure of the phone alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedComparison:
    """What somebody asked: what is meant to differ ("": whatever alone does), new names, gates, and delta."""

    across: str = ""
    maps: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()
    delta: float = DELTA


@dataclass(frozen=True, slots=True)
class Met:
    """The comparison, and the pairs of cases behind its rows."""

    comparison: Comparison
    pairs: tuple[Pair, ...]


def compare(base: Side, new: Side, asked: AskedComparison) -> Met:
    """What may be said of NEW beside BASE. Raises UsageError where they can't be compared, with the whole list."""
    for side in (base, new):
        require_fixed(side)
    one_run = base.head.run == new.head.run
    title = base.head.run if one_run else f"{base.head.run} and {new.head.run}"
    names = names_of(asked.maps, base, new)
    pairs, lone = meet(base, new, names)
    if not pairs:
        raise nothing_in_common(base, new, lone, title)
    pairs.sort(key=_place)
    found = differences(pairs)
    across = meant(found, asked.across, title)
    canaries = {} if one_run else _canaries(base, new, pairs, across)
    first = min((side.first_stage for side in (base, new) if side.first_stage is not None), default=None)

    def sides(pair: Pair, column: str) -> Sides:
        return Sides(base=pair.base.figures(column), new=pair.new.figures(column), paired=one_run, first=first)

    def temper(pair: Pair, told: Contrast) -> tuple[Word, str]:
        return tempered(told, canaries.get(pair.base.cell.phone))

    asked_of = [sides(pair, "p50_s") for pair in pairs]
    told = contrasts(asked_of, delta=asked.delta)
    cases = [
        _case(pair, *one, *temper(pair, one[1]))
        for pair, one in zip(pairs, zip(asked_of, told, strict=True), strict=True)
    ]
    olds, news = ({text(row, "variant"): row for row in side.variants} for side in (base, new))
    sizes = [sizes_of(pair, _variant(olds, pair.base), _variant(news, pair.new)) for pair in pairs]
    judged = Judged(pairs, sides, sizes, asked.delta, temper)
    short = [one for one in told if one.test is not None and one.word is Word.INSUFFICIENT]
    asking = sum(one.test is not None for one in told)
    comparison = Comparison(
        base=base.head,
        new=new.head,
        sentence="",
        across=across,
        across_named=bool(asked.across),
        changes=tuple(found),
        one_run=one_run,
        delta=asked.delta,
        false_rate=FALSE_RATE,
        cases=tuple(cases),
        not_compared=tuple(lone),
        canaries=tuple(canaries.values()),
        variants=tuple(variant_changes(pairs, olds, news)) if across == Across.MODEL else (),
        operators=(),
        gates=tuple(gate_results(asked.gates, judged, lone)),
        rounds_needed=rounds_to_tell(asking, paired=one_run) if short else None,
        notes=tuple(notes_of(base, new, pairs)),
    )
    return Met(replace(comparison, sentence=sentence(comparison)), tuple(pairs))


def _place(pair: Pair) -> tuple[object, ...]:
    """Real phones first, then as a person lists them; the default before other rows."""
    cell = pair.base.cell
    return (
        pair.base.virtual, as_listed(pair.base.label), as_listed(cell.model),
        pair.row != BASELINE, as_listed(pair.row), as_listed(pair.new_row),
    )  # fmt: skip


def _variant(rows: Mapping[str, Row], case: SideCase) -> Row:
    return rows.get(case.cell.first("variant"), {})


def _canaries(base: Side, new: Side, pairs: Sequence[Pair], across: str) -> dict[str, CanaryChange]:
    """How each phone's canary changed between two runs, where both looked often enough."""
    found = {}
    for pair in pairs:
        phone = pair.base.cell.phone
        old, now = base.canaries.get(phone, ()), new.canaries.get(phone, ())
        if min(len(old), len(now)) >= MIN_CANARIES and phone not in found:
            ratio = statistics.median(old) / statistics.median(now)
            found[phone] = CanaryChange(
                phone=phone,
                label=pair.base.label,
                ratio=ratio,
                n_base=len(old),
                n_new=len(now),
                flat=abs(math.log(ratio)) <= math.log1p(FLAT),
                shared=across in _ON_THE_CANARY_TOO,
            )
    return found


def tempered(told: Contrast, canary: CanaryChange | None) -> tuple[Word, str]:
    """The word on a case, and why: what is no more than its phone's own change stays undecided."""
    if told.found is None or told.test is None:
        return told.word, ""
    if told.word is Word.INSUFFICIENT:
        return told.word, f"{plural(told.found.n, 'round')} can't give a p below {told.test.least:.2g}"
    if told.word not in (Word.FASTER, Word.SLOWER) or canary is None or canary.flat or canary.shared:
        return told.word, ""
    moved = -math.log(canary.ratio)  # above 0: the phone was slower in NEW
    within = told.found.low <= moved if told.word is Word.SLOWER else told.found.high >= moved
    if moved * told.found.centre > 0 and within:
        way = "slower" if moved > 0 else "faster"
        return Word.UNDECIDED, f"no more than the phone itself: its canary was {percent(math.expm1(abs(moved)))} {way}"
    return told.word, ""


def _case(pair: Pair, sides: Sides, told: Contrast, word: Word, why: str) -> ComparedCase:
    n_base, n_new = sides.counts
    if told.found is None:
        short = [f"{n} in {name}" for n, name in ((n_base, "BASE"), (n_new, "NEW")) if n < MIN_ROUNDS]
        common = f"{plural(n_base, 'round')} in common"
        why = f"{common if sides.paired else 'valid rounds: ' + ', '.join(short)}, {MIN_ROUNDS} needed"
    speed = None if told.found is None else replace(told.found, centre=-told.found.centre)
    return ComparedCase(
        phone=pair.base.cell.phone,
        label=pair.base.label,
        model=pair.base.cell.model,
        new_model=pair.new.cell.model,
        row=pair.row,
        new_row=pair.new_row,
        virtual=pair.base.virtual,
        base_p50_s=statistics.median(sides.base.values()),
        new_p50_s=statistics.median(sides.new.values()),
        n_base=n_base,
        n_new=n_new,
        ratio=None if speed is None else ratio_of(speed, paired=sides.paired),
        p=None if told.test is None else told.test.p,
        least_p=None if told.test is None else told.test.least,
        verdict=word,
        reason=why,
        base_nnapi=pair.base.nnapi,
        new_nnapi=pair.new.nnapi,
        base_error=pair.base.error,
        new_error=pair.new.error,
    )
