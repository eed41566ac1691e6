"""Pure: one model on one phone. Which row is best, against what, how sure; and every other row in its place."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.plan.case import Side
from orchestrator.report import stats
from orchestrator.report.checks import REFERENCE_NOTE, CaseCheck
from orchestrator.report.cold import cold_start
from orchestrator.report.cores import bound_cores
from orchestrator.report.nnapi import NnapiAnswer
from orchestrator.report.numbers import plural, ratio
from orchestrator.report.prepared import prepared_steps
from orchestrator.report.sentence import how_sure
from orchestrator.report.source import Cell, Row, flag, names, number, rounds_of, text, whole
from orchestrator.report.summary import PhoneAnswer, SettingRow, TwinDifference
from orchestrator.report.sustained import Sustained
from orchestrator.report.tally import counts_of, marks_of, outcome_words, why_not_measured
from orchestrator.report.trust import (
    OtherAnswer,
    PhoneTrust,
    around_of,
    drift_of,
    in_all,
    rejections_of,
    unrejected,
    why_mute,
)
from orchestrator.variants.tolerance import Verdict

BASELINE = "default"
"""The row of an app that sets nothing: `.onnx`, cpu, no options."""

_STAND_INS = ("cpu all", "cpu layout", "cpu extended", "cpu basic")
"""What stands in for the default where the build takes no `.onnx`, or it was not measured: ORT format, nothing set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneSource:
    """What is known of a phone beside its trials; `default_dropped` is why the default was no trial there, or ""."""

    phone: str
    facts: Row
    default_dropped: str
    twins: TwinDifference | None
    nnapi: NnapiAnswer | None
    refused: Mapping[str, str] = field(default_factory=dict)
    """By variant id why it is out of tolerance: its cases are measured, and answer nothing."""
    first_stage: int | None = None
    """How many rounds decided the number of rounds; None where it was fixed."""
    checks: Mapping[str, CaseCheck] = field(default_factory=dict)
    """By case id what was found of its outputs on this phone."""
    canaries: Sequence[Row] = ()
    """Its canary's attempts, in the order in which they were taken."""
    first_s: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """By case id the first inferences that its traces tell."""
    sustained: Sustained | None = None

    def why_unranked(self, cell: Cell) -> str:
        """Why a case may not win, whatever its figures; "" where it may."""
        check = self.checks.get(cell.case)
        return self.refused.get(cell.first("variant"), "") or (check.refusal if check is not None else "")


def out_of_tolerance(variants: Sequence[Row]) -> dict[str, str]:
    """By variant id why its outputs are not its source's, for those where they are not."""
    return {
        text(row, "variant"): f"out of tolerance: {text(row, 'verdict_reason')}"
        for row in variants
        if text(row, "verdict") == Verdict.OUT
    }


def twin_difference(main: Cell, twin: Cell) -> TwinDifference | None:
    """The measured difference of an A/A pair; None with fewer than three common rounds."""
    main_s, twin_s = rounds_of(main), rounds_of(twin)
    difference = stats.false_difference(main_s, twin_s)
    if difference is None:
        return None
    common = len(main_s.keys() & twin_s.keys())
    return TwinDifference(model=main.model, row=main.row, twin=twin.row, difference=difference, n=common)


def phone_answer(source: PhoneSource, cells: Sequence[Cell]) -> PhoneAnswer:
    """The answer of one phone for one model, from all its cells of it; twins measured on purpose are no rows."""
    answer = _answer(source, cells)
    rows = [rejections_of(cell) for cell in cells if not cell.twin_of]
    other = None
    if any(row.rejected for row in rows):
        found = _answer(source, [replace(cell, measured=unrejected(cell)) for cell in cells])
        if found.best is not None and _said(found) != _said(answer):
            other = OtherAnswer(row=found.best.row, vs_default=found.best.vs_default, how_sure=how_sure(found))
    trust = PhoneTrust(
        drift=drift_of(source.canaries),
        mute=why_mute(source.canaries),
        total=in_all(rows, [cell for cell in cells if not cell.twin_of]),
        rows=tuple(row for row in rows if row.judged),
        unrejected=other,
        around=around_of(cells),
    )
    return replace(answer, trust=trust)


