"""Gathers what a night left, from the ledger and the registry, for the morning digest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from orchestrator.app.kept import kept_from_text
from orchestrator.app.nightly.record import FILE as RECORD
from orchestrator.app.registry import Registry, absent_candidate, bar_of, read_registry
from orchestrator.errors import ExitCode, Problem, UsageError
from orchestrator.home import Home
from orchestrator.nights.alerts import Alert, AlertKind
from orchestrator.nights.nouns import CONFIRMS_TAG, CaseNight, Judged, SeriesKey, Verdict
from orchestrator.nights.rule import judge_each
from orchestrator.outcome import Skipped, SkipReason
from orchestrator.plan.select import matches_any, parse_devices
from orchestrator.report.hands import ShownIncident
from orchestrator.report.morning.digest import digest
from orchestrator.report.morning.nouns import Digest, LastSign, Material, NightPhone, NightRun
from orchestrator.store.battery_rows import battery_cells
from orchestrator.store.history import LAST, histories
from orchestrator.store.ledger import Ledger, RunSummary
from orchestrator.store.records import AttemptRecord, PhoneRecord, TrialRow, TrialState


def morning(home: Home, ledger: Ledger, nightly: str, night: str) -> Digest:
    """A night's digest as the ledger has it now; nothing is written. Raises StoreError."""
    return digest(material_of(home, ledger, nightly, night))


def which_night(home: Home, ledger: Ledger, nightly: str, night: str) -> tuple[str, str]:
    """The nightly and the night that are meant; empty: the only nightly, the newest night.

    Raises UsageError when no such night is in the ledger or beside it, or several nightlies are.
    """
    found: dict[str, set[str]] = {}
    for one in ledger.history.nightly_runs():
        found.setdefault(one.nightly, set()).add(one.night)
    for path in home.root.glob(f"nightly/*/[0-9]*/{RECORD}"):
        found.setdefault(path.parent.parent.name, set()).add(path.parent.name)
    known = ", ".join(sorted(found))
    if not found:
        raise UsageError(Problem("NIGHT", "no night is in this ledger", "orch nightly run measures one"))
    if not nightly and len(found) > 1:
        raise UsageError(Problem("--name", f"there are {len(found)} nightlies: {known}", "say which"))
    nightly = nightly or next(iter(found))
    if nightly not in found:
        raise UsageError(Problem("--name", f"no night of {nightly!r} is in this ledger", f"known: {known}"))
    nights = found[nightly]
    if night and night not in nights:
        newest = ", ".join(sorted(nights)[-5:])
        raise UsageError(Problem("NIGHT", f"{nightly} has no night {night!r}", f"its newest: {newest}"))
    return nightly, night or max(nights)


def material_of(home: Home, ledger: Ledger, nightly: str, night: str) -> Material:
    """What the ledger, the registry and the night's record know of a night. Raises StoreError."""
    every = [one for one in ledger.history.nightly_runs() if one.nightly == nightly]
    nights = {one.night for one in every}
    previous = max((one for one in nights if one < night), default="")
    runs, before = ([ledger.summary(one.run_id) for one in every if one.night == of] for of in (night, previous))
    series = _until(histories(ledger, nightly=nightly, last=LAST + sum(one > night for one in nights)), night)
    judged, stood = _judged(series, night)
    registry = read_registry(home)
    now = datetime.now(UTC)
    phones, phones_before = _phones(ledger, runs), _phones(ledger, before)
    alerts = ledger.alerts.on(nightly, night)
    missing = {*_missing(registry, runs, phones), *_still_away(alerts, phones)}
    older = _older(ledger, series, sorted(missing - set(phones_before)))
    tried = _attempts(ledger, runs)
    problem, code = _record(home, nightly, night)
    return Material(
        nightly=nightly,
        night=night,
        runs=tuple(_night_run(one) for one in runs),
        problem=problem,
        nobody=code == ExitCode.NO_DEVICE and not runs,
        previous=previous,
        histories=series,
        judged=judged,
        stood=stood,
        phones={phone: _night_phone(one, ledger, runs[0].run.run_id) for phone, one in phones.items()},
        phones_before={phone: _night_phone(one, ledger, before[0].run.run_id) for phone, one in phones_before.items()},
        phones_older={phone: one for phone, (one, _) in older.items()},
        registered=registry.phones,
        in_hand=[phone for phone, one in registry.phones.items() if one.held(now) or one.retired],
        quarantined={
            phone: bar_of(one, now)[1]
            for phone, one in registry.phones.items()
            if one.kept_out(now) and not one.held(now) and not one.retired
        },
        missing=sorted(missing),
        lost=_lost([ledger.trials(one.run.run_id) for one in runs]),
        incidents=tuple(one for run in runs for one in incidents_now(ledger, run.run.run_id, phones)),
        last_signs={phone: sign for phone, (_, sign) in older.items() if sign}
        | _signs([*_attempts(ledger, before), *tried]),
        care={phone: care for phone in phones if (care := _care(ledger, phone, runs, tried))},
        dropped=tuple(cell for run in runs for cell in ledger.contents(run.run.run_id).dropped),
        alerts=alerts,
    )


