"""Pure: what was not measured and why, who is not there, who needs hands, and what a dead phone's twin measured."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from android_runner.facts import Vitals
from android_runner.host.usb_path import place_words
from android_runner.recovery.ladder import MENDS
from android_runner.recovery.rungs import Result, Seen
from orchestrator.nights.alerts import Lost
from orchestrator.nights.nouns import CaseNight, SeriesKey
from orchestrator.report.hands import ShownIncident
from orchestrator.report.lines import as_listed, joined
from orchestrator.report.morning.nouns import Died, Hand, LastSign, Material, NightPhone, NotRun, Twin, TwinFigure
from orchestrator.report.morning.shifts import case_words
from orchestrator.report.numbers import span

NOT_ASKED = "not asked any more"
_GONE_MEND = MENDS[Seen.GONE]

# --- who is not there --------------------------------------------------------------------------------------------


def away(material: Material) -> tuple[str, ...]:
    """The phones that are not there at the night's end, by identity, in the order of their names.

    Of this night's phones those that were given up or whose climb ended; beyond them those that were asked for and not
    there, and those of the night before. Who is held or retired is no loss, nor who was in quarantine when the night
    began; nor is anybody of a night without a run, unless that was for want of phones.
    """
    if not material.runs and not material.nobody:
        return ()
    gone_tonight = {*material.lost, *ends(material.incidents)}
    elsewhere = {*material.missing, *material.phones_before} - set(material.phones) - set(material.quarantined)
    gone = (gone_tonight | elsewhere) - set(material.in_hand)
    return tuple(sorted(gone, key=lambda one: as_listed(material.name(one))))


def ends(incidents: Sequence[ShownIncident]) -> dict[str, ShownIncident]:
    """The phones whose last climb ended in vain, by identity."""
    found: dict[str, ShownIncident] = {}
    for one in incidents:
        if one.phone and one.result == Result.ENDED:
            found[one.phone] = one
        elif one.result == Result.BACK:
            found.pop(one.phone, None)
    return found


def lost_phones(material: Material) -> tuple[Lost, ...]:
    """Who is not there, as alerts take it."""
    found = []
    for phone in away(material):
        hand = _missing(material, phone)
        where = material.where(phone)
        words = joined([joined([hand.name, hand.device_model], " "), f"({hand.where})" if hand.where else ""], " ")
        found.append(Lost(phone=phone, name=hand.name, where=where, words=f"{words}: {hand.why}: {hand.mend}"))
    return tuple(found)


# --- hands -------------------------------------------------------------------------------------------------------


def hands(material: Material) -> tuple[Hand, ...]:
    """Who needs a person: the missing first, then those kept out of runs, hubs and servers, batteries."""
    gone = away(material)
    missing = [_missing(material, phone) for phone in gone]
    kept_out = [
        _hand(material, phone, f"in quarantine: {words}", "")
        for phone, words in material.quarantined.items()
        if phone not in gone and phone not in material.in_hand
    ]
    others = [
        Hand(phone="", name="", device_model="", where="", missing=False, why=words, mend="")
        for words in dict.fromkeys(
            one.words for one in material.incidents if not one.phone and one.result in (Result.ENDED, Result.FAILED)
        )
        if words
    ]
    batteries = [
        _hand(material, phone, words, "")
        for phone, cares in material.care.items()
        if phone not in gone
        for words in cares
    ]
    return (*missing, *kept_out, *others, *batteries)


def _hand(material: Material, phone: str, why: str, mend: str, *, missing: bool = False) -> Hand:
    return Hand(
        phone=phone, name=material.name(phone), device_model=_model(material, phone),
        where=place_words(material.where(phone)), missing=missing, why=why, mend=mend,
    )  # fmt: skip


def _missing(material: Material, phone: str) -> Hand:
    end = ends(material.incidents).get(phone)
    sign = material.last_signs.get(phone)
    since = f"last heard {clock_words(sign.at)}" if sign is not None else "never heard"
    seen = end.seen if end is not None else Seen.GONE.value
    mend = next((mend for state, mend in MENDS.items() if state.value == seen), _GONE_MEND)
    return _hand(material, phone, f"{'missing' if seen == Seen.GONE else seen}, {since}", mend, missing=True)


def clock_words(at: str) -> str:
    """A moment in ISO form, UTC, to the minute: `2026-04-12 02:10 UTC`."""
    return f"{at[:16].replace('T', ' ')} UTC"


def _model(material: Material, phone: str) -> str:
    seen = material.seen(phone)
    if seen is not None:
        return seen.device_model
    known = material.registered.get(phone)
    return known.seen.device_model if known is not None and known.seen is not None else ""


# --- who died ----------------------------------------------------------------------------------------------------


def died(material: Material) -> tuple[Died, ...]:
    """The phones that were there in this night or in the one before, and are not at this one's end."""
    gone = away(material)
    return tuple(
        _died(material, phone, gone) for phone in gone if phone in material.phones or phone in material.phones_before
    )


