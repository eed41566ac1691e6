"""Pure: what searches found in words: a sentence for each model on each phone, and what stands behind it."""

from __future__ import annotations

from orchestrator.report.blocks import Block, Words
from orchestrator.report.lines import Line, paragraph
from orchestrator.report.numbers import decimals_for, finely, ms, percent, plural, size, span
from orchestrator.report.tune import GOES_ON, TuneAnswer, TunePlace, TuneReport
from orchestrator.tuning.goal import Objective

_VIRTUAL = " (virtual: this computer's speed, not a phone's)"


def tune_headline(report: TuneReport) -> str:
    """`mnist on B3 Pixel 8: cpu all 1t, 4.12 ms, is the best of 84 settings (99 % sure, to 2 %).`"""
    return f"{'; '.join(_found(one, report) for one in report.answers)}."


def tune_sentence(model: str, report: TuneReport) -> str:
    """The same for one model."""
    return f"{'; '.join(_found(one, report) for one in report.answers if one.model == model)}."


def tune_words(report: TuneReport) -> list[list[str]]:
    """For each answer its sentence, then what stands behind it."""
    return [[f"{_found(one, report)}.", *_behind(one, report)] for one in report.answers]


def tune_lines(report: TuneReport, width: int) -> list[Line]:
    """For a terminal."""
    lines: list[Line] = []
    for first, *others in tune_words(report):
        lines += paragraph(first, width, hang=4)
        lines += [one for words in others for one in paragraph(words, width, indent=2, hang=4)]
    return lines


def tune_section(report: TuneReport | None) -> list[Block]:
    """The same for Markdown and HTML."""
    if report is None:
        return []
    found: list[Block] = []
    for first, *others in tune_words(report):
        found.append(Words(" ".join([first, *(f"{words[:1].upper()}{words[1:]}." for words in others)])))
    return found


def _found(one: TuneAnswer, report: TuneReport) -> str:
    where = f"{one.model} on {one.name}{_VIRTUAL if one.virtual else ''}"
    if one.winner is None:
        return f"{where}: no answer: {one.end}"
    to = percent(report.within)
    if len(report.objectives) > 1:
        sure = f"{percent(one.confidence)} sure that nothing is better by more than {to} anywhere"
        names = ", ".join(report.objectives)
        return f"{where}: {plural(len(one.front), 'setting')} of {one.settings} can't be bettered in {names} ({sure})"
    setting = f"{one.winner.row}, {_figure(one.winner, report)}"
    sure = f"{percent(one.confidence)} sure that none is better by more than {to}"
    if one.known:
        return f"{where}: {setting}, is the best of {plural(one.settings, 'setting')} ({sure})"
    return f"{where}: {setting}, leads {plural(one.settings, 'setting')}, not surely ({sure}): {one.end}"


def _figure(place: TunePlace, report: TuneReport) -> str:
    if place.figure is None:
        return "no figure"
    if report.objectives[0] == Objective.MEMORY:
        return size(round(place.figure))
    return f"{ms(place.figure, decimals_for([place.figure]))} ms"


def _behind(one: TuneAnswer, report: TuneReport) -> list[str]:
    words = []
    if len(report.objectives) > 1:
        words += [f"{place.row}: {_figure(place, report)}, {plural(place.rounds, 'round')}" for place in one.front]
    elif one.runner_up is not None:
        next_one = one.runner_up
        words.append(f"next: {next_one.row}, {_figure(next_one, report)}, {_off(next_one)} the winner")
    spoiled = f", {one.spoiled} of them spoiled" if one.spoiled else ""
    processes = plural(one.processes, "process", "processes")
    words.append(
        f"tried {one.tried} of {plural(one.settings, 'setting')} in {processes}{spoiled}, "
        f"{span(one.spent_s)} of {span(one.budget_s)}: {one.end}"
    )
    if one.end.startswith(GOES_ON):
        return words
    return words + [f"lacks {plural(lack.settings, 'setting')}: {lack.why}" for lack in one.lacks]


def _off(place: TunePlace) -> str:
    """`3.1 % behind (1.2 … 4.8 %)`, or what can't be told apart."""
    low, high = _signed(place.behind_low), _signed(place.behind_high)
    word = "behind" if place.behind_low > 0.0 else "believed behind" if place.behind > 0.0 else "not behind"
    return f"{_signed(place.behind)} ({low} … {high}) {word}"


def _signed(share: float) -> str:
    return f"−{finely(-share)}" if share < 0.0 else finely(share)
