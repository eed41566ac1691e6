"""Pure: the digest's parts in words, the same in text and page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from orchestrator.nights.alerts import Alert
from orchestrator.nights.nouns import Verdict
from orchestrator.report.lines import joined
from orchestrator.report.morning.absences import clock_words
from orchestrator.report.morning.nouns import Died, Digest, Hand, NotRun, Shift, TwinFigure
from orchestrator.report.numbers import NOTHING, decimals_for, finely, ms, plural

MAX_CASES = 4
"""So many cases of a reason are named; the others are counted."""


def night_words(night: str) -> str:
    """A night as people say it: `12 Apr 2026`; as it is where it is no day."""
    try:
        day = date.fromisoformat(night)
    except ValueError:
        return night
    return f"{day.day} {day:%b %Y}"


def head_words(one: Digest) -> str:
    """Which nightly, which night, how much of it was measured."""
    counts = f"{one.planned} planned = {one.measured} measured + {one.failed} failed + {one.skipped} skipped"
    confirming = sum(bool(run.confirms) for run in one.runs)
    return joined(
        [
            f"nightly {one.nightly}",
            f"night of {night_words(one.night)}",
            plural(one.phones, "phone") + (f" ({one.virtual} virtual)" if one.virtual else ""),
            counts if one.runs else "no run",
            f"asked again in {plural(confirming, 'run')}" if confirming else "",
        ]
    )


def rest_words(one: Digest) -> str:
    """The cases that are worth no line."""
    few = one.insufficient_reason and f" ({one.insufficient_reason})"
    parts = [
        f"{plural(one.same, 'case')} as before" if one.same else "",
        f"{plural(one.insufficient, 'case')} with insufficient data{few}" if one.insufficient else "",
        f"{plural(one.still, 'case')} not measured, as last night" if one.still else "",
    ]
    return joined(parts)


def problem_lines(one: Digest) -> list[str]:
    """Why the night was not carried out as asked, where the sentence does not say all of it."""
    lines = one.problem.splitlines()
    return lines if one.runs or len(lines) > 1 else []


def hand_words(one: Hand) -> str:
    """Who, where it is plugged in, why, what to do."""
    place = f"({one.where})" if one.where else ""
    who = joined([one.name, one.device_model, place], " ")
    return ": ".join(part for part in (who, one.why, one.mend) if part)


def case_name(one: Shift) -> str:
    """A case with its phone; the recipe where the row does not tell it."""
    return joined([one.name, *dict.fromkeys((one.model, one.row))], " ")


def figures_words(one: Shift) -> str:
    """Before, after, by how much, how sure: `4.12 → 4.46 ms, 8.2 % slower (6.9 % to 9.4 %), noise allows 1.4 %`."""
    decimals = decimals_for([one.before_s, one.after_s])
    before, after = ms(one.before_s, decimals), ms(one.after_s, decimals)
    took = f"{before} → {after} ms" if one.before_s is not None else f"{after} ms"
    return joined([took, _change(one), _allowed(one)], ", ")


def _change(one: Shift) -> str:
    if one.change is None:
        return ""
    low, high = one.low, one.high
    if one.change < 0:
        low, high = (None if high is None else -high), (None if low is None else -low)
    between = f" ({_signed(low)} to {_signed(high)})" if low is not None and high is not None else ""
    return f"{finely(abs(one.change))} {'slower' if one.change >= 0 else 'faster'}{between}"


def _signed(share: float) -> str:
    return f"−{finely(-share)}" if share < 0 else finely(share)


def _allowed(one: Shift) -> str:
    return f"its own noise: up to {finely(abs(one.threshold))}" if one.threshold is not None else ""


def since_words(one: Shift) -> str:
    """Since when, what the word alone does not say, and which runs asked it again."""
    runs = f"({', '.join(one.again_in)})" if one.again_in else ""
    since = f"since the night of {night_words(one.since)}" if one.since else ""
    return joined([since, joined([one.reason or ("asked again" if runs else ""), runs], " ")], "; ")


def change_lines(one: Shift) -> tuple[str, ...]:
    """What changed between the last good and the first bad night, the likeliest first."""
    if not one.changes and one.verdict is not Verdict.RECOVERED and one.last_good and one.first_bad:
        return (f"nothing that is known changed between {one.last_good} and {one.first_bad}",)
    return tuple(f"{at}. {change.words}" for at, change in enumerate(one.changes, 1))


@dataclass(frozen=True, slots=True)
class Alike:
    """Cases of which the same is to be said: since when, what changed. `fresh`: this night is the first to say so."""

    fresh: bool
    since: str
    changes: tuple[str, ...]
    shifts: tuple[Shift, ...]


def alike(shifts: Sequence[Shift]) -> tuple[Alike, ...]:
    """Cases gathered by what is to be said of them, in their order."""
    found: dict[tuple[bool, str, tuple[str, ...]], list[Shift]] = {}
    for one in shifts:
        found.setdefault((one.fresh, since_words(one), change_lines(one)), []).append(one)
    return tuple(Alike(*said, tuple(members)) for said, members in found.items())


def not_run_words(one: NotRun) -> str:
    """A phone's cases of one reason."""
    more = len(one.cases) - MAX_CASES
    named = ", ".join(one.cases[:MAX_CASES]) + (f" and {more} more" if more > 0 else "")
    return f"{one.name}: {one.reason}: {named}"


def died_words(one: Died) -> list[str]:
    """A dead phone's last words, what was tried."""
    place = f"({one.where})" if one.where else ""
    who = joined([one.name, one.device_model, place], " ")
    heard = f"last heard {clock_words(one.at)}" if one.at else "never heard"
    return [
        f"{who}: {joined([heard, *one.vitals], ', ')}",
        *([f"tried: {' · '.join(one.tried)}"] if one.tried else ["nothing was tried: it was not there to begin with"]),
        twin_words(one),
    ]


def twin_words(one: Died) -> str:
    """What stands for it."""
    if one.twin is None:
        return f"no other {one.device_model} with {one.soc or 'its SoC'} measured this night"
    if not one.twin.figures:
        return f"its twin {one.twin.name} measured none of its cases"
    return f"in its place its twin {one.twin.name} measured {plural(len(one.twin.figures), 'case')}:"


def twin_cells(one: TwinFigure) -> tuple[str, str, str]:
    """A twin's figure: the case, the twin's p50 in ms, the dead phone's last with its night."""
    decimals = decimals_for([one.twin_s, one.last_s])
    own = NOTHING if one.last_s is None else f"{ms(one.last_s, decimals)} on {night_words(one.last_night)}"
    return " ".join(dict.fromkeys((one.model, one.row))), ms(one.twin_s, decimals), own


def alert_words(one: Alert, night: str) -> str:
    """An alert, since when, how it stands."""
    if one.closed_night:
        return f"closed ({one.why}): {one.words}"
    since = "new" if one.opened_night == night else f"since {night_words(one.opened_night)}"
    left = len(one.ever) - len(one.members)
    gone = f"; {left} of {len(one.ever)} well again" if left else ""
    return f"{since}: {one.words}{gone}"
