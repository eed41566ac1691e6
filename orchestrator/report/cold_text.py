"""Pure: the cold start of the settings of one phone, as a headline, as a table for a terminal and for Markdown."""

from __future__ import annotations

from orchestrator.report.cold import ColdStart
from orchestrator.report.lines import Line, Span, joined, left, line, paragraph, right, widest, wrap
from orchestrator.report.numbers import NOTHING, decimals_for, ms, plural, size
from orchestrator.report.summary import PhoneAnswer, SettingRow

HEADS = ("setting", "session ms", "first inference", "peak memory")
TRACED = "traced"
"""Stands beside a first inference that a trace tells."""


def first_inference_words(cold: ColdStart) -> str:
    """`12 ms`, `<1 ms` where perf_test printed 0, `0.412 ms traced` where a trace tells it; never 0."""
    traced_s = cold.first_inference_traced_s
    if traced_s is not None:
        return f"{traced_s * 1e3:.3f} ms {TRACED}" if traced_s > 0 else f"<0.001 ms {TRACED}"
    if cold.first_inference_s is not None:
        return f"{cold.first_inference_s * 1e3:.0f} ms"
    return NOTHING if cold.first_inference_below_s is None else f"<{cold.first_inference_below_s * 1e3:.0f} ms"


def cold_cells(phone: PhoneAnswer) -> list[tuple[str, ...]]:
    """The cells of the table, a row a setting of which anything is known, in the order of the phone's table."""
    rows = _told(phone)
    decimals = decimals_for(cold.session_creation_s for _, cold in rows)
    return [
        (row.row, ms(cold.session_creation_s, decimals), first_inference_words(cold), size(cold.peak_memory_bytes))
        for row, cold in rows
    ]


def cold_headline(phone: PhoneAnswer) -> str:
    """What the best setting costs before its first answer, and which one starts soonest where that is another."""
    best = phone.best
    if best is None or best.cold is None or best.cold.session_creation_s is None:
        return ""
    words = f"cold start of {_words(best)}"
    soonest = min((pair for pair in _told(phone) if pair[0].rank is not None), key=_session_s)
    if _session_s(soonest) >= best.cold.session_creation_s or soonest[0].row == best.row:
        return words
    return f"{words}; soonest {soonest[0].row}, session in {_ms(_session_s(soonest))}"


def cold_notes(phone: PhoneAnswer) -> list[str]:
    """What the figures of the table are, and in what state of the page cache they were taken."""
    colds = [cold for _, cold in _told(phone)]
    if not colds:
        return []
    warm, n = sum(cold.warm for cold in colds), sum(cold.n for cold in colds)
    if warm == n:
        cache = "page cache warm: an earlier process had read each model"
    elif warm:
        cache = f"page cache warm in {warm} of {plural(n, 'process', 'processes')}, not known in the others"
    else:
        cache = "page cache: not known"
    parts = [cache]
    if phone.nnapi is not None and phone.nnapi.cases:
        parts.append("session: with NNAPI's compilation")
    if any(cold.first_inference_traced_s is not None for cold in colds):
        parts.append(f"{TRACED}: by a process that traces")
    elif any(cold.first_inference_below_s is not None for cold in colds):
        parts.append("first inference: in whole ms, --trace tells more")
    if any(cold.peak_memory_bytes is not None for cold in colds):
        parts.append("peak memory: perf_test's own, without drivers")
    return [joined(parts, "; ")]


def cold_lines(phone: PhoneAnswer, width: int) -> list[Line]:
    """The table under a phone's settings; nothing where nothing is known."""
    cells = cold_cells(phone)
    if not cells:
        return []
    first_width = widest((row[2] for row in cells), least=len(HEADS[2]), most=18)
    name_width = width - 6 - 11 - 1 - first_width - 1 - 12
    heads = f"{right(HEADS[1], 11)} {right(HEADS[2], first_width)} {right(HEADS[3], 12)}"
    lines = [(), line(Span(f"      {left('cold start', name_width)}{heads}", "dim"))]
    for name, session, first, peak in cells:
        names = wrap(name, name_width, hang=2)
        figures = f"{right(session, 11)} {right(first, first_width)} {right(peak, 12)}"
        lines.append(line(f"      {left(names[0], name_width)}{figures}"))
        lines += [line(f"      {part}") for part in names[1:]]
    for note in cold_notes(phone):
        lines += paragraph(note, width, indent=6, style="dim")
    return lines


def _told(phone: PhoneAnswer) -> list[tuple[SettingRow, ColdStart]]:
    return [(row, row.cold) for row in phone.rows if row.cold is not None]


def _session_s(pair: tuple[SettingRow, ColdStart]) -> float:
    found = pair[1].session_creation_s
    return float("inf") if found is None else found


def _words(row: SettingRow) -> str:
    assert row.cold is not None
    first, peak = first_inference_words(row.cold), row.cold.peak_memory_bytes
    parts = [f"session {_ms(row.cold.session_creation_s)}"]
    parts += [f"first inference {first}"] if first != NOTHING else []
    parts += [f"peak {size(peak)}"] if peak is not None else []
    return f"{row.row}: {', '.join(parts)}"


def _ms(value_s: float | None) -> str:
    return f"{ms(value_s, decimals_for([value_s]))} ms"
