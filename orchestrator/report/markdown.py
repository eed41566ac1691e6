"""Pure: report.md, the whole report: every phone's table, variants, what was not measured and why, provenance."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.report.ab_text import ab_section
from orchestrator.report.checks import ERROR_NOTE as CHECK_NOTE
from orchestrator.report.markdown_parts import blocks, code_block, escaped, paragraph, table
from orchestrator.report.numbers import NOTHING, decimals_for, ms, percent, ratio
from orchestrator.report.prepared import preparation_words
from orchestrator.report.replay_text import replay_section
from orchestrator.report.sections import (
    cold_section,
    dropped_section,
    nnapi_section,
    provenance_section,
    sustained_section,
    variants_section,
)
from orchestrator.report.sentence import how_sure
from orchestrator.report.stats import Sureness
from orchestrator.report.summary import ModelSummary, PhoneAnswer, RunSummary, SettingRow
from orchestrator.report.terminal import (
    VIRTUAL_NOTE,
    counts_words,
    footer_words,
    hands_words,
    model_words,
    run_words,
    setting_name,
)
from orchestrator.report.trust_text import shell_notes, trust_words
from orchestrator.report.tune_text import tune_section

METHOD = (
    "p50 is the median of the rounds' p50s, p90 the median of their p90s; a round is one process. Percentiles inside a "
    "round are linear interpolations between order statistics (Hyndman and Fan type 7), warm-up left out. ±95% is the "
    "half-width of Student's t over the logarithms of the rounds' p50s. Ratios are paired by round; where fewer than 3 "
    "rounds are common, they are Welch's, unpaired. A rank is shared where the ratio's interval does not separate two "
    "rows; fewer than 3 valid rounds have no rank. Intervals are not corrected for the number of rows."
)


def render_markdown(summary: RunSummary, *, repeat_command: str = "") -> str:
    """The report as GitHub's Markdown. `repeat_command` is the command that asks the same again; "" when unknown."""
    lines = [f"# {escaped(summary.headline)}", "", paragraph(run_words(summary)), ""]
    lines += [f"- {paragraph(words)}" for words in (*counts_words(summary), *hands_words(summary))]
    lines += ["", METHOD, ""]
    lines += ["## Asked again", "", *blocks(replay_section(summary.replay))] if summary.replay is not None else []
    lines += ["## A beside B", "", *blocks(ab_section(summary.ab, summary.gates))] if summary.ab is not None else []
    lines += ["## The search", "", *blocks(tune_section(summary.tune))] if summary.tune is not None else []
    for model in summary.models:
        lines += _model(summary, model)
    lines += _provenance(summary, repeat_command or summary.head.command)
    return "\n".join(lines) + "\n"


def _model(summary: RunSummary, model: ModelSummary) -> list[str]:
    lines = [
        f"## {escaped(model.model)}",
        "",
        paragraph(model.sentence),
        "",
        paragraph(model_words(summary, model)),
        "",
    ]
    real = [phone for phone in model.phones if not phone.virtual]
    virtual = [phone for phone in model.phones if phone.virtual]
    answered = summary.answered_above
    if real and not answered:
        lines += _answers(real)
    if real:
        lines += [*(part for words in shell_notes(real) for part in (paragraph(words), ""))]
    if virtual:
        lines += [f"**{VIRTUAL_NOTE}**", "", *([] if answered else _answers(virtual))]
    for phone in model.phones:
        lines += _phone(phone, model.model, "vs default" if summary.ab is None else "vs A")
    for title, parts in (("Variants", variants_section(model)), ("Dropped beforehand", dropped_section(model))):
        lines += [f"### {title}", "", *blocks(parts)] if parts else []
    return lines


