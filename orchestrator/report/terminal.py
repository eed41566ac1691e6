"""Pure: the end of a run on a terminal. At most `width` cells, and the same characters with and without colour."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from orchestrator.report.ab_text import ab_lines
from orchestrator.report.checks import ERROR_NOTE
from orchestrator.report.cold_text import cold_headline, cold_lines
from orchestrator.report.cores import cores_words
from orchestrator.report.lines import Line, Span, fit, joined, left, line, paragraph, rendered, right, widest, wrap
from orchestrator.report.nnapi_text import nnapi_lines, nnapi_note
from orchestrator.report.numbers import NOTHING, decimals_for, ms, percent, plural, ratio, span
from orchestrator.report.phone_columns import errors, resolved, taken_by_nnapi
from orchestrator.report.prepared import preparation_words
from orchestrator.report.replay_text import replay_lines
from orchestrator.report.sentence import how_sure
from orchestrator.report.stats import Sureness
from orchestrator.report.summary import ModelSummary, PhoneAnswer, RunSummary, SettingRow
from orchestrator.report.sustained_text import sustained_headline, sustained_lines
from orchestrator.report.tally import outcome_words
from orchestrator.report.trust_text import shell_notes, trust_words
from orchestrator.report.tune_text import tune_lines
from orchestrator.report.variants_text import variant_lines

MIN_WIDTH = 80
VIRTUAL_NOTE = "virtual: computed by this computer, says nothing of a phone's speed"
MAX_DROPPED = 4
"""More settings than this, dropped beforehand, are counted instead of listed, unless all is asked for."""

_STYLE = {Sureness.SURE: "good", Sureness.TIE: "warn", Sureness.NO_ANSWER: "bad"}


def render_terminal(summary: RunSummary, *, all_tables: bool = False, width: int = 80, colour: bool = False) -> str:
    """The whole answer as text: sentence, counts, a table of phones for each model, then settings phone by phone.

    Without `all_tables` each model shows one phone's table, the first with an answer. `width` is in cells; below 80 it
    is taken as 80.
    """
    width = max(width, MIN_WIDTH)
    lines = paragraph(summary.headline, width, style="bold")
    lines.append(())
    lines += _head(summary, width)
    lines += [(), *ab_lines(summary.ab, width, summary.gates)] if summary.ab is not None else []
    lines += [(), *replay_lines(summary.replay, width)] if summary.replay is not None else []
    lines += [(), *tune_lines(summary.tune, width)] if summary.tune is not None else []
    for model in summary.models:
        lines.append(())
        lines += _model(summary, model, all_tables, width)
    return rendered(lines, colour=colour)


def run_words(summary: RunSummary) -> str:
    """`run 0412-quick-7k2f · 1 model · 3 phones · 7 settings × 5 rounds · 11 min 20 s`."""
    phones = {phone.phone for model in summary.models for phone in model.phones}
    settings = {row.row for model in summary.models for phone in model.phones for row in phone.rows}
    head = summary.head
    return joined(
        [
            f"run {head.run}" if head.run else "run",
            plural(len(summary.models), "model"),
            plural(len(phones), "phone"),
            f"{plural(len(settings), 'setting')} × {plural(head.rounds, 'round')}",
            span(head.duration_s),
            head.state if head.state not in ("", "finished") else "",
        ]
    )


def counts_words(summary: RunSummary) -> list[str]:
    """`105 planned = 78 measured + 17 failed (5 refused, 12 timed out) + 10 skipped`, a line for each purpose."""
    result = []
    for counts in summary.counts:
        rest = outcome_words(counts)
        name = "" if counts.purpose == "time" else f"{counts.purpose}: "
        result.append(f"{name}{counts.planned} planned = {counts.measured} measured{f' + {rest}' if rest else ''}")
    return result


def hands_words(summary: RunSummary) -> list[str]:
    """What is not as it should be: `needs hands: B3: no answer, quarantine: …`, a run that has not ended, evidence
    that could not be read."""
    still_open = sum(counts.open for counts in summary.counts)
    words = [f"not the whole run: {plural(still_open, 'trial')} not ended yet"] if still_open else []
    words += [f"needs hands: {one}" for one in summary.hands]
    return words + [f"made without: {one}" for one in summary.unread]


def model_words(summary: RunSummary, model: ModelSummary) -> str:
    """`ORT 1.23.2 · converter 1.31.1 · stock phones · default = .onnx, cpu, no options`."""
    head = summary.head
    tuned = [phone.label for phone in model.phones if phone.tuned]
    return joined(
        [
            f"ORT {head.ort_version}" if head.ort_version else "ORT version not told by the binary",
            f"converter {', '.join(head.converter_versions)}" if head.converter_versions else "",
            f"tuned: {', '.join(tuned)}" if tuned else "stock phones",
            "default = .onnx, cpu, no options" if summary.ab is None else "ratios are against A",
        ]
    )


def _head(summary: RunSummary, width: int) -> list[Line]:
    lines = paragraph(run_words(summary), width, hang=4)
    for words in (*counts_words(summary), *hands_words(summary)):
        lines += paragraph(words, width, hang=4)
    return lines


def _model(summary: RunSummary, model: ModelSummary, all_tables: bool, width: int) -> list[Line]:
    lines = paragraph(model.model, width, style="bold")
    if len(summary.models) > 1:
        lines += paragraph(model.sentence, width, indent=2, hang=2)
    lines += paragraph(model_words(summary, model), width, indent=2, hang=2)
    lines.append(())
    real = [phone for phone in model.phones if not phone.virtual]
    virtual = [phone for phone in model.phones if phone.virtual]
    widths = _answer_widths(model.phones, width)
    answered = summary.answered_above
    if real and not answered:
        lines += _answers(real, widths, width)
    if virtual:
        lines += [line(Span(f"  {VIRTUAL_NOTE}", "warn"))]
        lines += [] if answered else _answers(virtual, widths, width)
    lines += _notes(model.phones, width)
    for words in shell_notes(real):
        lines += paragraph(words, width, indent=2, hang=2, style="dim")
    tables = model.phones if all_tables else _first_answered(model.phones)
    for phone in tables:
        lines.append(())
        lines += phone_table(phone, model.model, width)
        lines += [*cold_lines(phone, width), *sustained_lines(phone.sustained, width)]
        lines += nnapi_lines(phone.nnapi, width) if phone.nnapi else []
    hidden = len(model.phones) - len(tables)
    if hidden > 0:
        lines += [(), line(Span(f"  {plural(hidden, 'more table')}: --all", "dim"))]
    lines += _dropped(model, all_tables, width)
    if all_tables and model.variants:
        lines += [(), *variant_lines(model.variants, width)]
    return lines


def _first_answered(phones: Sequence[PhoneAnswer]) -> Sequence[PhoneAnswer]:
    answered = [phone for phone in phones if phone.verdict.sureness is not Sureness.NO_ANSWER]
    with_figures = [phone for phone in phones if any(row.p50_s is not None for row in phone.rows)]
    return (answered or with_figures or list(phones))[:1]


def _answer_widths(phones: Sequence[PhoneAnswer], width: int) -> tuple[int, int]:
    """Cells for the phone's name and for the setting, which gets what the figures leave."""
    name_width = widest((phone.name for phone in phones), least=14, most=22)
    sure_width = widest((how_sure(phone) for phone in phones), least=8, most=14)
    return name_width, width - 2 - name_width - 2 - 10 - 2 - 14 - 2 - sure_width


