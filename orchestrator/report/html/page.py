"""Pure but for reading its own templates: a run's report as one HTML file that opens without a network.

Every text goes through Jinja's escaping or, in the JSON for the script, through `textContent`; the page's own policy
(CSP) lets it load nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from orchestrator.report import source
from orchestrator.report.ab_text import ab_section
from orchestrator.report.blocks import Block, Table
from orchestrator.report.checks import ERROR_NOTE as CHECK_NOTE
from orchestrator.report.html.cells import DetailFrames, Details, cell_id, details
from orchestrator.report.html.heat import LEGEND, HeatMap, heat_map, one_setting
from orchestrator.report.html.pairs import GraphPair
from orchestrator.report.html.why import why_words
from orchestrator.report.lines import joined, shown
from orchestrator.report.markdown import METHOD
from orchestrator.report.numbers import NOTHING, decimals_for, ms, percent, ratio
from orchestrator.report.replay_text import replay_section
from orchestrator.report.sections import (
    cold_section,
    dropped_section,
    nnapi_section,
    provenance_section,
    rejected_section,
    sustained_section,
    variants_section,
)
from orchestrator.report.sentence import how_sure
from orchestrator.report.stats import Sureness
from orchestrator.report.summary import ModelSummary, PhoneAnswer, RunSummary, SettingRow
from orchestrator.report.tally import on_one_line
from orchestrator.report.terminal import (
    VIRTUAL_NOTE,
    counts_words,
    footer_words,
    hands_words,
    model_words,
    phone_notes,
    run_words,
    setting_name,
)
from orchestrator.report.trust_text import shell_notes, trust_words
from orchestrator.report.tune_text import tune_section

if TYPE_CHECKING:
    import jinja2

_SURE = {Sureness.SURE: "good", Sureness.TIE: "middling", Sureness.NO_ANSWER: "bad"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLine:
    """One phone in the table that answers: what to use, its figure, against the default, how sure."""

    name: str
    use: str
    p50: str
    versus: str
    sure: str
    standing: str
    cell: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingLine:
    """One setting in a phone's table: its cells as text, with what the script sorts and filters by."""

    cell: str
    rank: str
    name: str
    figures: tuple[str, ...]
    sort: tuple[float | None, ...]
    remarks: str
    measured: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneView:
    """One phone's table and what stands below it."""

    title: str
    label: str
    virtual: bool
    lines: tuple[SettingLine, ...]
    notes: tuple[str, ...]
    sections: tuple[Block, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelView:
    """One model: first what a reader needs, then every table."""

    name: str
    anchor: str
    sentence: str
    words: str
    badge: str
    answers: tuple[AnswerLine, ...]
    common: tuple[str, ...]
    heat: HeatMap
    notes: tuple[str, ...]
    trust: tuple[tuple[str, str], ...]
    phones: tuple[PhoneView, ...]
    variants: tuple[Block, ...]
    pairs: tuple[GraphPair, ...]
    dropped: tuple[Block, ...]


COLUMNS = ("p50 ms", "±95 %", "p90", "vs default", "session ms", "n")
"""A phone's table: what stands between a setting's name and its remarks."""


def render_html(summary: RunSummary, frames: DetailFrames) -> str:
    """The report as one file; its title is the sentence."""
    found = details(summary, frames)
    base = "default" if summary.ab is None else "A"
    return template().render(
        title=shown(summary.headline),
        run=summary.head,
        run_words=run_words(summary),
        counts=[*counts_words(summary), *hands_words(summary)],
        models=[_model(summary, model, at, found) for at, model in enumerate(summary.models)],
        columns=[head.replace("default", base) for head in COLUMNS],
        base=base,
        ab=ab_section(summary.ab, summary.gates),
        tune=tune_section(summary.tune),
        replay=replay_section(summary.replay),
        legend=LEGEND,
        method=METHOD,
        rejected=rejected_section(source.records(frames.attempts)),
        provenance=provenance_section(summary.head),
        repeat=shown(summary.head.command),
        data=_json(found),
        style=_static("page.css"),
        script=_static("page.js"),
        plotly=_static("plotly-basic.min.js"),
        cell_id=cell_id,
    )


def _model(summary: RunSummary, model: ModelSummary, at: int, found: Details) -> ModelView:
    real = [phone for phone in model.phones if not phone.virtual]
    virtual = [phone for phone in model.phones if phone.virtual]
    decimals = decimals_for(phone.best.p50_s if phone.best else None for phone in model.phones)
    tuned = any(phone.tuned for phone in model.phones)
    kinds = " AND ".join(word for word, some in (("REAL", real), ("VIRTUAL", virtual)) if some)
    notes = ([VIRTUAL_NOTE] if virtual else []) + (shell_notes(real) if real else [])
    return ModelView(
        name=shown(model.model),
        anchor=f"model-{at}",
        sentence=shown(model.sentence),
        words=model_words(summary, model),
        badge=joined([kinds, "TUNED" if tuned else "STOCK"]),
        answers=tuple(_answer(model.model, phone, decimals) for phone in model.phones),
        common=tuple(shown(words) for group in (real, virtual) if (words := one_setting(group))),
        heat=heat_map(model),
        notes=tuple(notes),
        trust=tuple((phone.label or phone.phone, words) for phone in model.phones if (words := _trust(phone, model))),
        phones=tuple(_phone(model.model, phone) for phone in model.phones),
        variants=tuple(variants_section(model)),
        pairs=tuple(found.pairs[model.model]),
        dropped=tuple(dropped_section(model)),
    )


def _answer(model: str, phone: PhoneAnswer, decimals: int) -> AnswerLine:
    best = phone.best
    nothing = phone.verdict.sureness is Sureness.NO_ANSWER or best is None
    versus = NOTHING
    if best is not None and not nothing:
        against = best.vs_default
        versus = ratio(against.value, against.half_width) if against else ("1.00×" if phone.baseline else NOTHING)
    return AnswerLine(
        name=shown(phone.name),
        use=shown(f"no answer: {phone.verdict.reason}" if nothing or best is None else best.row),
        p50=NOTHING if nothing or best is None else ms(best.p50_s, decimals),
        versus=versus,
        sure=how_sure(phone),
        standing=_SURE[phone.verdict.sureness],
        cell="" if best is None else cell_id(model, phone.phone, best.case),
        notes=tuple(shown(words) for words in (*why_words(phone), *phone_notes(phone)) if words),
    )


def _trust(phone: PhoneAnswer, model: ModelSummary) -> str:
    return shown(joined([footer_words(phone, model.model), *trust_words(phone)], " · "))


def _phone(model: str, phone: PhoneAnswer) -> PhoneView:
    decimals = decimals_for(row.p50_s for row in phone.rows)
    api = f"API {phone.api_level}" if phone.api_level is not None else ""
    sections = [*cold_section(phone), *sustained_section(phone.sustained)]
    sections += nnapi_section(phone.nnapi) if phone.nnapi else []
    notes = [footer_words(phone, model), *trust_words(phone)]
    notes += [CHECK_NOTE] if any(row.check is not None for row in phone.rows) else []
    return PhoneView(
        title=shown(joined(["virtual" if phone.virtual else "", phone.name, phone.serial, api])),
        label=shown(phone.label or phone.phone),
        virtual=phone.virtual,
        lines=tuple(_setting(model, phone, row, decimals) for row in phone.rows),
        notes=tuple(shown(words) for words in notes if words),
        sections=tuple(sections),
        reason=shown(phone.verdict.reason) if not phone.rows else "",
    )


def _setting(model: str, phone: PhoneAnswer, row: SettingRow, decimals: int) -> SettingLine:
    versus = ratio(row.vs_default.value, row.vs_default.half_width) if row.vs_default else NOTHING
    worth = row.vs_default.value if row.vs_default else None
    if row.row == phone.baseline:
        versus, worth = "1.00×", 1.0
    checked = row.check.worst.words if row.check is not None and row.check.worst is not None else ""
    resolves = f"tells {percent(row.resolves)}" if row.resolves is not None else ""
    return SettingLine(
        cell=cell_id(model, phone.phone, row.case),
        rank=NOTHING if row.rank is None else f"{row.rank}{'=' if row.shared else ''}",
        name=shown(setting_name(row)),
        figures=(
            ms(row.p50_s, decimals),
            ms(row.half_width_s, decimals),
            ms(row.p90_s, decimals),
            versus,
            ms(row.session_creation_s, 1),
            f"{row.n} of {row.rounds}",
        ),
        sort=(row.p50_s, row.half_width_s, row.p90_s, worth, row.session_creation_s, float(row.n)),
        remarks=shown(on_one_line("; ".join(part for part in (*row.marks, row.reason, checked, resolves) if part))),
        measured=row.p50_s is not None,
    )


def _json(found: Details) -> str:
    """JSON that may stand inside a script element: nothing in it can end that."""
    pairs = {one.id: one.data for own in found.pairs.values() for one in own}
    words = json.dumps(
        {"cells": found.cells, "graphs": found.graphs, "pairs": pairs}, ensure_ascii=True, allow_nan=False
    )
    return words.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def template() -> jinja2.Template:
    """The page's template; it is compiled once a process."""
    import jinja2  # noqa: PLC0415 - only who asks for HTML needs it

    def is_table(block: Block) -> bool:
        return isinstance(block, Table)

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests["table"] = is_table
    environment.filters["shown"] = shown
    return environment.from_string(_static("page.html.jinja"))


@cache
def _static(name: str) -> str:
    return (files(__package__) / "static" / name).read_text(encoding="utf-8")
