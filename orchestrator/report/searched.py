"""Pure: a run's searches, with what they were told, as an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.report import source
from orchestrator.report.source import Row, text
from orchestrator.report.tune import GOES_ON, Lack, TuneAnswer, TunePlace, TuneReport
from orchestrator.store.hunts import Hopeless, Hunt
from orchestrator.tuning.answer import Placed, Tuned, tuned
from orchestrator.tuning.attempts import Attempt
from orchestrator.tuning.search import Ended, Why

CUT_OFF = "cut off"
"""How a search ended that nobody ended, before the words of why."""


def tune_report(
    searches: Sequence[tuple[Hunt | Hopeless, Sequence[Attempt]]],
    phones: Mapping[str, Row],
    trials: Sequence[Row],
    state: str,
) -> TuneReport | None:
    """The answers of a run's searches; None where there were none. `state`: where the run stands."""
    if not searches:
        return None
    answers = []
    for hunt, attempts in searches:
        phone = phones.get(hunt.phone, {})
        if isinstance(hunt, Hopeless):
            answers.append(_hopeless(hunt, phone))
        else:
            answers.append(_answer(hunt, attempts, phone, _end_of(hunt, trials, state)))
    answers.sort(key=lambda one: one.virtual)
    goal = searches[0][0].goal
    return TuneReport(
        objectives=tuple(one.value for one in goal.objectives), within=goal.within, answers=tuple(answers)
    )


def _end_of(hunt: Hunt, trials: Sequence[Row], state: str) -> str:
    """Why a search that is not over goes no further."""
    own = [row for row in trials if text(row, "phone") == hunt.phone]
    if state == "running" or any(text(row, "state") == "planned" for row in own):
        return GOES_ON
    reasons = dict.fromkeys(text(row, "reason") for row in own if text(row, "state") == "skipped")
    return f"{CUT_OFF}: {', '.join(reasons)}" if reasons else CUT_OFF


def _answer(hunt: Hunt, attempts: Sequence[Attempt], phone: Row, otherwise: str) -> TuneAnswer:
    found: Tuned = tuned(hunt.search, attempts)
    step = Ended(Why.KNOWN) if found.known else hunt.search.next_step(attempts)
    end = step.why.value if isinstance(step, Ended) else otherwise
    lacks = [Lack(why=why, settings=count) for why, count in found.lacks]

    def place(one: Placed) -> TunePlace:
        return TunePlace(
            row=one.name,
            case=hunt.case_ids[one.cell],
            rounds=one.rounds,
            figure=one.figure,
            behind=one.behind,
            behind_low=one.behind_low,
            behind_high=one.behind_high,
            chance=one.chance,
        )

    return TuneAnswer(
        model=hunt.model,
        phone=hunt.phone,
        label=text(phone, "label", hunt.phone),
        device_model=text(phone, "device_model"),
        virtual=source.flag(phone, "virtual"),
        winner=place(found.winner) if found.winner else None,
        runner_up=place(found.runner_up) if found.runner_up else None,
        front=tuple(map(place, found.front)),
        confidence=found.confidence,
        known=found.known,
        end=end,
        settings=found.cells,
        tried=found.tried,
        processes=found.processes,
        spoiled=found.spoiled,
        spent_s=found.spent_s,
        budget_s=hunt.goal.budget_s,
        lacks=tuple(lacks),
    )


def _hopeless(hunt: Hopeless, phone: Row) -> TuneAnswer:
    return TuneAnswer(
        model=hunt.model,
        phone=hunt.phone,
        label=text(phone, "label", hunt.phone),
        device_model=text(phone, "device_model"),
        virtual=source.flag(phone, "virtual"),
        winner=None,
        runner_up=None,
        front=(),
        confidence=0.0,
        known=False,
        end=hunt.why,
        settings=hunt.settings,
        tried=0,
        processes=0,
        spoiled=0,
        spent_s=0.0,
        budget_s=hunt.goal.budget_s,
        lacks=(Lack(why=hunt.why, settings=hunt.settings),),
    )