def _record(home: Home, nightly: str, night: str) -> tuple[str, int | None]:
    """Why a night could not be carried out, and its exit code, as its record has them; nothing where there is none."""
    try:
        found = json.loads((home.root / "nightly" / nightly / night / RECORD).read_text(encoding="utf-8"))
        problem, code = found.get("problem"), found.get("exit")
    except (OSError, ValueError, AttributeError):
        return "", None
    return (problem if isinstance(problem, str) else ""), (code if isinstance(code, int) else None)


def incidents_now(ledger: Ledger, run_id: str, phones: Mapping[str, PhoneRecord]) -> list[ShownIncident]:
    """What happened to a run's phones so far, in its order."""
    return [
        ShownIncident(
            at=one.at.isoformat()[:19].replace("T", " "),
            phone=one.phone,
            label=phones[one.phone].label if one.phone in phones else one.phone,
            seen=one.seen,
            rung=one.rung,
            result=one.result,
            words=one.words,
            took_s=one.took_s,
        )
        for one in ledger.incidents.of(run_id)
    ]


# --- runs and series ---------------------------------------------------------------------------------------------


def _night_run(one: RunSummary) -> NightRun:
    return NightRun(
        run=one.run.run_id, state=one.state.value, planned=one.planned, measured=one.measured, failed=one.failed,
        skipped=one.skipped, began_at=one.run.created_at.astimezone(UTC).isoformat(timespec="seconds"),
        confirms=next((tag.removeprefix(CONFIRMS_TAG) for tag in one.run.tags if tag.startswith(CONFIRMS_TAG)), ""),
    )  # fmt: skip


def _until(series: Mapping[SeriesKey, tuple[CaseNight, ...]], night: str) -> dict[SeriesKey, tuple[CaseNight, ...]]:
    """The series as they were after a night; those that began later are not there."""
    cut = {key: tuple(one for one in nights if one.night <= night) for key, nights in series.items()}
    return {key: nights for key, nights in cut.items() if nights}


def _judged(
    series: Mapping[SeriesKey, tuple[CaseNight, ...]], night: str
) -> tuple[dict[SeriesKey, Judged], set[SeriesKey]]:
    """The word on each series after a night that it has, and which of them had regressed before it."""
    judged: dict[SeriesKey, Judged] = {}
    stood: set[SeriesKey] = set()
    for key, nights in series.items():
        if nights[-1].night != night:
            continue
        words = judge_each(nights)
        judged[key] = words[-1]
        figures = [word for word in words if word.night < night and word.verdict is not Verdict.INSUFFICIENT]
        if figures and figures[-1].verdict is Verdict.REGRESSED:
            stood.add(key)
    return judged, stood


# --- phones ------------------------------------------------------------------------------------------------------


def _phones(ledger: Ledger, runs: Sequence[RunSummary]) -> dict[str, PhoneRecord]:
    """The phones of these runs, by identity."""
    return {phone.phone: phone for one in runs for phone in ledger.contents(one.run.run_id).phones}


