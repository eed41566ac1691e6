"""Pure: what `orch plan` and `--dry-run` print, before a phone is touched. The CLI fills `PlanView`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.report.lines import Line, Span, joined, left, line, paragraph, rendered, widest, wrap
from orchestrator.report.numbers import plural, size, span
from orchestrator.report.summary import DroppedRow

MAX_DROPPED = 8
"""More settings than this, dropped, are counted instead of listed, unless all is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCase:
    """One setting of one model on one phone: its row, its merged names, the row that it twins on purpose (or "").

    `where_pays` names what it waits for in the first step (`NNAPI`); "" for a row of the first step itself.
    """

    model: str
    row: str
    also: tuple[str, ...] = ()
    twin_of: str = ""
    where_pays: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPhone:
    """One phone of a plan. `trials` counts its timed trials, `estimate_s` its seconds, `stage_bytes` what it lacks;
    None where nothing is known yet."""

    label: str
    device_model: str
    virtual: bool
    cases: tuple[PlanCase, ...]
    trials: int
    estimate_s: float | None = None
    stage_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """A whole plan.

    `estimate_s` is that of the longest phone and of whatever is built before, `estimate_basis` where it comes from;
    with `estimate_at_most` it counts rows that may turn out not to pay.
    `notes` are further lines that a person should read ("all variants are on the shelf").
    """

    name: str
    seed: int | None
    """None: one is drawn, and recorded, when it runs."""
    rounds: int
    phones: tuple[PlanPhone, ...]
    dropped: tuple[tuple[str, DroppedRow], ...] = ()
    """(model, what was dropped)"""
    estimate_s: float | None = None
    estimate_at_most: bool = False
    stage_bytes: int | None = None
    estimate_basis: str = ""
    notes: tuple[str, ...] = ()


def estimate_line(plan: PlanView) -> str:
    """The line that stands before every run: `quick: 105 trials on 3 phones, about 11 min 20 s, 21 MB to stage`."""
    trials = sum(phone.trials for phone in plan.phones)
    bound = "at most" if plan.estimate_at_most else "about"
    about = f"{bound} {span(plan.estimate_s)}" if plan.estimate_s is not None else "time not known yet"
    basis = f" ({plan.estimate_basis})" if plan.estimate_basis and plan.estimate_s is not None else ""
    stage = f"{size(plan.stage_bytes)} to stage" if plan.stage_bytes is not None else "bytes to stage not known yet"
    return f"{plan.name}: {plural(trials, 'trial')} on {plural(len(plan.phones), 'phone')}, {about}{basis}, {stage}"


def render_plan(plan: PlanView, *, all_rows: bool = False, width: int = 80, colour: bool = False) -> str:
    """The plan: estimate, then each phone's cases (phones with equal cases together), then what was dropped and why."""
    lines = paragraph(estimate_line(plan), width, style="bold", hang=2)
    order = f"order from seed {plan.seed}" if plan.seed is not None else "in an order whose seed is drawn when it runs"
    lines += paragraph(
        f"{plural(plan.rounds, 'round')}, interleaved, {order}; each round is a process of its own", width
    )
    for note in plan.notes:
        lines += paragraph(note, width, hang=2)
    groups: dict[tuple[PlanCase, ...], list[PlanPhone]] = {}
    for phone in plan.phones:
        groups.setdefault(phone.cases, []).append(phone)
    for cases, phones in groups.items():
        lines.append(())
        for phone in phones:
            lines += _phone(phone, width)
        lines += _cases(cases, width)
    lines += _dropped(plan.dropped, all_rows, width)
    return rendered(lines, colour=colour)


def _phone(phone: PlanPhone, width: int) -> list[Line]:
    words = [
        "virtual" if phone.virtual else "",
        f"{phone.label} {phone.device_model}".strip(),
        plural(phone.trials, "trial"),
        f"about {span(phone.estimate_s)}" if phone.estimate_s is not None else "",
        f"{size(phone.stage_bytes)} to stage" if phone.stage_bytes is not None else "",
    ]
    return paragraph(joined(words), width, style="bold", hang=2)


def _cases(cases: Sequence[PlanCase], width: int) -> list[Line]:
    if not cases:
        return [line("  no case left: see what was dropped")]
    lines: list[Line] = []
    by_model: dict[str, list[PlanCase]] = {}
    for case in cases:
        by_model.setdefault(case.model, []).append(case)
    for model, own in by_model.items():
        lines += paragraph(model, width, indent=2)
        at = widest((case.row for case in own), least=10, most=width // 2)
        for case in own:
            lines += _case(case, at, width)
    return lines


def _case(case: PlanCase, at: int, width: int) -> list[Line]:
    also = f"also {', '.join(case.also)}" if case.also else ""
    remark = joined([f"where {case.where_pays} pays" if case.where_pays else "", also])
    if case.twin_of:
        remark = f"twin of {case.twin_of}, measured on purpose"
    rows = wrap(case.row, at, hang=2)
    remarks = wrap(remark, width - at - 6) if remark else []
    return [
        line(
            f"    {left(rows[depth] if depth < len(rows) else '', at)}",
            Span(f"  {remarks[depth]}" if depth < len(remarks) else "", "dim"),
        )
        for depth in range(max(len(rows), len(remarks)))
    ]


def _dropped(dropped: Sequence[tuple[str, DroppedRow]], all_rows: bool, width: int) -> list[Line]:
    """What was dropped: the same setting for the same reason is said once, with all its phones."""
    if not dropped:
        return []
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for model, drop in dropped:
        labels = grouped.setdefault((model, drop.row, drop.reason), [])
        labels += [label for label in drop.phones if label not in labels]
    rows = list(grouped.items())
    lines: list[Line] = [(), line(f"dropped: {plural(len(rows), 'setting')}, not trials")]
    listed = rows if all_rows or len(rows) <= MAX_DROPPED else rows[:MAX_DROPPED]
    for (model, row, reason), labels in listed:
        lines += paragraph(f"{model}: {row}: {reason} ({', '.join(labels)})", width, indent=2, hang=4)
    hidden = len(rows) - len(listed)
    return [*lines, line(f"  and {hidden} more")] if hidden else lines