def _answers(phones: Sequence[PhoneAnswer], widths: tuple[int, int], width: int) -> list[Line]:
    """The table of phones: `phone  best setting  p50  vs default  how sure`; a row wraps its setting, never cuts it."""
    decimals = decimals_for(phone.best.p50_s if phone.best else None for phone in phones)
    head = f"  {left('phone', widths[0])} {left('best setting', widths[1])} {right('p50 ms', 10)}  "
    lines = [line(Span(f"{head}{right('vs default', 14)}  how sure", "dim"))]
    for phone in phones:
        lines += _answer(phone, decimals, widths, width)
    return lines


def _answer(phone: PhoneAnswer, decimals: int, widths: tuple[int, int], width: int) -> list[Line]:
    name_width, setting_width = widths
    verdict, best = phone.verdict, phone.best
    name = f"  {left(phone.name, name_width)} "
    if verdict.sureness is Sureness.NO_ANSWER or best is None:
        words = wrap(f"no answer: {verdict.reason}", width - name_width - 3, hang=2)
        indent = " " * (name_width + 3)
        return [line(name, Span(words[0], "bad")), *(line(indent + more) for more in words[1:])]
    parts = wrap(best.row, setting_width, hang=1)
    versus = ratio(best.vs_default.value, best.vs_default.half_width) if best.vs_default else _unity(phone, best)
    figures = f" {right(ms(best.p50_s, decimals), 10)}  {right(versus, 14)}  "
    first = line(name + left(parts[0], setting_width) + figures, Span(how_sure(phone), _STYLE[verdict.sureness]))
    return [first, *(line(" " * (name_width + 3) + part) for part in parts[1:])]


