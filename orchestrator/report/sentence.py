"""Pure: the answer as a sentence, before any number. Real and virtual phones never share a clause."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.report.stats import Sureness
from orchestrator.report.summary import ModelSummary, PhoneAnswer

VIRTUAL = "on virtual phones (this computer's speed, not a phone's) "


def model_sentence(model: str, phones: Sequence[PhoneAnswer]) -> str:
    """`mobilenet_v2: cpu all 4t is 1.18× as fast as the default on B4 Galaxy A54.`"""
    real = [phone for phone in phones if not phone.virtual]
    virtual = [phone for phone in phones if phone.virtual]
    clauses = [_clause(real)] if real else []
    clauses += [VIRTUAL + _clause(virtual)] if virtual else []
    return f"{model}: {'; '.join(clauses) or 'no answer: no phone took part'}."


def headline(models: Sequence[ModelSummary]) -> str:
    """The report's first line: the model's own sentence, or how many answers there are when there are several."""
    if not models:
        return "Nothing was planned: no answer."
    if len(models) == 1:
        return models[0].sentence
    answers = [phone for model in models for phone in model.phones]
    kinds = [("", [a for a in answers if not a.virtual]), (VIRTUAL, [a for a in answers if a.virtual])]
    clauses = [prefix + _tally(group) for prefix, group in kinds if group]
    return f"{len(models)} models: {'; '.join(clauses) or 'no answer: no phone took part'}."


def ratio_words(phone: PhoneAnswer) -> str:
    """`2.31×`, or "" without a ratio."""
    return f"{phone.best.vs_default.value:.2f}×" if phone.best and phone.best.vs_default else ""


def base_words(phone: PhoneAnswer) -> str:
    """What the ratio is against, in words."""
    return "the default" if phone.baseline in ("default", "") else phone.baseline


def how_sure(phone: PhoneAnswer) -> str:
    """`sure`, `sure, 1 tie`, `tie of 3`."""
    verdict = phone.verdict
    if verdict.sureness is Sureness.SURE and verdict.ties:
        return f"sure, {verdict.ties} {'tie' if verdict.ties == 1 else 'ties'}"
    if verdict.sureness is Sureness.TIE:
        return f"tie of {verdict.ties + 1}"
    return verdict.sureness.value


def _clause(phones: Sequence[PhoneAnswer]) -> str:
    if len(phones) == 1:
        return _one(phones[0])
    winners = {phone.best.row for phone in phones if _beats(phone) and phone.best}
    return _tally(phones, next(iter(winners)) if len(winners) == 1 else "a setting", "phones")


def _one(phone: PhoneAnswer) -> str:
    where = f"on {phone.name}"
    verdict, best = phone.verdict, phone.best
    if verdict.sureness is Sureness.NO_ANSWER or best is None:
        return f"no answer {where}: {verdict.reason}"
    if verdict.sureness is Sureness.TIE:
        among = f", {base_words(phone)} among them" if phone.baseline else ""
        return f"no clear winner {where}: {verdict.ties + 1} settings can't be told apart{among}"
    if not phone.baseline:
        return f"{best.row} is the fastest {where}; no default was measured"
    if best.row == phone.baseline:
        return f"nothing beats {base_words(phone)} {where}"
    more = f"; {verdict.ties} more can't be told from it" if verdict.ties else ""
    return f"{best.row} is {ratio_words(phone)} as fast as {base_words(phone)} {where}{more}"


def _beats(phone: PhoneAnswer) -> bool:
    best = phone.best
    return phone.verdict.sureness is Sureness.SURE and best is not None and best.vs_default is not None


def _tally(phones: Sequence[PhoneAnswer], winner: str = "a setting", unit: str = "answers") -> str:
    beats = [phone for phone in phones if _beats(phone)]
    sure = [phone for phone in phones if phone.verdict.sureness is Sureness.SURE and phone not in beats]
    best_is_base = sum(1 for phone in sure if phone.baseline)
    ties = sum(1 for phone in phones if phone.verdict.sureness is Sureness.TIE)
    none = sum(1 for phone in phones if phone.verdict.sureness is Sureness.NO_ANSWER)
    n = len(phones)
    parts = []
    if beats:
        values = sorted(phone.best.vs_default.value for phone in beats if phone.best and phone.best.vs_default)
        low, high = f"{values[0]:.2f}×", f"{values[-1]:.2f}×"
        parts.append(
            f"{winner} beats the default {_on(len(beats), n, unit)} ({low if low == high else f'{low} to {high}'})"
        )
    if best_is_base:
        parts.append(f"nothing beats the default {_on(best_is_base, n, unit)}")
    if len(sure) > best_is_base:
        parts.append(f"a winner, but no default to compare with, {_on(len(sure) - best_is_base, n, unit)}")
    if ties:
        parts.append(f"no clear winner {_on(ties, n, unit)}")
    if none:
        parts.append(f"no answer {_on(none, n, unit)}")
    return ", ".join(parts)


def _on(k: int, n: int, unit: str) -> str:
    preposition = "on" if unit == "phones" else "in"
    return f"{preposition} all {n} {unit}" if k == n else f"{preposition} {k} of {n} {unit}"
