"""Pure: the word on a series after a night: has the case become slower, by more than it strays by itself?

A night's level (the median of its rounds) is held against the median of the nights before it, at most `window`. What it
misses by is judged by the misses that the series had before (`orchestrator.nights.noise`).

* `suspected`: such a miss comes by chance in 1 of 100 nights. It is to be asked again in the same night.
* `regressed`: asked again it is slow again, and both together miss by what comes by chance in 1 of 2,500 nights; or two
  nights that follow each other do, each by at least half of it. From then on the new level is the base, and the word
  stays until the old level is back: `recovered`.
* `improved`: two nights that follow each other are as much faster. No alarm, and a new base.
* `re-based`: another system (fingerprint), or clocks held that were free: no level from before counts any more. How far
  the series strays is still known, unless it is its clocks that changed.
* `insufficient data`: fewer than `base` nights before it, or no figures this night.

Two ways to an alarm, each with 1 in 2,500: together below 1 in 1,000 nights, as far as misses are normal.

What the phone's canary shares is the phone's: where the canary is surely slower than under the same binary before, its
share is taken out of a night that would be suspected. A new binary acts on the canary, too, and is no excuse.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.nights.noise import chance_above, t_above
from orchestrator.nights.nouns import CaseNight, Judged, Verdict
from orchestrator.nights.series import LIMITS, Fallen, Level, Limits, Miss, Night, Series

__all__ = ["LIMITS", "Limits", "Night", "Series", "after", "judge", "judge_each", "nights_of"]

_OUTSIDE = 0.025
"""The chance beyond either end of an interval."""


def judge(nights: Sequence[CaseNight], *, limits: Limits = LIMITS) -> Judged:
    """The word after the newest of a series' nights, which stand in their order, confirming runs behind what they ask
    again. Raises ValueError where there are none."""
    if not nights:
        raise ValueError("a series without nights can't be judged")
    return judge_each(nights, limits=limits)[-1]


def judge_each(nights: Sequence[CaseNight], *, limits: Limits = LIMITS) -> tuple[Judged, ...]:
    """The word after each night, with all that was asked again in it: what `judge` said, or would have said, then."""
    series = Series(limits=limits)
    said = []
    for night in nights_of(nights):
        word, series = after(series, night)
        said.append(word)
    return tuple(said)


def nights_of(nights: Sequence[CaseNight]) -> tuple[Night, ...]:
    """Runs by the night that they are of: a confirming run belongs to the run it names, or to the last of its night."""
    found: list[Night] = []
    for one in nights:
        at = next((n for n in reversed(range(len(found))) if _asks_again(one, found[n].own)), None)
        if at is None:
            found.append(Night(one))
        else:
            found[at] = Night(found[at].own, (*found[at].again, one))
    return tuple(found)


def _asks_again(one: CaseNight, own: CaseNight) -> bool:
    return bool(one.confirms) and one.night == own.night


def after(series: Series, night: Night) -> tuple[Judged, Series]:
    """The word on one more night, and what is known with it."""
    own, limits = night.own, series.limits
    if not own.rounds_s:
        since = f"; slower since {series.fallen.first_bad.night}" if series.fallen else ""
        return _say(series, own, Verdict.INSUFFICIENT, f"no figures: {own.ended or 'not ended'}{since}"), series
    if other := _another_base(series.last, own):
        lost = f"; it was slower since {series.fallen.first_bad.night}" if series.fallen else ""
        fresh = series.on_another_base(keep_noise=_same_clocks(series.last, own))
        return _say(fresh, own, Verdict.REBASED, f"{other}: a new base{lost}"), fresh.with_night(
            fresh.level(own, share=False)
        )
    if series.nights < limits.base or not series.knows_noise:
        reason = "so far its phone was slow in nearly all nights"
        if series.nights < limits.base:
            reason = f"{series.nights} of the {limits.base} nights that make a base"
        if series.was_slow(own):
            series = Series(limits=limits)
            reason = "its phone was slow so far, as the canary says now: the base begins anew"
        return _say(series, own, Verdict.INSUFFICIENT, reason), series.with_night(series.level(own, share=False))
    return _judged(series, _looked(series, night))


def _another_base(last: CaseNight | None, own: CaseNight) -> str:
    """Why nothing before counts any more; "" where it does."""
    if last is None:
        return ""
    had, has = last.circumstances, own.circumstances
    if had.fingerprint and has.fingerprint and had.fingerprint != has.fingerprint:
        return "another system"
    if None not in (had.tuned, has.tuned) and had.tuned != has.tuned:
        return "its clocks are held now" if has.tuned else "its clocks are no longer held"
    return ""


def _same_clocks(last: CaseNight | None, own: CaseNight) -> bool:
    return last is not None and last.circumstances.tuned == own.circumstances.tuned


@dataclass(frozen=True, slots=True)
class _Looked:
    """A night as it is judged: its level, with what was asked again in it; its miss, and that with the night before."""

    level: Level
    one: Miss
    pair: Miss | None
    confirmed: bool
    reason: str


def _looked(series: Series, night: Night) -> _Looked:
    limits = series.limits
    level = series.level(night.own, share=True)
    one, confirmed, reason = series.one(level), False, ""
    if one.value > one.limit(limits.suspicion, limits.least):
        level = series.level(night.own, share=False)
        one = series.one(level)
    suspected = one.value > one.limit(limits.suspicion, limits.least)
    asked = [series.level(run, share=False).value for run in night.again if run.rounds_s]
    if suspected and asked:
        second = series.one(replace(level, value=statistics.median(asked)))
        level = replace(level, value=(level.value + statistics.median(asked)) / 2, runs=2)
        one = series.one(level)
        suspected = second.value > second.limit(limits.suspicion, limits.least)
        confirmed = suspected and one.value > one.limit(limits.alarm, limits.least)
        reason = "asked again, it was slow again" if suspected else "asked again, it was not slow"
    level = replace(level, suspected=suspected)
    return _Looked(level, one, series.pair(level), confirmed, reason)


def _judged(series: Series, seen: _Looked) -> tuple[Judged, Series]:
    level, one, pair = seen.level, seen.one, seen.pair
    if seen.confirmed:
        return _fallen(series, seen, one, bad=1 if series.levels[-1].suspected else 0)
    if pair is not None and series.both(pair, level.value, up=True):
        return _fallen(series, seen, pair, bad=1)
    if series.fallen is not None:
        return _still(series, seen, series.fallen)
    if pair is not None and series.both(pair, level.value, up=False):
        moved = series.moved(1, level, None)
        word = _word(series, level.night, pair, Verdict.IMPROVED, "two nights in a row")
        return _around(word, series.levels[-2].night, series.levels[-1].night), moved
    taken = series.with_night(level)
    if level.suspected:
        word = _word(series, level.night, one, Verdict.SUSPECTED, seen.reason)
        return _around(word, series.levels[-1].night, level.night), taken
    return _word(series, level.night, one, Verdict.SAME, seen.reason or _phones(series, seen)), taken


def _phones(series: Series, seen: _Looked) -> str:
    """That a night would have been suspected but for what the phone's canary shares; "" else."""
    share = seen.level.share
    if share == 0.0:
        return ""
    whole = math.expm1(seen.one.value + share)
    return f"{whole:.1%} slower, but so is the phone: its canary by {math.expm1(share):.1%}"