def _said(answer: PhoneAnswer) -> tuple[str, str, str]:
    """What a reader takes from an answer: the row, the ratio as it is shown, how sure."""
    best = answer.best
    if best is None:
        return "", "", how_sure(answer)
    versus = ratio(best.vs_default.value, best.vs_default.half_width) if best.vs_default is not None else ""
    return best.row, versus, how_sure(answer)


def _answer(source: PhoneSource, cells: Sequence[Cell]) -> PhoneAnswer:
    own = [cell for cell in cells if not cell.twin_of]
    wrong = {cell.case: why for cell in own if (why := source.why_unranked(cell))}
    whole_rounds = sorted((cell for cell in own if len(cell.measured) >= stats.MIN_ROUNDS), key=_p50_s)
    ranked = [cell for cell in whole_rounds if cell.case not in wrong]
    refused = [cell for cell in whole_rounds if cell.case in wrong]
    thin = sorted((cell for cell in own if 0 < len(cell.measured) < stats.MIN_ROUNDS), key=_p50_s)
    empty = [cell for cell in own if not cell.measured]
    all_rounds = [rounds_of(cell) for cell in ranked]
    first = source.first_stage
    places = stats.ranks(all_rounds, first=first)
    base, note = _baseline(ranked, own, source.default_dropped)
    base_s = rounds_of(ranked[base]) if base is not None else None
    rows = [
        _row(cell, rank, _Beside(base_s if at != base else None, _others(all_rounds, at, base), first))
        for at, (cell, rank) in enumerate(zip(ranked, places, strict=True))
    ]
    any_ranked = bool(rows)
    beside = _Beside(base_s, [base_s] if base_s is not None else [], first)
    rows += [_row(cell, None, beside, wrong.get(cell.case, "")) for cell in (*refused, *thin, *empty)]
    colds = {cell.case: cold_start(cell.measured.values(), source.first_s.get(cell.case, ())) for cell in own}
    bound = {cell.case: bound_cores(cell.measured.values()) for cell in own}
    rows = [
        replace(row, check=source.checks.get(row.case), cold=colds[row.case], cores=bound[row.case]) for row in rows
    ]
    facts = source.facts
    return PhoneAnswer(
        phone=source.phone,
        label=text(facts, "label", source.phone),
        device_model=text(facts, "device_model"),
        serial=text(facts, "serial"),
        api_level=whole(facts, "api_level") or None,
        virtual=flag(facts, "virtual") or _any(own, "virtual"),
        tuned=_any(own, "tuned"),
        verdict=stats.verdict(
            places, base, reason=_no_answer(own, len(ranked), [wrong[cell.case] for cell in refused])
        ),
        best=rows[0] if any_ranked else None,
        baseline=ranked[base].row if base is not None else "",
        baseline_note=note,
        rows=tuple(rows),
        resolves=stats.resolvable_difference(all_rounds, first=first),
        twins=source.twins,
        nnapi=_in_order(source.nnapi, rows),
        prepared=prepared_steps(facts),
        prepare_problem=text(facts, "prepare_problem"),
        battery=names(facts, "battery_care"),
        sustained=source.sustained,
    )


def _in_order(nnapi: NnapiAnswer | None, rows: Sequence[SettingRow]) -> NnapiAnswer | None:
    """What NNAPI did, in the order of the table."""
    if nnapi is None:
        return None
    places = {row.case: at for at, row in enumerate(rows)}
    return replace(nnapi, cases=tuple(sorted(nnapi.cases, key=lambda case: places.get(case.case, len(places)))))


def _p50_s(cell: Cell) -> float:
    return statistics.median(rounds_of(cell).values())


def _any(cells: Sequence[Cell], key: str) -> bool:
    return any(flag(row, key) for cell in cells for row in cell.measured.values())


def _median(cell: Cell, key: str) -> float | None:
    values = [value for row in cell.measured.values() if (value := number(row, key)) is not None]
    return statistics.median(values) if values else None


@dataclass(frozen=True, slots=True)
class _Beside:
    """What a row is held against: the baseline, None for itself; the rows it is to be told from."""

    base_s: stats.Rounds | None
    others_s: Sequence[stats.Rounds]
    first_stage: int | None


def _others(all_rounds: Sequence[stats.Rounds], at: int, base: int | None) -> list[stats.Rounds]:
    """What a ranked row is to be told from: the baseline; of the baseline, or without one, all other rows."""
    if base is not None and at != base:
        return [all_rounds[base]]
    return [rounds for index, rounds in enumerate(all_rounds) if index != at]


