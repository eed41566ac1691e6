"""Pure: a run's trials, and what sizes, groups and ends them, as the farm's state is told of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orchestrator.app.kept import Kept
from orchestrator.farm.blocks import Canary, Rules
from orchestrator.farm.enough import Precision
from orchestrator.farm.protocol import Planned
from orchestrator.measure.sequential import Looks
from orchestrator.plan.case import Case, Purpose
from orchestrator.plan.length import TrialLength
from orchestrator.plan.series import series_for
from orchestrator.store.records import TrialRow
from orchestrator.variants.canary import ITERATIONS

BASELINE = "default"
"""The row that ratios are against."""


def rules_of(kept: Kept) -> Rules:
    """How a run's trials are sized, grouped and ended."""
    cap = kept.max_rounds or kept.rounds
    precision = None
    if kept.precision is not None:
        precision = Precision(target=kept.precision, first=min(kept.rounds, cap), cap=cap)
    return Rules(
        length=TrialLength(min_s=kept.seconds),
        iterations=kept.iterations,
        canary=Canary(case_id=kept.canary, iterations=ITERATIONS) if kept.canary else None,
        precision=precision,
        budget_s=kept.budget_s,
        deadline_s=kept.deadline_s,
        reruns=kept.reruns,
        series=series_for(kept.sustained) if kept.sustained else None,
        looks=None if kept.delta is None else Looks(kept.delta, cap),
    )


def planned_of(row: TrialRow, cases: Mapping[str, Case], kept: Kept) -> Planned:
    """A trial with what the state must know of its case. A twin measured on purpose stands for no provider."""
    trial = row.trial
    case = cases[trial.case_id]
    measures = trial.purpose is Purpose.TIME and case.where_pays is None and not case.twin_of
    return Planned(
        trial_id=row.trial_id,
        case_id=trial.case_id,
        phone=trial.phone,
        purpose=trial.purpose,
        round=trial.round,
        position=trial.position,
        model=case.model_name,
        shows=case.settings.provider if measures else None,
        where_pays=case.where_pays,
        twin_of=_other_half(case, cases.values()) if case.twin_of else "",
        baseline=case.row == BASELINE and not case.twin_of,
        pool=kept.pool_of(trial.phone),
        side=case.side,
        pair=case.pair,
    )


def _other_half(twin: Case, cases: Iterable[Case]) -> str:
    """The case of which one is a twin; "" where a run of long ago has it under another name."""
    named = ((one.case_id, one.model_name, one.row) for one in cases if not one.twin_of)
    return next((one for one, model, row in named if (model, row) == (twin.model_name, twin.twin_of)), "")
