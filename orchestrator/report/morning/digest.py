"""Pure: a night's digest, and the one sentence that it begins with."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.nights.alerts import Seen, Slower, case_member
from orchestrator.nights.nouns import SeriesKey, Verdict
from orchestrator.report.lines import joined
from orchestrator.report.morning.absences import away, died, hands, lost_phones, not_measured
from orchestrator.report.morning.nouns import Digest, Hand, Material, Shift
from orchestrator.report.morning.shifts import shifts
from orchestrator.report.numbers import percent, plural

_WELL = {
    Verdict.SAME: "fast again",
    Verdict.RECOVERED: "fast again",
    Verdict.IMPROVED: "fast again",
    Verdict.REBASED: "another system, a new base",
}
"""The words that end a regression, and what is said of its alert then."""


def digest(material: Material) -> Digest:
    """What a night left for people."""
    regressed = shifts(material, Verdict.REGRESSED)
    fresh, back, still = not_measured(material)
    needing = hands(material)
    own = [run for run in material.runs if not run.confirms]
    judged = [one for one in material.judged.values() if _tonight(material, one.key)]
    few = [one for one in judged if one.verdict is Verdict.INSUFFICIENT]
    return Digest(
        nightly=material.nightly,
        night=material.night,
        previous=material.previous,
        sentence=_sentence(material, regressed, needing),
        problem=material.problem,
        runs=material.runs,
        phones=len(material.phones),
        virtual=sum(one.virtual for one in material.phones.values()),
        planned=sum(run.planned for run in own),
        measured=sum(run.measured for run in own),
        failed=sum(run.failed for run in own),
        skipped=sum(run.skipped for run in own),
        hands=needing,
        regressed=regressed,
        suspected=shifts(material, Verdict.SUSPECTED),
        recovered=shifts(material, Verdict.RECOVERED),
        improved=shifts(material, Verdict.IMPROVED),
        rebased=shifts(material, Verdict.REBASED),
        same=sum(one.verdict is Verdict.SAME for one in judged),
        insufficient=len(few),
        insufficient_reason=few[0].reason if few else "",
        died=died(material),
        not_run=fresh,
        runs_again=back,
        still=still,
        opened=tuple(one for one in material.alerts if one.opened_night == material.night),
        standing=tuple(
            one for one in material.alerts if one.opened_night < material.night and one.closed_night != material.night
        ),
        closed=tuple(one for one in material.alerts if one.closed_night == material.night),
    )


def seen(material: Material) -> Seen:
    """What the night showed, as alerts are made of it."""
    slower = [
        Slower(key=SeriesKey(one.phone, one.model, one.recipe, one.row), words=slower_words(one), changes=one.changes)
        for one in shifts(material, Verdict.REGRESSED)
    ]
    well = {
        case_member(one.key): _WELL[one.verdict]
        for one in material.judged.values()
        if one.verdict in _WELL and _tonight(material, one.key)
    }
    gone = lost_phones(material)
    away_now = {one.phone for one in gone}
    lab = {*material.phones_before, *material.phones, *material.missing}
    lab |= {one.phone for one in material.registered.values() if one.expected}
    return Seen(
        slower=slower,
        well=well,
        lost=gone,
        there=[phone for phone in material.phones if phone not in away_now],
        in_hand=material.in_hand,
        lab={phone: material.where(phone) for phone in sorted(lab - set(material.in_hand))},
    )


def slower_words(one: Shift) -> str:
    """A regression in a few words: `B3 mobilenet_v2 nnapi fp16: 8.2 % slower`."""
    return f"{one.name} {one.model} {one.row}: {percent(one.change or 0.0)} slower"


def _tonight(material: Material, key: SeriesKey) -> bool:
    return any(one.night == material.night and one.rounds_s for one in material.histories.get(key, ()))


def _sentence(material: Material, regressed: Sequence[Shift], needing: Sequence[Hand]) -> str:
    if not material.runs:
        missing = len(away(material))
        gone = f", {plural(missing, 'phone is', 'phones are')} missing" if missing else ""
        why = material.problem.partition("\n")[0] or "no run of this night is in the ledger"
        return f"nothing was measured: {why}{gone}"
    fresh = [one for one in regressed if one.fresh]
    old = len(regressed) - len(fresh)
    missing = len(away(material))
    recovered = len(shifts(material, Verdict.RECOVERED))
    others = len({one.phone or one.why for one in needing if not one.missing})
    parts = [
        _fresh_words(fresh) if fresh else "nothing regressed",
        f"{plural(recovered, 'case')} recovered" if recovered else "",
        f"{plural(old, 'case is', 'cases are')} still slower" if old else "",
        f"{plural(missing, 'phone is', 'phones are')} missing" if missing else "",
        f"{others} more {'needs' if others == 1 else 'need'} hands" if others and missing else "",
        f"{plural(others, 'phone needs', 'phones need')} hands" if others and not missing else "",
    ]
    return joined(parts, ", ")


def _fresh_words(fresh: Sequence[Shift]) -> str:
    if len(fresh) == 1:
        return slower_words(fresh[0])
    likely = {one.changes[0].words.partition(":")[0] for one in fresh if one.changes and one.changes[0].likely}
    shared = next(iter(likely)) if len(likely) == 1 and all(one.changes for one in fresh) else ""
    return f"{len(fresh)} cases regressed" + (f" ({shared})" if shared else "")
