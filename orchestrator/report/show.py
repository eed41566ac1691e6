"""Pure: what `orch show RUN[/PHONE[/ROW]]` tells. Every round behind a row, with all that can be checked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.errors import Problem, UsageError
from orchestrator.report import source, stats
from orchestrator.report.hands import ShownIncident, incidents_of
from orchestrator.report.shown_attempt import ReadEvidence, ShownAttempt, shown_attempt
from orchestrator.report.source import Cell, Row, RunFrames, rounds_of, text, whole
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import PhoneAnswer, RunSummary, SettingRow
from orchestrator.report.tally import why_skipped
from orchestrator.report.why_number import WhySource, why_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What was asked to be shown: a run, a phone by label, serial or identity, a row by number or name."""

    run: str
    phone: str = ""
    row: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """One row of a phone. `number` is what names it behind the phone; `skipped` are (round, reason); `why` says in five
    sentences why its number is what it is, where one row was asked for."""

    number: int
    phone: str
    label: str
    model: str
    row: str
    also: tuple[str, ...]
    twin_of: str
    virtual: bool
    p50_s: float | None
    half_width_s: float | None
    n: int
    rounds: int
    reason: str
    attempts: tuple[ShownAttempt, ...]
    skipped: tuple[tuple[int, str], ...]
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowView:
    """What is shown: rows with their attempts; `detail` when one row was asked for, else what happened meanwhile."""

    run: str
    detail: bool
    rows: tuple[ShownRow, ...]
    incidents: tuple[ShownIncident, ...] = ()
    unread: tuple[str, ...] = ()
    """What this was made without, as it could not be read."""


def parse_target(words: str) -> Target:
    """`RUN`, `RUN/PHONE` or `RUN/PHONE/ROW`; a row's name may hold further slashes. Raises UsageError."""
    run, _, rest = words.partition("/")
    phone, _, row = rest.partition("/")
    if not run:
        raise UsageError(Problem(words or "RUN", "names no run", "RUN, RUN/PHONE or RUN/PHONE/ROW"))
    return Target(run=run, phone=phone, row=row)


def show(frames: RunFrames, target: Target, read_evidence: ReadEvidence) -> ShowView:
    """The rows that `target` names; attempts only where a phone is named, stderr only where a row is.

    Raises UsageError, with what there is, when it names none.
    """
    attempts: dict[tuple[str, str], list[Row]] = {}
    for row in source.records(frames.attempts):
        attempts.setdefault((text(row, "phone"), text(row, "case")), []).append(row)
    summary = summarize(frames)
    every = [row for rows in attempts.values() for row in rows]
    cells = source.cells(source.records(frames.trials), every)
    places = places_of(summary, cells, target)
    rows = []
    operators = source.records(frames.operators) if target.row else []
    for place in places:
        own = attempts.get((place.cell.phone, place.cell.case), []) if target.phone else []
        read = read_evidence if target.row else None
        found = _shown(place, tuple(shown_attempt(row, read) for row in own))
        rows.append(replace(found, why=_why(place, own, operators)) if target.row else found)
    phones = {place.cell.phone for place in places} if target.phone else None
    happened = () if target.row else incidents_of(source.records(frames.incidents))
    beside = tuple(one for one in happened if phones is None or one.phone in phones)
    return ShowView(
        run=summary.head.run, detail=bool(target.row), rows=tuple(rows), incidents=beside, unread=frames.unread
    )


def places_of(summary: RunSummary, cells: Sequence[Cell], target: Target) -> list[Place]:
    """The rows that `target` names. Raises UsageError, with what there is, when it names none."""
    places = [
        place
        for phone in _phones(summary)
        for place in _places(summary, phone, {(cell.model, cell.phone, cell.case): cell for cell in cells})
        if _is_phone(place.answer, target.phone) and _is_row(place, target.row)
    ]
    if not places:
        raise UsageError(_no_such(summary, target))
    return places


def _why(place: Place, tries: list[Row], operators: list[Row]) -> tuple[str, ...]:
    cell = place.cell
    traced = [row for row in operators if (text(row, "phone"), text(row, "case")) == (cell.phone, cell.case)]
    known = WhySource(cell=cell, answer=place.answer, setting=place.setting, tries=tries, operators=traced)
    return why_number(known)


@dataclass(frozen=True, slots=True)
class Place:
    """A row of a phone's table, with what measured it; `number` is what names it behind the phone."""

    answer: PhoneAnswer
    cell: Cell
    setting: SettingRow | None
    number: int = 0


def _phones(summary: RunSummary) -> list[str]:
    return list(dict.fromkeys(answer.phone for model in summary.models for answer in model.phones))


def _places(summary: RunSummary, phone: str, cells: Mapping[tuple[str, str, str], Cell]) -> list[Place]:
    """All rows of a phone in the order of its tables, model by model, a twin measured on purpose behind the others."""
    result = []
    for model in summary.models:
        for answer in model.phones:
            if answer.phone == phone:
                result += [Place(answer, cells[(model.model, phone, row.case)], row) for row in answer.rows]
                twins = [cell for cell in cells.values() if cell.phone == phone and cell.model == model.model]
                result += [Place(answer, cell, None) for cell in twins if cell.twin_of]
    return [replace(place, number=at) for at, place in enumerate(result, start=1)]


def _is_phone(answer: PhoneAnswer, asked: str) -> bool:
    return asked in ("", answer.label, answer.serial, answer.phone)


def _is_row(place: Place, asked: str) -> bool:
    cell = place.cell
    return asked in ("", str(place.number), cell.row, f"{cell.model} {cell.row}", *cell.also)


def _no_such(summary: RunSummary, target: Target) -> Problem:
    answers = [answer for model in summary.models for answer in model.phones]
    asked = "/".join(part for part in (target.run, target.phone, target.row) if part)
    if target.phone and not any(_is_phone(answer, target.phone) for answer in answers):
        labels = ", ".join(dict.fromkeys(answer.label for answer in answers)) or "no phone"
        return Problem(asked, "no such phone in this run", f"there are: {labels}")
    listing = f"orch show {target.run}/{target.phone}".rstrip("/")
    return Problem(asked, "no such row" if target.row else "nothing was planned", f"{listing} lists the rows")


def _shown(place: Place, attempts: tuple[ShownAttempt, ...]) -> ShownRow:
    cell, setting = place.cell, place.setting
    rounds = rounds_of(cell)
    figure = stats.case_figure(list(rounds.values())) if rounds else None
    skipped = [row for row in cell.trials if text(row, "state") == "skipped"]
    return ShownRow(
        number=place.number,
        phone=place.answer.name,
        label=place.answer.label,
        model=cell.model,
        row=cell.row,
        also=cell.also,
        twin_of=cell.twin_of,
        virtual=place.answer.virtual,
        p50_s=figure.p50_s if figure else None,
        half_width_s=setting.half_width_s if setting else figure.half_width_s if figure else None,
        n=len(rounds),
        rounds=len(cell.trials),
        reason=setting.reason if setting else "",
        attempts=attempts,
        skipped=tuple((whole(row, "round") or 0, why_skipped(row)) for row in skipped),
    )