def _unity(phone: PhoneAnswer, best: SettingRow) -> str:
    return "1.00×" if best.row == phone.baseline else NOTHING


def phone_notes(phone: PhoneAnswer) -> list[str]:
    """What a reader must know of a phone's answer: baseline, NNAPI, cold start, ties, preparation."""
    notes = [phone.baseline_note, nnapi_note(phone), cold_headline(phone), sustained_headline(phone.sustained)]
    if phone.verdict.sureness is Sureness.TIE:
        names = [row.row for row in phone.rows if row.rank == 1]
        notes.append(f"{phone.verdict.reason} among {', '.join(names)}")
    notes.append(preparation_words(phone.prepared, phone.prepare_problem, tuned=phone.tuned))
    return [words for words in (*notes, *phone.battery) if words]


def _notes(phones: Sequence[PhoneAnswer], width: int) -> list[Line]:
    """What a reader must know of each phone's answer, a paragraph a phone."""
    lines: list[Line] = []
    for phone in phones:
        if words := joined(phone_notes(phone), "; "):
            lines += paragraph(f"{fit(phone.label, 20)}  {words}", width, indent=2, hang=4)
    return [(), *lines] if lines else []


def phone_table(phone: PhoneAnswer, model: str, width: int) -> list[Line]:
    """All settings of one phone: rank, names, p50, half-width of the 95 % interval, p90, rounds, marks."""
    api = f"API {phone.api_level}" if phone.api_level is not None else ""
    title = joined(["virtual" if phone.virtual else "", phone.name, phone.serial, api, "tuned" if phone.tuned else ""])
    lines = paragraph(title, width, style="bold", hang=4)
    if not phone.rows:
        return [*lines, line(f"  {phone.verdict.reason}")]
    decimals = decimals_for(row.p50_s for row in phone.rows)
    columns = [[ms(value, decimals) for value in (row.p50_s, row.half_width_s, row.p90_s)] for row in phone.rows]
    figure_width = widest((text for row in columns for text in row), least=6, most=12)
    mark_width = widest(("; ".join(row.marks) for row in phone.rows), most=18)
    taken = ["".join(parts) for parts in zip(resolved(phone), taken_by_nnapi(phone), errors(phone), strict=True)]
    name_width = width - 6 - 3 * (figure_width + 1) - cell_len(taken[0]) - 4 - (mark_width + 2 if mark_width else 0)
    heads = "".join(f" {right(text, figure_width)}" for text in ("p50 ms", "±95%", "p90"))
    lines.append(line(Span(f"   #  {left('setting', name_width)}{heads}{taken[0]}   n", "dim")))
    for row, texts, what in zip(phone.rows, columns, taken[1:], strict=True):
        figures = "".join(f" {right(text, figure_width)}" for text in texts)
        lines += _setting(row, figures + what, name_width, width)
    return [*lines, *_footer(phone, model, width)]


