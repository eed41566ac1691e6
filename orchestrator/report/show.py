"""Pure: what `orch show RUN[/PHONE[/ROW]]` tells. Every round behind a row, with all that can be checked of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.errors import Problem, UsageError
from orchestrator.report import source, stats
from orchestrator.report.answer import rounds_of
from orchestrator.report.hands import ShownIncident, incidents_of
from orchestrator.report.source import Cell, Row, RunFrames, number, text, whole
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import PhoneAnswer, RunSummary, SettingRow
from orchestrator.report.tally import why_skipped

ReadEvidence = Callable[[str], bytes | None]
"""The bytes of an evidence file by its digest; None where the store has them no more."""

STDERR_LINES = 4
STDERR_BYTES = 4096

_DIGESTS = ("binary_digest", "variant", "inputs_digest", "script_digest", "graph_digest", "case", "trial", "attempt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What was asked to be shown: a run, a phone by label, serial or identity, a row by number or name."""

    run: str
    phone: str = ""
    row: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAttempt:
    """One attempt: how it ended, its figures in seconds, vitals as (name, before, after), the exact command, digests
    by what they are of, evidence by file name, the first lines of stderr."""

    attempt: str
    round: int
    number: int
    purpose: str
    outcome: str
    kind: str
    message: str
    p50_s: float | None
    p90_s: float | None
    iterations: int | None
    warm_up_dropped: int | None
    flat: bool | None
    exit_code: int | None
    slot_wait_s: float | None
    adopted: bool
    vitals: tuple[tuple[str, str, str], ...]
    argv: tuple[str, ...]
    digests: tuple[tuple[str, str], ...]
    evidence: tuple[tuple[str, str], ...]
    stderr: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """One row of a phone. `number` is what names it behind the phone; `skipped` are (round, reason)."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowView:
    """What is shown: rows with their attempts; `detail` when one row was asked for, else what happened meanwhile."""

    run: str
    detail: bool
    rows: tuple[ShownRow, ...]
    incidents: tuple[ShownIncident, ...] = ()


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
    places = [
        place
        for phone in _phones(summary)
        for place in _places(summary, phone, {(cell.model, cell.phone, cell.case): cell for cell in cells})
        if _is_phone(place.answer, target.phone) and _is_row(place, target.row)
    ]
    if not places:
        raise UsageError(_no_such(summary, target))
    rows = []
    for place in places:
        own = attempts.get((place.cell.phone, place.cell.case), []) if target.phone else []
        read = read_evidence if target.row else _nothing
        rows.append(_shown(place, tuple(_attempt(row, read) for row in own)))
    phones = {place.cell.phone for place in places} if target.phone else None
    happened = () if target.row else incidents_of(source.records(frames.incidents))
    beside = tuple(one for one in happened if phones is None or one.phone in phones)
    return ShowView(run=summary.head.run, detail=bool(target.row), rows=tuple(rows), incidents=beside)


@dataclass(frozen=True, slots=True)
class _Place:
    answer: PhoneAnswer
    cell: Cell
    setting: SettingRow | None
    number: int = 0


def _phones(summary: RunSummary) -> list[str]:
    return list(dict.fromkeys(answer.phone for model in summary.models for answer in model.phones))


def _places(summary: RunSummary, phone: str, cells: Mapping[tuple[str, str, str], Cell]) -> list[_Place]:
    """All rows of a phone in the order of its tables, model by model, a twin measured on purpose behind the others."""
    result = []
    for model in summary.models:
        for answer in model.phones:
            if answer.phone == phone:
                result += [_Place(answer, cells[(model.model, phone, row.case)], row) for row in answer.rows]
                twins = [cell for cell in cells.values() if cell.phone == phone and cell.model == model.model]
                result += [_Place(answer, cell, None) for cell in twins if cell.twin_of]
    return [replace(place, number=at) for at, place in enumerate(result, start=1)]


def _is_phone(answer: PhoneAnswer, asked: str) -> bool:
    return asked in ("", answer.label, answer.serial, answer.phone)


def _is_row(place: _Place, asked: str) -> bool:
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


def _shown(place: _Place, attempts: tuple[ShownAttempt, ...]) -> ShownRow:
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


def _attempt(row: Row, read_evidence: ReadEvidence) -> ShownAttempt:
    evidence = _pairs(row, "evidence")
    stderr = dict(evidence).get("stderr")
    return ShownAttempt(
        attempt=text(row, "attempt"),
        round=whole(row, "round") or 0,
        number=whole(row, "number") or 0,
        purpose=text(row, "purpose", "time"),
        outcome=text(row, "outcome"),
        kind=text(row, "kind"),
        message=text(row, "message"),
        p50_s=number(row, "p50_s"),
        p90_s=number(row, "p90_s"),
        iterations=whole(row, "iterations"),
        warm_up_dropped=whole(row, "warm_up_dropped"),
        flat=None if row.get("flat") is None else source.flag(row, "flat"),
        exit_code=whole(row, "exit_code"),
        slot_wait_s=number(row, "slot_wait_s"),
        adopted=source.flag(row, "adopted"),
        vitals=_vitals(row),
        argv=_words(row, "argv"),
        digests=tuple((key, value) for key in _DIGESTS if (value := text(row, key))),
        evidence=evidence,
        stderr=_first_lines(read_evidence(stderr)) if stderr else (),
    )


def _nothing(_digest: str) -> bytes | None:
    return None


def _first_lines(data: bytes | None) -> tuple[str, ...]:
    if data is None:
        return ("(no longer in the evidence store)",)
    lines = data[:STDERR_BYTES].decode("utf-8", errors="replace").splitlines()
    more = len(lines) > STDERR_LINES or len(data) > STDERR_BYTES
    return (*lines[:STDERR_LINES], *(["…"] if more else []))


def _vitals(row: Row) -> tuple[tuple[str, str, str], ...]:
    """Columns that come in pairs, `before_x` and `after_x` or `x_before` and `x_after`, as (x, before, after)."""
    found: dict[str, list[str]] = {}
    for key in row:
        for at, word in enumerate(("before", "after")):
            name = key.removeprefix(f"{word}_") if key.startswith(f"{word}_") else key.removesuffix(f"_{word}")
            if name != key:
                found.setdefault(name, ["", ""])[at] = _brief(row[key])
    return tuple((name, before, after) for name, (before, after) in found.items() if before or after)


def _brief(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return " ".join(f"{key} {_brief(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(_brief(item) for item in value)
    return str(value)


def _parsed(row: Row, key: str) -> object:
    """A cell that holds a structure, also where it comes as JSON text."""
    value = row.get(key)
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _pairs(row: Row, key: str) -> tuple[tuple[str, str], ...]:
    value = _parsed(row, key)
    return tuple((str(name), str(item)) for name, item in value.items()) if isinstance(value, Mapping) else ()


def _words(row: Row, key: str) -> tuple[str, ...]:
    value = _parsed(row, key)
    if isinstance(value, str):
        return (value,)
    return tuple(str(item) for item in value) if isinstance(value, Sequence) else ()
