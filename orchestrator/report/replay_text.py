"""Pure: a replay in words: whether it agrees, then and now, and what the phone itself changed by."""

from __future__ import annotations

from orchestrator.report.blocks import Block, Words
from orchestrator.report.lines import Line, paragraph
from orchestrator.report.numbers import decimals_for, finely, ms, percent, plural
from orchestrator.report.replay import Agreement, Replay, ReplayAnswer
from orchestrator.report.sentence import VIRTUAL
from orchestrator.report.trust import FLAT

_DOUBLE = 2.0


def replay_headline(replay: Replay) -> str:
    """`0412-quick-7k2f/B3/cpu all asked again on B3 Pixel 8: it agrees: 4.12 ms then, 4.15 ms now, …`."""
    told = [f"{VIRTUAL if one.virtual else ''}{answer_words(one)}" for one in replay.answers]
    return f"{replay.origin.name} asked again: {'; '.join(told) or 'nothing could be asked'}."


def answer_words(one: ReplayAnswer) -> str:
    """What came of it on one phone."""
    where = " ".join(part for part in (one.label, one.device_model) if part)
    if one.agreement is Agreement.NO_ANSWER:
        return f"{where} gives no answer: {one.reason}"
    return f"{where} {_verdict(one)}: {_figures(one)}"


def _verdict(one: ReplayAnswer) -> str:
    match one.agreement:
        case Agreement.AGREES:
            return "agrees"
        case Agreement.OTHER_MODEL:
            return "is another device model, whose figures are its own"
        case _:
            return "differs"


def _figures(one: ReplayAnswer) -> str:
    decimals = decimals_for((one.then_s, one.now_s))
    figures = f"{ms(one.then_s, decimals)} ms then, {ms(one.now_s, decimals)} ms now"
    if one.ratio is None or one.low is None or one.high is None:
        return figures
    return f"{figures}, {_side(one.ratio)} ({_side(one.low)} … {_side(one.high)})"


def _side(ratio: float) -> str:
    if ratio >= 1.0:
        return f"{finely(ratio - 1.0)} faster" if ratio < _DOUBLE else f"{ratio:.2f}× as fast"
    return f"{finely(1 / ratio - 1.0)} slower" if 1 / ratio < _DOUBLE else f"{1 / ratio:.2f}× as slow"


def beside_words(one: ReplayAnswer) -> list[str]:
    """What a reader must know beside the verdict."""
    words = []
    if one.resolves is not None and one.agreement in (Agreement.AGREES, Agreement.DIFFERS):
        rounds = f"{plural(one.n_then, 'round')} then and {one.n_now} now"
        words.append(f"{rounds} tell differences from {percent(one.resolves)} on")
    if one.canary is not None:
        flat = "flat" if abs(one.canary - 1.0) <= FLAT else "the phone itself is not as it was"
        words.append(f"its canary is {_side(one.canary)} than then: {flat}")
    return [*words, *one.notes]


def replay_words(replay: Replay) -> list[str]:
    """A sentence for each phone, with what stands beside it."""
    return ["; ".join([answer_words(one), *beside_words(one)]) for one in replay.answers]


def replay_lines(replay: Replay, width: int) -> list[Line]:
    """For a terminal."""
    lines = paragraph(f"asks again: {replay.origin.name} ({replay.origin.model})", width, hang=4)
    return [*lines, *(one for words in replay_words(replay) for one in paragraph(words, width, indent=2, hang=4))]


def replay_section(replay: Replay | None) -> list[Block]:
    """The same for Markdown and HTML."""
    if replay is None:
        return []
    return [Words(f"Asks again: {replay.origin.name} ({replay.origin.model})."), *map(Words, replay_words(replay))]