def setting_name(row: SettingRow) -> str:
    """`cpu all (=extended =layout)`: the row and its other names, without the words that all of them begin with."""
    if not row.also:
        return row.row
    head = row.row.split(" ", 1)[0] + " "
    return f"{row.row} ({' '.join('=' + name.removeprefix(head) for name in row.also)})"


def _setting(row: SettingRow, figures: str, name_width: int, width: int) -> list[Line]:
    rank = f"{NOTHING if row.rank is None else row.rank}{'=' if row.shared else ' '}"
    style = "good" if row.rank == 1 else ""
    names = wrap(setting_name(row), name_width, hang=2)
    if row.p50_s is None:
        return _without_figure(names, row.reason, width)
    marks = wrap("; ".join([*row.marks]), 18) if row.marks else []
    depth = max(len(names), len(marks))
    lines = []
    for at in range(depth):
        name = left(names[at] if at < len(names) else "", name_width)
        mark = f"  {marks[at]}" if at < len(marks) else ""
        if at == 0:
            lines.append(line(f"{right(rank, 4)}  ", Span(name, style), f"{figures} {right(str(row.n), 3)}{mark}"))
        else:
            lines.append(line(f"      {name}{' ' * (len(figures) + 4)}{mark}"))
    for words in (row.reason, row.check.unknown if row.check is not None else ""):
        lines += paragraph(words, width, indent=8, style="dim") if words else []
    return lines


def _without_figure(names: Sequence[str], reason: str, width: int) -> list[Line]:
    """A setting that was not measured: its name, then why, beside it where there is room."""
    at = max(20, *(cell_len(name) + 2 for name in names))
    if at > width // 2:
        beside = paragraph(reason, width, indent=8)
        return [line(f"{right(f'{NOTHING} ', 4)}  {names[0]}"), *(line(f"      {name}") for name in names[1:]), *beside]
    words = wrap(reason, width - 6 - at)
    lines = []
    for depth in range(max(len(names), len(words))):
        name = left(names[depth] if depth < len(names) else "", at)
        front = f"{right(f'{NOTHING} ', 4)}  " if depth == 0 else " " * 6
        lines.append(line(front, name, Span(words[depth] if depth < len(words) else "", "bad")))
    return lines


def footer_words(phone: PhoneAnswer, model: str) -> str:
    """`resolves 1.6 % here; twins (cpu all, cpu layout: same graph) differed by 0.7 %`, as far as it is known."""
    parts = []
    if phone.resolves is not None:
        parts.append(f"resolves {percent(phone.resolves)} here")
    if phone.twins is not None:
        twins = phone.twins
        of = f" of {twins.model}" if twins.model != model else ""
        parts.append(f"twins ({twins.row}, {twins.twin}{of}: same graph) differed by {percent(twins.difference)}")
    parts += [words] if (words := cores_words([row.cores for row in phone.rows])) else []
    return "; ".join(parts)


def _footer(phone: PhoneAnswer, model: str, width: int) -> list[Line]:
    notes = [footer_words(phone, model), ERROR_NOTE if any(row.check is not None for row in phone.rows) else ""]
    notes += trust_words(phone)
    return [line for words in notes if words for line in paragraph(words, width, indent=6, style="dim")]


def _dropped(model: ModelSummary, all_tables: bool, width: int) -> list[Line]:
    if not model.dropped:
        return []
    lines: list[Line] = [()]
    if len(model.dropped) > MAX_DROPPED and not all_tables:
        return [*lines, line(f"  {len(model.dropped)} settings dropped beforehand, with reasons: --all, report.html")]
    lines.append(line("  dropped beforehand (no trials):"))
    for drop in model.dropped:
        lines += paragraph(f"{drop.row}: {drop.reason} ({', '.join(drop.phones)})", width, indent=4, hang=4)
    return lines