def _fallen(series: Series, seen: _Looked, miss: Miss, *, bad: int) -> tuple[Judged, Series]:
    """It regressed; of the nights before, the last `bad` were part of it."""
    known = series.fallen
    before = series.levels[:-bad] if bad else series.levels
    level = seen.level
    base = series.base(without_last=bad > 0)[0] if known is None else known.base
    fallen = Fallen(
        base=base,
        step=statistics.fmean(one.value for one in (*series.levels[len(before) :], level)) - base,
        before=before if known is None else known.before,
        last_good=before[-1].night if before else None,
        first_bad=series.levels[-1].night if bad else level.night,
    )
    reason = seen.reason if seen.confirmed else "two nights in a row"
    if known is not None:
        reason = f"a further step; slower since {known.first_bad.night}"
    word = _word(series, level.night, miss, Verdict.REGRESSED, reason)
    moved = series.moved(bad, level, fallen)
    return _around(word, fallen.last_good, fallen.first_bad), moved


def _still(series: Series, seen: _Looked, fallen: Fallen) -> tuple[Judged, Series]:
    """While it is slower: is the old level back? Surely below the new one, or two nights nearer to the old."""
    limits, level, one = series.limits, seen.level, seen.one
    whole = replace(one, value=level.value - fallen.base)
    near = [value - fallen.base < fallen.step / 2 for value in (series.levels[-1].value, level.value)]
    if near[1] and (near[0] or one.value < -one.limit(limits.suspicion, limits.least)):
        back = replace(series.moved(0, level, None), levels=(*fallen.before, level))
        word = _word(series, level.night, whole, Verdict.RECOVERED, f"it was slower since {fallen.first_bad.night}")
        return _around(word, fallen.last_good, fallen.first_bad), back
    word = _word(series, level.night, whole, Verdict.REGRESSED, f"since {fallen.first_bad.night}")
    return _around(word, fallen.last_good, fallen.first_bad), series.with_night(level)


def _around(word: Judged, last_good: CaseNight | None, first_bad: CaseNight) -> Judged:
    return replace(word, last_good="" if last_good is None else last_good.run_id, first_bad=first_bad.run_id)


def _say(series: Series, own: CaseNight, verdict: Verdict, reason: str) -> Judged:
    nights = series.nights + (1 if own.rounds_s else 0)
    return Judged(key=own.key, night=own.night, verdict=verdict, nights=nights, reason=reason)


def _word(series: Series, own: CaseNight, miss: Miss, verdict: Verdict, reason: str) -> Judged:
    half = t_above(_OUTSIDE, miss.freedom) * miss.scale
    return replace(
        _say(series, own, verdict, reason),
        change=_ratio(miss.value),
        low=_ratio(miss.value - half),
        high=_ratio(miss.value + half),
        threshold=_ratio(miss.limit(series.limits.alarm, series.limits.least)),
        p=chance_above(miss.value / miss.scale, miss.freedom),
    )


def _ratio(log: float) -> float:
    return math.exp(min(max(log, -700.0), 700.0))