def _night_phone(one: PhoneRecord, ledger: Ledger, run_id: str) -> NightPhone:
    readings = ledger.batteries.of(one.phone, up_to_run=run_id) or ledger.batteries.of(one.phone)
    return NightPhone(
        phone=one.phone, label=one.label, device_model=one.facts.device_model, soc=one.facts.soc,
        virtual=one.facts.virtual, where=readings[-1].place if readings else "",
    )  # fmt: skip


def _care(ledger: Ledger, phone: str, runs: Sequence[RunSummary], tried: Sequence[AttemptRecord]) -> tuple[str, ...]:
    """What a phone's battery asks of a person after these runs."""
    readings = ledger.batteries.of(phone, up_to_run=runs[0].run.run_id)
    care = battery_cells(readings, [one for one in tried if one.phone == phone]).get("battery_care")
    return tuple(care) if isinstance(care, list) else ()


def _missing(registry: Registry, runs: Sequence[RunSummary], phones: Mapping[str, PhoneRecord]) -> list[str]:
    """Phones that the night's first run asked for, and that were in none of its runs."""
    if not runs:
        return []
    try:
        expressions, _ = parse_devices(kept_from_text(runs[0].run.plan_json).devices)
    except (ValueError, KeyError, TypeError, UsageError):
        return []  # a plan of another program's version: nobody is called missing for that
    present = [name for one in phones.values() for name in (one.phone, one.serial)]
    asked = [(one, absent_candidate(one)) for one in registry.absent(present)]
    named = {term for one in expressions for term in one.terms}
    return [
        one.phone
        for one, candidate in asked
        if (one.expected or set(candidate.names()) & named) and matches_any(expressions, candidate)
    ]


def _still_away(alerts: Iterable[Alert], phones: Mapping[str, PhoneRecord]) -> set[str]:
    """The phones that an alert before this night held, and that are in none of its runs."""
    of_phones = [one for one in alerts if one.kind is not AlertKind.REGRESSION]
    return {member for one in of_phones for member in one.members} - set(phones)


def _lost(trials: Sequence[Sequence[TrialRow]]) -> list[str]:
    """The phones that the newest run which had them gave up."""
    given_up: dict[str, bool] = {}
    for rows in trials:
        there = {row.trial.phone for row in rows if row.state is TrialState.MEASURED}
        lost = {row.trial.phone for row in rows if _is_lost(row)}
        given_up |= {phone: phone in lost for phone in there | lost}
    return [phone for phone, gone in given_up.items() if gone]


def _is_lost(row: TrialRow) -> bool:
    return isinstance(row.outcome, Skipped) and row.outcome.reason is SkipReason.PHONE_LOST


def _older(
    ledger: Ledger, series: Mapping[SeriesKey, tuple[CaseNight, ...]], phones: Iterable[str]
) -> dict[str, tuple[NightPhone, LastSign | None]]:
    """Phones that are away for longer, as the newest night that measured them had them."""
    found: dict[str, tuple[NightPhone, LastSign | None]] = {}
    for phone in phones:
        nights = [one for key, own in series.items() if key.phone == phone for one in own if one.rounds_s]
        if nights:
            run_id = max(nights, key=lambda one: one.night).run_id
            record = next(one for one in ledger.contents(run_id).phones if one.phone == phone)
            found[phone] = (_night_phone(record, ledger, run_id), _signs(ledger.attempts(run_id)).get(phone))
    return found


def _attempts(ledger: Ledger, runs: Iterable[RunSummary]) -> list[AttemptRecord]:
    return [attempt for one in runs for attempt in ledger.attempts(one.run.run_id)]


def _signs(tried: Iterable[AttemptRecord]) -> dict[str, LastSign]:
    """The last that was heard of each phone: its newest attempt's moment, and the newest vitals."""
    signs: dict[str, LastSign] = {}
    for one in tried:
        known = signs.get(one.phone)
        vitals = one.after or one.before or (known.vitals if known is not None else None)
        at = one.recorded_at.astimezone(UTC).isoformat(timespec="seconds")
        signs[one.phone] = LastSign(at=at, vitals=vitals)
    return signs