def _row(cell: Cell, rank: stats.Rank | None, beside: _Beside, wrong: str = "") -> SettingRow:
    """A cell as a row; `wrong` is why its figure counts for nothing."""
    rounds, first, base_s = rounds_of(cell), beside.first_stage, beside.base_s
    figure = stats.case_figure(list(rounds.values()), first=first) if rounds else None
    if figure is None:
        reason = why_not_measured(cell.trials)
    elif wrong:
        reason = wrong
    elif rank is None:
        reason = f"{plural(figure.n, 'valid round')}, {stats.MIN_ROUNDS} needed for a rank"
    else:
        reason = ""
    iterations = [n for row in cell.measured.values() if (n := whole(row, "iterations")) is not None]
    return SettingRow(
        case=cell.case,
        row=cell.row,
        also=cell.also,
        recipe=cell.first("recipe"),
        format=cell.first("format"),
        rank=rank.place if rank else None,
        shared=rank.shared if rank else False,
        p50_s=figure.p50_s if figure else None,
        low_s=figure.low_s if figure else None,
        high_s=figure.high_s if figure else None,
        half_width_s=figure.half_width_s if figure else None,
        p90_s=_median(cell, "p90_s"),
        session_creation_s=_median(cell, "session_creation_s"),
        n=figure.n if figure else 0,
        rounds=len(cell.trials),
        iterations=min(iterations) if iterations else None,
        vs_default=stats.speed_ratio(base_s, rounds, first=first) if base_s is not None else None,
        resolves=stats.row_resolves(rounds, beside.others_s, first=first),
        marks=(*marks_of(cell.trials, cell.attempts, rejections_of(cell).rejected), *_doubts(cell, figure.p50_s))
        if figure
        else (),
        reason=reason,
    )


def _doubts(cell: Cell, p50_s: float) -> list[str]:
    """What the process itself gives to doubt: it never got warm, or the tool cannot measure anything so short."""
    never_flat = sum(row.get("flat") is not None and not flag(row, "flat") for row in cell.measured.values())
    doubts = [f"{never_flat} never flat"] if never_flat else []
    return [*doubts, "at the floor of the tool"] if p50_s < stats.FLOOR_S else doubts


def _baseline(ranked: Sequence[Cell], own: Sequence[Cell], dropped: str) -> tuple[int | None, str]:
    """The baseline's place among the ranked, and what to say where it is not the default itself."""
    if any(cell.side for cell in own):
        return next((at for at, cell in enumerate(ranked) if cell.side == Side.A), None), ""
    at = _find(ranked, BASELINE)
    if at is not None:
        return at, ""
    default = _find(own, BASELINE)
    if default is not None:
        cell = own[default]
        why = (
            why_not_measured(cell.trials) if not cell.measured else f"{plural(len(cell.measured), 'valid round')} only"
        )
    else:
        why = dropped or "not in the plan"
    for name in _STAND_INS:
        at = _find(ranked, name)
        if at is not None:
            return at, f"no default here ({why}): ratios are against {ranked[at].row}"
    return None, f"no default here ({why}): no ratios"


def _find(cells: Sequence[Cell], name: str) -> int | None:
    return next((at for at, cell in enumerate(cells) if name in (cell.row, *cell.also)), None)


def _no_answer(own: Sequence[Cell], ranked: int, refused: Sequence[str]) -> str:
    """Why nothing, or too little, is ranked on this phone; "" where enough is. `refused`: why what was measured is
    not."""
    trials = [row for cell in own for row in cell.trials]
    if not trials:
        return "no setting could be planned"
    if ranked > 1:
        return ""
    if refused:
        why = "not ranked" if REFERENCE_NOTE in refused else "out of tolerance"
        return f"{plural(len(refused), 'setting')} {why}, {ranked or 'none'} left"
    lost = outcome_words(counts_of("time", trials))
    if lost:
        return f"of {len(trials)} trials {lost}"
    if ranked == 1:
        return "" if len(own) == 1 else f"only one setting has {stats.MIN_ROUNDS} valid rounds"
    most = max(len(cell.measured) for cell in own)
    return f"{plural(most, 'round')} measured, {stats.MIN_ROUNDS} needed"
