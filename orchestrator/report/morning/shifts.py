"""Pure: the cases of a night whose word is worth a line, with figures, what changed, and the nights that show it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from orchestrator.nights.changes import changes
from orchestrator.nights.nouns import CaseNight, Judged, SeriesKey, Verdict
from orchestrator.report.lines import as_listed
from orchestrator.report.morning.nouns import Material, Shift
from orchestrator.report.trend import trend


def shifts(material: Material, verdict: Verdict) -> tuple[Shift, ...]:
    """The cases that have this word tonight: the largest change first, then by name."""
    found = [
        _shift(material, material.histories.get(key, ()), judged)
        for key, judged in material.judged.items()
        if judged.verdict is verdict and _measured_on(material.histories.get(key, ()), material.night)
    ]
    return tuple(sorted(found, key=_order))


def _order(one: Shift) -> tuple[bool, float, list[tuple[int, int, str]]]:
    return not one.fresh, -abs(one.change or 0.0), as_listed(f"{one.name} {one.model} {one.row}")


def _measured_on(nights: Sequence[CaseNight], night: str) -> bool:
    return any(one.night == night and one.rounds_s for one in nights)


def _shift(material: Material, nights: Sequence[CaseNight], judged: Judged) -> Shift:
    key = judged.key
    good, bad = _night(nights, judged.last_good), _night(nights, judged.first_bad)
    now = [one for one in nights if one.night == material.night and one.rounds_s]
    back = judged.verdict is Verdict.RECOVERED
    if back:  # what mended it is what differs from the night before
        measured = [one for one in nights if one.night < material.night and one.rounds_s]
        good, bad = (measured[-1] if measured else None), now[0]
    return Shift(
        phone=key.phone,
        name=material.name(key.phone),
        model=key.model_name,
        recipe=key.recipe_name,
        row=key.row_name,
        verdict=judged.verdict,
        fresh=key not in material.stood,
        trend=trend(nights, label=material.name(key.phone)),
        before_s=_level([good] if good is not None else []),
        after_s=_level(now),
        change=None if back else _over(judged.change),
        low=None if back else _over(judged.low),
        high=None if back else _over(judged.high),
        threshold=None if back else _over(judged.threshold),
        p=judged.p,
        since=bad.night if bad is not None and not back else "",
        last_good=judged.last_good,
        first_bad=judged.first_bad,
        again_in=tuple(dict.fromkeys(one.run_id for one in now if one.confirms)),
        reason=judged.reason,
        changes=changes(good, bad) if good is not None and bad is not None else (),
    )


def _over(ratio: float | None) -> float | None:
    """A ratio as what it is above one."""
    return None if ratio is None else ratio - 1


def _night(nights: Sequence[CaseNight], run: str) -> CaseNight | None:
    return next((one for one in nights if run and one.run_id == run), None)


def _level(nights: Sequence[CaseNight]) -> float | None:
    rounds = [value for one in nights for value in one.rounds_s]
    return statistics.median(rounds) if rounds else None


def case_words(key: SeriesKey) -> str:
    """A case without its phone: model, recipe where the row does not say it, row."""
    return " ".join(dict.fromkeys((key.model_name, key.row_name)))
