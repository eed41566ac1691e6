"""Pure: from a run's frames to what it recommends.

The winner is the report's own best row; where the default can't be told from it, the default: nothing needs to be set
for what can't be shown to help. What is out of tolerance is ranked nowhere, so it is recommended nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.measure.interval import CONFIDENCE, MIN_ROUNDS, Interval, difference, interval
from orchestrator.report import source, stats
from orchestrator.report.numbers import percent
from orchestrator.report.recommendation.nouns import Ahead, ModelAdvice, PhoneAdvice
from orchestrator.report.recommendation.reason import NNAPI, Evidence, knobs_of, reason_of, turned_knobs
from orchestrator.report.sentence import how_sure
from orchestrator.report.source import Cell, RunFrames, rounds_of, whole
from orchestrator.report.stats import Sureness
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import ModelSummary, PhoneAnswer, SettingRow
from orchestrator.tuning.fleet import FleetChoice, fleet_choice

DEPRECATED_SINCE = 35
"""Android 15: NNAPI is deprecated (developer.android.com, "NNAPI Migration Guide")."""
WITHIN = 0.05


def recommend(frames: RunFrames, *, within: float = WITHIN) -> tuple[ModelAdvice, ...]:
    """What a run recommends, model by model. `within`: how far off its best a phone may be with the fleet's setting."""
    summary = summarize(frames)
    runs = source.records(frames.runs)
    first = next((value for run in runs if (value := whole(run, "first_stage")) is not None), None)
    cells = source.cells(source.records(frames.trials), source.records(frames.attempts))
    by_place: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in cells:
        if not cell.twin_of:
            by_place.setdefault((cell.model, cell.phone), {})[cell.case] = cell
    return tuple(_of_model(model, by_place, first, within) for model in summary.models)


def _of_model(
    model: ModelSummary, by_place: Mapping[tuple[str, str], Mapping[str, Cell]], first: int | None, within: float
) -> ModelAdvice:
    phones = tuple(advice_of(answer, by_place.get((model.model, answer.phone), {}), first) for answer in model.phones)
    told = [answer for answer in model.phones if _figures(answer)]
    real = [answer for answer in told if not answer.virtual]
    asked = real or told
    fleet = fleet_choice({answer.name: _figures(answer) for answer in asked})
    return ModelAdvice(
        model=model.model,
        phones=phones,
        fleet=fleet,
        fleet_virtual=bool(asked) and not real,
        fleet_sentence=fleet_sentence(fleet, len(asked), within),
        silent=tuple(answer.name for answer in model.phones if not _figures(answer)),
    )


def _figures(answer: PhoneAnswer) -> dict[str, float]:
    """The p50 of every ranked setting by each of its names: what is merged on one phone may not be on another."""
    return {
        name: row.p50_s
        for row in answer.rows
        if row.rank is not None and row.p50_s is not None
        for name in (row.row, *row.also)
    }


def advice_of(answer: PhoneAnswer, cells: Mapping[str, Cell], first: int | None = None) -> PhoneAdvice:
    """What is recommended on one phone for one model; `cells` are its cases by id."""
    ranked = [row for row in answer.rows if row.rank is not None and row.case in cells]
    winner = _winner(answer, ranked)
    if winner is None:
        return _none(answer)
    beside = _Beside(winner, cells, first)
    others = [row for row in ranked if row is not winner]
    knobs = turned_knobs(cells[winner.case], [cells[row.case] for row in others], first)
    without = next((row for row in others if not _needs_nnapi(cells[row.case])), None)
    nnapi_wins = _needs_nnapi(cells[winner.case])
    tied = tuple(row.row for row in others if row.rank == winner.rank)
    evidence = Evidence(
        winner=winner,
        knobs=knobs,
        nnapi=answer.nnapi,
        rows=ranked,
        speed_of=beside.speed_of,
        tied=len(tied),
    )
    reason = reason_of(evidence)
    if tied and winner.row == answer.baseline:
        reason = f"nothing can be told from {winner.row}, which needs no setting."
    return PhoneAdvice(
        phone=answer.phone,
        name=answer.name,
        virtual=answer.virtual,
        winner=winner,
        vs_default=winner.vs_default,
        runner_up=beside.ahead_of(others[0]) if others else None,
        how_sure=how_sure(answer),
        tied=tied,
        reason=reason,
        without_nnapi=beside.ahead_of(without) if nnapi_wins and without is not None else None,
        nnapi_note=_nnapi_note(answer, without is not None) if nnapi_wins else "",
    )