def _answers(phones: Sequence[PhoneAnswer]) -> list[str]:
    decimals = decimals_for(phone.best.p50_s if phone.best else None for phone in phones)
    rows = []
    for phone in phones:
        best = phone.best
        if phone.verdict.sureness is Sureness.NO_ANSWER or best is None:
            rows.append((phone.name, f"no answer: {phone.verdict.reason}", NOTHING, NOTHING, "no answer", NOTHING))
            continue
        against = best.vs_default
        versus = ratio(against.value, against.half_width) if against else ("1.00×" if phone.baseline else NOTHING)
        rows.append((phone.name, best.row, ms(best.p50_s, decimals), versus, how_sure(phone), str(best.n)))
    return table(("phone", "best setting", "p50 ms", "vs default", "how sure", "n"), rows, numbers=(2, 3, 5))


def _phone(phone: PhoneAnswer, model: str, versus: str) -> list[str]:
    kind = "virtual: " if phone.virtual else ""
    api = f", API {phone.api_level}" if phone.api_level is not None else ""
    lines = [f"### {escaped(f'{kind}{phone.name} ({phone.serial}{api})')}", ""]
    preparation = preparation_words(phone.prepared, phone.prepare_problem, tuned=phone.tuned)
    if preparation:
        lines += [paragraph(f"{preparation[0].upper()}{preparation[1:]}."), ""]
    for words in phone.battery:
        lines += [paragraph(f"{words[0].upper()}{words[1:]}."), ""]
    if phone.baseline_note:
        lines += [paragraph(phone.baseline_note), ""]
    if not phone.rows:
        return [*lines, paragraph(phone.verdict.reason), ""]
    decimals = decimals_for(row.p50_s for row in phone.rows)
    checked = any(row.check is not None for row in phone.rows)
    heads = [
        "#",
        "setting",
        "p50 ms",
        "±95%",
        "resolves",
        "p90",
        versus,
        "session ms",
        "n",
        "iterations",
        "remarks",
    ]
    rows = [list(_cells(row, phone, decimals)) for row in phone.rows]
    if checked:
        heads.insert(-1, "computes")
        for cells, row in zip(rows, phone.rows, strict=True):
            cells.insert(-1, _computes(row))
    lines += table(heads, rows, numbers=(2, 3, 4, 5, 6, 7, 8, 9))
    for words in (footer_words(phone, model), *trust_words(phone), CHECK_NOTE if checked else ""):
        lines += [paragraph(words), ""] if words else []
    nnapi = nnapi_section(phone.nnapi) if phone.nnapi else []
    return lines + blocks([*cold_section(phone), *sustained_section(phone.sustained), *nnapi])


def _computes(row: SettingRow) -> str:
    """`34 dB below the signal`: the worst output, and why others were not checked."""
    if row.check is None:
        return NOTHING
    worst = row.check.worst
    return "; ".join(words for words in (worst.words if worst is not None else "", row.check.unknown) if words)


def _cells(row: SettingRow, phone: PhoneAnswer, decimals: int) -> tuple[str, ...]:
    rank = NOTHING if row.rank is None else f"{row.rank}{'=' if row.shared else ''}"
    versus = ratio(row.vs_default.value, row.vs_default.half_width) if row.vs_default else NOTHING
    if row.row == phone.baseline:
        versus = "1.00×"
    return (
        rank,
        setting_name(row),
        ms(row.p50_s, decimals),
        ms(row.half_width_s, decimals),
        NOTHING if row.resolves is None else percent(row.resolves),
        ms(row.p90_s, decimals),
        versus,
        ms(row.session_creation_s, 1),
        f"{row.n} of {row.rounds}",
        NOTHING if row.iterations is None else str(row.iterations),
        "; ".join(part for part in (*row.marks, row.reason) if part),
    )


def _provenance(summary: RunSummary, repeat_command: str) -> list[str]:
    lines = ["## Where this comes from", "", *blocks(provenance_section(summary.head))]
    if repeat_command:
        lines += ["## How to repeat", "", *code_block(repeat_command), ""]
    return lines[:-1] if lines[-1] == "" else lines
