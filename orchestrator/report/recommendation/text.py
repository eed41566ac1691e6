"""Pure: recommendations in at most 80 columns, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from orchestrator.report.as_json import plain
from orchestrator.report.lines import Line, Span, line, paragraph, rendered
from orchestrator.report.numbers import decimals_for, finely, ms, percent, plural
from orchestrator.report.recommendation.nouns import Ahead, ModelAdvice, PhoneAdvice
from orchestrator.report.sentence import VIRTUAL
from orchestrator.tuning.fleet import FleetChoice, Price

WIDTH = 80
MOST_PRICES = 12


def render_recommendations(models: Sequence[ModelAdvice], *, colour: bool = False) -> str:
    """Model by model: every phone's winner with why, then the setting for all of them with its price."""
    lines: list[Line] = []
    for model in models:
        lines += [*([line("")] if lines else []), line(Span(model.model, "bold"))]
        for phone in model.phones:
            lines += _phone(phone)
        lines += _fleet(model)
    return rendered(lines or [line("Nothing was planned: nothing to recommend.")], colour=colour)


def recommendations_json(models: Sequence[ModelAdvice]) -> str:
    """A list of objects, ASCII only, with a newline at its end: the models by their fields."""
    return json.dumps(plain(tuple(models)), indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _phone(phone: PhoneAdvice) -> list[Line]:
    where = f"{phone.name}{' (virtual)' if phone.virtual else ''}"
    winner = phone.winner
    if winner is None:
        return paragraph(f"{where}: nothing to recommend: {phone.reason}", WIDTH, indent=2, hang=4)
    versus = f", {phone.vs_default.value:.2f}× as fast as the default" if phone.vs_default is not None else ""
    figure = f", {ms(winner.p50_s, decimals_for([winner.p50_s]))} ms" if winner.p50_s is not None else ""
    lines = paragraph(f"{where}: {winner.row}{figure}{versus} ({phone.how_sure})", WIDTH, indent=2, hang=4)
    lines += paragraph(f"why: {phone.reason}", WIDTH, indent=6, hang=2)
    if phone.runner_up is not None:
        lines += paragraph(f"next: {_ahead(phone.runner_up)}", WIDTH, indent=6, hang=2)
    if phone.tied:
        lines += paragraph(f"can't be told from it: {', '.join(phone.tied)}", WIDTH, indent=6, hang=2)
    if phone.nnapi_note:
        without = f"; without it: {_ahead(phone.without_nnapi)}" if phone.without_nnapi is not None else ""
        lines += paragraph(phone.nnapi_note + without, WIDTH, indent=6, hang=2)
    return lines


def _ahead(ahead: Ahead) -> str:
    """`cpu all 2t, 4.1 % slower, the order is right with 99.2 %`."""
    if ahead.ratio is None:
        return ahead.other.row
    slower = ahead.ratio.value - 1.0
    words = f"{finely(abs(slower))} {'slower' if slower >= 0 else 'faster'}"
    sure = "" if ahead.confidence is None else f", the order is right with {_chance(ahead.confidence)}"
    return f"{ahead.other.row}, {words}{sure}"


def _chance(confidence: float) -> str:
    """Never 100 %: nothing measured is that sure."""
    return "more than 99.9 %" if confidence > 0.999 else finely(confidence)


def _fleet(model: ModelAdvice) -> list[Line]:
    virtual = VIRTUAL if model.fleet_virtual else ""
    lines = paragraph(f"one for all: {virtual}{model.fleet_sentence}", WIDTH, indent=2, style="bold", hang=4)
    if model.fleet is not None and len(model.fleet.prices) > 1:
        lines += _prices(model.fleet)
    if model.silent:
        lines += paragraph(f"without figures: {', '.join(model.silent)}", WIDTH, indent=4, hang=2)
    return lines


def _prices(choice: FleetChoice) -> list[Line]:
    lines: list[Line] = []
    for price in choice.prices[:MOST_PRICES]:
        lines += paragraph(f"{price.phone}: {_price(price)}", WIDTH, indent=4, hang=2)
    if (more := len(choice.prices) - MOST_PRICES) > 0:
        lines += paragraph(f"and {plural(more, 'phone')}, cheaper", WIDTH, indent=4)
    return lines


def _price(price: Price) -> str:
    decimals = decimals_for([price.figure, price.best_figure])
    figure = f"{ms(price.figure, decimals)} ms"
    if price.over <= 0.0:
        return f"{figure}, its best"
    return f"{figure}, {percent(price.over)} above its best ({price.best}, {ms(price.best_figure, decimals)} ms)"