def _died(material: Material, phone: str, gone: Sequence[str]) -> Died:
    seen = material.seen(phone)
    assert seen is not None
    sign = material.last_signs.get(phone, LastSign(at=""))
    return Died(
        phone=phone,
        name=material.name(phone),
        device_model=seen.device_model,
        soc=seen.soc,
        where=place_words(material.where(phone)),
        at=sign.at,
        vitals=vitals_words(sign.vitals),
        tried=tuple(_tried(one) for one in material.incidents if one.phone == phone),
        twin=_twin(material, seen, gone),
    )


def _tried(one: ShownIncident) -> str:
    took = span(one.took_s) if one.took_s >= 1 else ""
    return joined([f"{one.at[11:]} {one.seen}; {one.rung}: {one.result}", took, one.words], ", ")


def vitals_words(vitals: Vitals | None) -> tuple[str, ...]:
    """What was last known of a phone, each in words."""
    if vitals is None:
        return ()
    warmest = max(vitals.zones_c.items(), key=lambda zone: zone[1], default=None)
    status = f", {vitals.battery_status}" if vitals.battery_status else ""
    said = (
        None if vitals.battery_level is None else f"battery {vitals.battery_level} %{status}",
        None if vitals.battery_c is None else f"battery {vitals.battery_c:.1f} °C",
        None if vitals.battery_health in (None, "", "Good") else f"battery health {vitals.battery_health}",
        None if warmest is None else f"{warmest[0]} {warmest[1]:.0f} °C",
        None if not vitals.thermal_status else f"thermal status {vitals.thermal_status}",
        None if vitals.uptime_s is None else f"up {span(vitals.uptime_s)}",
    )
    return tuple(words for words in said if words)


def _twin(material: Material, dead: NightPhone, gone: Sequence[str]) -> Twin | None:
    """The phone of the same device model and SoC that measured most of the dead one's cases this night."""
    keys = [key for key in material.histories if key.phone == dead.phone]
    best: Twin | None = None
    for one in sorted(material.phones.values(), key=lambda phone: as_listed(material.name(phone.phone))):
        if one.phone == dead.phone or one.phone in gone or (one.device_model, one.soc) != (dead.device_model, dead.soc):
            continue
        figures = tuple(_figures(material, keys, one.phone))
        if best is None or len(figures) > len(best.figures):
            best = Twin(phone=one.phone, name=material.name(one.phone), figures=figures)
    return best


def _figures(material: Material, keys: Sequence[SeriesKey], twin: str) -> Iterator[TwinFigure]:
    for key in keys:
        there = SeriesKey(twin, key.model_name, key.recipe_name, key.row_name)
        rounds = _rounds(material.histories.get(there, ()), material.night)
        last = next((one for one in reversed(material.histories[key]) if one.rounds_s), None)
        if rounds:
            yield TwinFigure(
                model=key.model_name,
                recipe=key.recipe_name,
                row=key.row_name,
                twin_s=statistics.median(rounds),
                last_s=None if last is None else statistics.median(last.rounds_s),
                last_night="" if last is None else last.night,
            )


def _rounds(nights: Sequence[CaseNight], night: str) -> list[float]:
    return [value for one in nights if one.night == night for value in one.rounds_s]


# --- what was not measured ---------------------------------------------------------------------------------------


def not_measured(material: Material) -> tuple[tuple[NotRun, ...], tuple[NotRun, ...], int]:
    """What is news: cases that were not measured and were so, or otherwise, last night; cases that are measured again;
    and how many are not measured as last night. Cases of phones that are not there are said with these."""
    gone = set(away(material))
    fresh: dict[tuple[str, str], list[str]] = {}
    back: dict[tuple[str, str], list[str]] = {}
    still = 0
    dropped = {(one.model_name, one.phone, one.row): one.reason for one in material.dropped}
    for key, nights in material.histories.items():
        if key.phone in gone:
            continue
        now, before = _how(nights, material.night), _how(nights, material.previous)
        if now is None:  # not asked tonight: news only where it was asked last night
            now = None if before is None else dropped.get((key.model_name, key.phone, key.row_name), NOT_ASKED)
        if now and now == before:
            still += 1
        elif now:
            fresh.setdefault((key.phone, now), []).append(case_words(key))
        elif now == "" and before:
            back.setdefault((key.phone, before), []).append(case_words(key))
    return _grouped(material, fresh), _grouped(material, back), still


def _how(nights: Sequence[CaseNight], night: str) -> str | None:
    """How a case ended on a night: "" measured, None not asked."""
    there = [one for one in nights if night and one.night == night]
    if not there:
        return None
    return "" if any(one.rounds_s for one in there) else there[0].ended or "not measured"


def _grouped(material: Material, found: Mapping[tuple[str, str], list[str]]) -> tuple[NotRun, ...]:
    return tuple(
        NotRun(phone=phone, name=material.name(phone), reason=reason, cases=tuple(sorted(set(cases), key=as_listed)))
        for (phone, reason), cases in sorted(found.items(), key=lambda item: as_listed(material.name(item[0][0])))
    )
