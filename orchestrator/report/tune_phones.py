"""Pure: a phone's own answer in a run that searched says the same as the search does."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.report.stats import Sureness, Verdict
from orchestrator.report.summary import PhoneAnswer
from orchestrator.report.tune import TuneReport
from orchestrator.tuning.goal import Objective


def as_search_says(phone: PhoneAnswer, model: str, report: TuneReport | None) -> PhoneAnswer:
    """The phone's answer with the search's winner in place of the row of the least median.

    A search measures what may win more often than the rest, and what it believes of a setting is not its median alone.
    Where that is another row than the median's, it is no clear winner. What was searched for something else than p50 is
    left as it is: rows are ranked by p50.
    """
    if report is None or report.objectives != (Objective.P50.value,):
        return phone
    mine = (one for one in report.answers if (one.phone, one.model) == (phone.phone, model) and one.winner is not None)
    case = next((one.winner.case for one in mine if one.winner is not None), "")
    best = next((row for row in phone.rows if row.case == case), None)
    if best is None or phone.best is None or phone.best.case == case:
        return phone
    verdict = phone.verdict
    if verdict.sureness is Sureness.SURE:
        verdict = Verdict(sureness=Sureness.TIE, ties=1, reason=f"by its median {phone.best.row}")
    return replace(phone, best=best, verdict=verdict)