def _winner(answer: PhoneAnswer, ranked: Sequence[SettingRow]) -> SettingRow | None:
    if answer.best is None or answer.verdict.sureness is Sureness.NO_ANSWER or not ranked:
        return None
    base = next((row for row in ranked if row.row == answer.baseline), None)
    return base if base is not None and base.rank == ranked[0].rank else ranked[0]


def _none(answer: PhoneAnswer) -> PhoneAdvice:
    return PhoneAdvice(
        phone=answer.phone,
        name=answer.name,
        virtual=answer.virtual,
        winner=None,
        vs_default=None,
        runner_up=None,
        how_sure=how_sure(answer),
        tied=(),
        reason=answer.verdict.reason or "no setting has figures enough",
    )


@dataclass(frozen=True, slots=True)
class _Beside:
    """A winner, to be held against others of its phone."""

    winner: SettingRow
    cells: Mapping[str, Cell]
    first: int | None

    def speed_of(self, other: SettingRow) -> stats.Ratio | None:
        """How many times as fast as the winner it is."""
        own_s, other_s = rounds_of(self.cells[self.winner.case]), rounds_of(self.cells[other.case])
        return stats.speed_ratio(own_s, other_s, first=self.first)

    def ahead_of(self, other: SettingRow) -> Ahead:
        """The winner beside it."""
        own_s, other_s = rounds_of(self.cells[self.winner.case]), rounds_of(self.cells[other.case])
        ratio = stats.speed_ratio(other_s, own_s, first=self.first)
        return Ahead(other=other, ratio=ratio, confidence=chance_faster(own_s, other_s, self.first))


def chance_faster(own_s: stats.Rounds, other_s: stats.Rounds, first: int | None = None) -> float | None:
    """How surely the first of two is the faster, by Student's t on the logarithms that its ratio's interval is made of.

    Paired by common rounds, else over all rounds of both; None below `MIN_ROUNDS`.
    """
    common = sorted(own_s.keys() & other_s.keys())
    if len(common) >= MIN_ROUNDS:
        return _above_zero(interval([math.log(other_s[at]) - math.log(own_s[at]) for at in common], first=first))
    if min(len(own_s), len(other_s)) < MIN_ROUNDS:
        return None
    logs = [[math.log(rounds[at]) for at in sorted(rounds)] for rounds in (other_s, own_s)]
    return _above_zero(difference(*logs, first=first))


def _above_zero(found: Interval) -> float:
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - heavy, and only who recommends needs it

    if found.half == 0.0:
        return 1.0 if found.centre > 0.0 else 0.5 if found.centre == 0.0 else 0.0
    spread = found.half / float(stdtrit(found.freedom, 0.5 + CONFIDENCE / 2))
    return float(stdtr(found.freedom, found.centre / spread))


def _needs_nnapi(cell: Cell) -> bool:
    return knobs_of(cell).get("execution provider") == NNAPI


def _nnapi_note(answer: PhoneAnswer, other: bool) -> str:
    """What NNAPI's end means for a setting that needs it."""
    here = answer.api_level is not None and answer.api_level >= DEPRECATED_SINCE
    when = "is deprecated on this phone (Android 15 and later)" if here else "is deprecated from Android 15 on"
    return f"NNAPI {when}" + (
        "; keep the best setting without it at hand" if other else "; nothing without it was measured"
    )


def fleet_sentence(choice: FleetChoice | None, phones: int, within: float) -> str:
    """The choice for all phones, in a sentence."""
    if choice is None:
        return "no setting has figures on every phone"
    if phones == 1:
        return f"one phone only: {choice.setting}"
    dearest = choice.prices[0]
    if choice.worst <= 0.0:
        return f"{choice.setting} is the best on all {phones} phones"
    price = f"at most {percent(choice.worst)} off the best of any of {phones} phones, on {dearest.phone}"
    return f"{choice.setting} is {price}" + ("" if choice.holds(within) else f": none keeps within {percent(within)}")
