"""Pure: searches for the best setting, made again from what the ledger holds of a run: one for each phone and model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from android_runner.errors import Blame
from orchestrator.errors import UsageError
from orchestrator.outcome import INVALID, Failed, Figures, Measured, Outcome
from orchestrator.plan.case import Case, Purpose
from orchestrator.store.records import AttemptRecord, RunContents, TrialRow
from orchestrator.tuning.attempts import Attempt, How
from orchestrator.tuning.cases import space_of_cases
from orchestrator.tuning.goal import Goal, Objective
from orchestrator.tuning.search import Search
from orchestrator.variants.tolerance import problem

OUT_OF_TOLERANCE = "out of tolerance"

Asked = tuple[str, int]
"""A case, by id, and its round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What a run's row keeps of a search: what is looked for on every phone, for each model.

    `budget_s` is a phone's time for each model, `trial_s` what a process was thought to take. `cases` are those of each
    phone, by their places among the run's: two phones need not have the same.
    """

    budget_s: float
    trial_s: float
    within: float
    objectives: tuple[Objective, ...]
    cases: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def goal(self, seed: int) -> Goal:
        """What the core is asked for."""
        return Goal(
            budget_s=self.budget_s, trial_s=self.trial_s, objectives=self.objectives, within=self.within, seed=seed
        )

    def as_json(self) -> dict[str, Any]:
        """As JSON has it."""
        cases = {phone: list(places) for phone, places in self.cases.items()}
        return {
            "budget_s": self.budget_s, "trial_s": self.trial_s, "within": self.within,
            "objectives": [one.value for one in self.objectives], "cases": cases,
        }  # fmt: skip


def sought_from(data: Mapping[str, Any]) -> Sought:
    """Back again. Raises KeyError, TypeError or ValueError for what is not ours."""
    return Sought(
        budget_s=float(data["budget_s"]),
        trial_s=float(data["trial_s"]),
        within=float(data["within"]),
        objectives=tuple(Objective(one) for one in data["objectives"]),
        cases={str(phone): tuple(int(at) for at in places) for phone, places in data["cases"].items()},
    )


class Hunt:
    """One model's search on one phone. A variant may turn out to be out of tolerance at any time."""

    def __init__(self, phone: str, cases: Sequence[Case], goal: Goal, barred: Iterable[str] = ()) -> None:
        """`barred` are variants by id. Raises UsageError for a goal that can't be reached."""
        self.phone, self.model = phone, cases[0].model_name
        self._cases, self.goal = cases, goal
        self._barred = frozenset(barred)
        self._make()

    def _make(self) -> None:
        wrong = {one.case_id: OUT_OF_TOLERANCE for one in self._cases if one.variant_id in self._barred}
        space, self.case_ids = space_of_cases(self._cases, wrong)
        self.search = Search(space, self.goal)
        self._cells = {case_id: at for at, case_id in enumerate(self.case_ids)}

    def bar(self, variant_id: str) -> None:
        """A variant is out of tolerance: its cells may not win. Raises UsageError where no other is left."""
        if variant_id in {one.variant_id for one in self._cases} - self._barred:
            self._barred |= {variant_id}
            self._make()

    def attempts(self, ended: Mapping[Asked, Outcome], times: Mapping[Asked, tuple[float, float]]) -> list[Attempt]:
        """What the phone's timed trials, by case and round, have shown of this model; `times` as `times_of` gives them.

        What the lab spoiled counts for nothing; a process whose figures can't be trusted took its time all the same.
        """
        found = []
        for asked in sorted(ended, key=lambda one: (one[1], times.get(one, (0.0, 0.0)), one[0])):
            cell, how = self._cells.get(asked[0]), how_of(ended[asked])
            if cell is None or how is None:
                continue
            at_s, took_s = times.get(asked, (0.0, 0.0))
            outcome = ended[asked]
            figures = outcome.figures if isinstance(outcome, Measured) else None
            found.append(
                Attempt(
                    cell=cell,
                    round=asked[1],
                    at_s=at_s,
                    took_s=took_s,
                    how=how,
                    figures=_figures(figures) if figures is not None else {},
                )
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Hopeless:
    """A model on a phone of which no setting may win any more, so that nothing is searched: how many there are, why."""

    phone: str
    model: str
    settings: int
    why: str
    goal: Goal


def hunts_of(contents: RunContents, sought: Sought, seed: int) -> list[Hunt | Hopeless]:
    """The searches of a run, as its ledger knows them."""
    barred = [one.variant_id for one in contents.variants if one.numerics is not None and problem(one.numerics)]
    found: list[Hunt | Hopeless] = []
    for phone, places in sought.cases.items():
        by_model: dict[str, list[Case]] = {}
        for case in (contents.cases[at] for at in places if 0 <= at < len(contents.cases)):
            by_model.setdefault(case.model_name, []).append(case)
        found += [_hunt(phone, cases, sought.goal(seed), barred) for cases in by_model.values()]
    return found


def _hunt(phone: str, cases: Sequence[Case], goal: Goal, barred: Iterable[str]) -> Hunt | Hopeless:
    try:
        return Hunt(phone, cases, goal, barred)
    except UsageError as error:
        timed = sum(one.timed for one in cases)
        why = "; ".join(one.what for one in error.problems)
        return Hopeless(phone=phone, model=cases[0].model_name, settings=timed, why=why, goal=goal)


def hunted(
    contents: RunContents, trials: Iterable[TrialRow], records: Iterable[AttemptRecord]
) -> list[tuple[Hunt | Hopeless, list[Attempt]]]:
    """A run's searches with what they were told; none where nothing was searched for."""
    sought = _sought_of(contents)
    if sought is None:
        return []
    ended: dict[str, dict[Asked, Outcome]] = {}
    tries: dict[str, list[AttemptRecord]] = {}
    for row in trials:
        if row.outcome is not None and row.trial.purpose is Purpose.TIME:
            ended.setdefault(row.trial.phone, {})[row.trial.case_id, row.trial.round] = row.outcome
    for one in records:
        tries.setdefault(one.phone, []).append(one)
    found: list[tuple[Hunt | Hopeless, list[Attempt]]] = []
    for hunt in hunts_of(contents, sought, contents.run.seed):
        times = times_of(tries.get(hunt.phone, ()))
        found.append((hunt, [] if isinstance(hunt, Hopeless) else hunt.attempts(ended.get(hunt.phone, {}), times)))
    return found


def _sought_of(contents: RunContents) -> Sought | None:
    """What a run's row says of a search; None where it says nothing, or nothing that can be read."""
    try:
        return sought_from(json.loads(contents.run.plan_json)["tune"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def how_of(outcome: Outcome) -> How | None:
    """How a trial's end counts; None where it says nothing of its case."""
    match outcome:
        case Measured(figures=figures):
            return How.MEASURED if figures is not None else None
        case Failed(kind=kind) if kind == INVALID:
            return How.SPOILED
        case Failed(blame=blame):
            return None if blame in (Blame.LAB, Blame.US) else How.FAILED
        case _:
            return None


def times_of(records: Iterable[AttemptRecord]) -> dict[Asked, tuple[float, float]]:
    """By timed trial of one phone when its last try began (seconds of uptime), and what all its tries took.

    The time since the timed try before is part of that: calibrations, the canary, gates, rests, waiting for the host.
    What lies between two claims on the phone is not: another run may have had it, or nobody.
    """
    own = list({one.attempt_id: one for one in records}.values())
    blocks = {name: at for at, name in enumerate(dict.fromkeys(one.block_id for one in own))}
    known = [
        (blocks[one.block_id], one.started_uptime_s, one.ended_uptime_s, one)
        for one in own
        if one.started_uptime_s is not None and one.ended_uptime_s is not None
    ]
    found: dict[Asked, tuple[float, float]] = {}
    since: dict[int, float] = {}
    for _, started_s, ended_s, one in sorted(known, key=lambda each: each[:3]):
        if one.purpose != Purpose.TIME.value:
            since.setdefault(one.epoch, started_s)
            continue
        asked = (one.case_id, one.round)
        begun_s = since.get(one.epoch, started_s)
        begun_s = begun_s if begun_s <= started_s else started_s  # else the phone has booted since
        found[asked] = (started_s, found.get(asked, (0.0, 0.0))[1] + max(0.0, ended_s - begun_s))
        since[one.epoch] = ended_s
    return found


def _figures(figures: Figures) -> dict[Objective, float]:
    found: dict[Objective, float] = {Objective.P50: figures.p50_s, Objective.P90: figures.p90_s}
    if figures.session_creation_s is not None and figures.first_inference_s is not None:
        found[Objective.COLD] = figures.session_creation_s + figures.first_inference_s
    if figures.peak_working_set_bytes is not None:
        found[Objective.MEMORY] = float(figures.peak_working_set_bytes)
    return found
