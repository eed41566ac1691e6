"""Pure: `orch show` as text. A run or a phone as a list of rows, a row as its rounds with all that is known of each."""

from __future__ import annotations

import shlex
from itertools import groupby

from rich.cells import cell_len

from orchestrator.report.hands import incident_lines
from orchestrator.report.lines import Line, Span, joined, line, paragraph, rendered, shown
from orchestrator.report.numbers import decimals_for, ms
from orchestrator.report.show import ShownRow, ShowView
from orchestrator.report.shown_attempt import ShownAttempt
from orchestrator.report.tally import first_line, kind_word


def render_show(view: ShowView, *, width: int = 80, colour: bool = False) -> str:
    """The view at `width` cells. Only a word of a command may be longer: a command is there to be copied."""
    lines: list[Line] = []
    for phone, group in groupby(view.rows, key=lambda row: (row.phone, row.virtual)):
        rows = list(group)
        lines += [()] if lines else []
        lines += paragraph(joined(["virtual" if phone[1] else "", phone[0]]), width, style="bold")
        for row in rows:
            lines += _row(row, width)
            lines += _why(row, width)
            lines += _rounds(row, view.detail, width)
    lines += incident_lines(view.incidents, width)
    for words in view.unread:
        lines += [(), *paragraph(f"made without: {words}", width, hang=2)]
    if not view.detail and view.rows:
        label = view.rows[0].label
        lines += [(), line(Span(f"one row: orch show {view.run}/{label}/{view.rows[0].number}", "dim"))]
    return rendered(lines, colour=colour)


def _row(row: ShownRow, width: int) -> list[Line]:
    decimals = decimals_for([row.p50_s])
    figure = f"{ms(row.p50_s, decimals)} ms" if row.p50_s is not None else ""
    if row.half_width_s is not None:
        figure += f" ±{ms(row.half_width_s, decimals)}"
    names = f"{row.row} ({' '.join('=' + name for name in row.also)})" if row.also else row.row
    words = [
        f"{row.model}  {names}",
        f"twin of {row.twin_of}" if row.twin_of else "",
        figure,
        f"{row.n} of {row.rounds} rounds",
        row.reason,
    ]
    return paragraph(f"{row.number} {joined(words)}", width, indent=2, hang=4)


def _why(row: ShownRow, width: int) -> list[Line]:
    lines: list[Line] = [(), line("why this number")] if row.why else []
    for words in row.why:
        lines += paragraph(words, width, indent=2, hang=2)
    return lines


def _rounds(row: ShownRow, detail: bool, width: int) -> list[Line]:
    if not row.attempts and not detail:
        return []
    decimals = decimals_for(attempt.p50_s for attempt in row.attempts)
    if not detail:
        brief = [(one.round, _brief(one, decimals)) for one in row.attempts if one.purpose == "time"]
        words = [f"r{number} {word}" for number, word in sorted([*brief, *row.skipped])]
        return paragraph(joined(words, ", "), width, indent=6, style="dim")
    lines: list[Line] = []
    for attempt in sorted(row.attempts, key=lambda one: (one.purpose == "time", one.round, one.number)):
        lines += _attempt(attempt, decimals, width)
    for number, reason in row.skipped:
        lines += [(), line(f"round {number}: skipped, {reason}")]
    return lines + _commands(row, width)


def _brief(attempt: ShownAttempt, decimals: int) -> str:
    return ms(attempt.p50_s, decimals) if attempt.outcome == "measured" else kind_word(attempt.kind or attempt.outcome)


def _attempt(attempt: ShownAttempt, decimals: int, width: int) -> list[Line]:
    kind = _which(attempt)
    tried = f", attempt {attempt.number}" if attempt.number > 1 else ""
    if attempt.outcome == "measured":
        timed = attempt.p50_s is not None
        figures = f"p50 {ms(attempt.p50_s, decimals)} ms, p90 {ms(attempt.p90_s, decimals)} ms" if timed else ""
        apart = "does not count" if timed and not attempt.counted else ""
        words = joined(["measured", figures, _iterations(attempt), apart], ", ")
    else:
        words = joined(
            [attempt.outcome, kind_word(attempt.kind) if attempt.kind else "", " ".join(attempt.message.split())], ": "
        )
    extra = [
        f"exit {attempt.exit_code}" if attempt.exit_code else "",
        f"waited {attempt.slot_wait_s:.2f} s for a computing slot" if attempt.slot_wait_s else "",
        "finished by the phone alone" if attempt.adopted else "",
    ]
    lines: list[Line] = [()]
    lines += paragraph(joined([f"{kind}{tried}: {words}", *extra]), width, style="bold", hang=2)
    if attempt.validity:
        reasons = "; ".join(attempt.validity_reasons)
        lines += paragraph(joined([f"validity: {attempt.validity}", reasons]), width, indent=2, hang=2)
    vitals = [
        f"{name} {before}" if before == after else f"{name} {before or '–'} → {after or '–'}"
        for name, before, after in attempt.vitals
    ]
    lines += paragraph(joined(vitals), width, indent=2, hang=2) if vitals else []
    if attempt.evidence:
        names = [f"{name} {digest[:12]}" for name, digest in attempt.evidence]
        lines += paragraph(f"evidence: {', '.join(names)}", width, indent=2, hang=2)
    for name, said in (("stderr", attempt.stderr), ("log", attempt.log)):
        for text in said:
            lines += paragraph(f"{name}: {text}", width, indent=2, hang=2) if first_line(text) else []
    return lines


def _iterations(attempt: ShownAttempt) -> str:
    """`58 iterations, 3 of them warm-up`, and whether they ever settled."""
    if not attempt.iterations:
        return ""
    warm = f"{attempt.warm_up_dropped} of them warm-up" if attempt.warm_up_dropped else ""
    return joined(
        [f"{attempt.iterations} iterations", warm, "never flat: suspect" if attempt.flat is False else ""], ", "
    )


def _which(attempt: ShownAttempt) -> str:
    """`round 3`, or the purpose of what is no timed round."""
    return f"round {attempt.round}" if attempt.purpose == "time" else attempt.purpose


def _command(argv: tuple[str, ...], width: int) -> list[Line]:
    """A command that a shell takes as it stands: broken between words only, with backslashes."""
    rows = [""]
    for word in (shlex.quote(shown(part)) for part in argv):
        if rows[-1] and cell_len(rows[-1]) + cell_len(word) + 3 > width - 4:
            rows.append(word)
        else:
            rows[-1] = f"{rows[-1]} {word}".lstrip()
    ends = [" \\"] * (len(rows) - 1) + [""]
    return [line(f"  {'  ' if at else ''}{row}{end}") for at, (row, end) in enumerate(zip(rows, ends, strict=True))]


def _commands(row: ShownRow, width: int) -> list[Line]:
    """The exact command and the digests: once where all rounds have the same, else by round."""
    lines: list[Line] = []
    commands: dict[tuple[str, ...], list[str]] = {}
    shared: dict[tuple[str, str], list[str]] = {}
    for attempt in row.attempts:
        if attempt.argv:
            commands.setdefault(attempt.argv, []).append(_which(attempt))
        for pair in attempt.digests:
            shared.setdefault(pair, []).append(_which(attempt))
    for argv, rounds in commands.items():
        which = "" if len(commands) == 1 else f" of {', '.join(dict.fromkeys(rounds))}"
        lines += [(), line(f"command{which}"), *_command(argv, width)]
    kept = next((digest for attempt in row.attempts for _, digest in attempt.evidence), "")
    if kept:
        words = f"raw files lie in the home under their digests: evidence/{kept[:2]}/{kept[:12]}… (.gz where large)"
        lines += [(), *paragraph(words, width, hang=2)]
    same = [pair for pair, rounds in shared.items() if len(rounds) == len(row.attempts)]
    if same:
        lines += [(), line("digests")]
        for name, digest in same:
            lines += paragraph(f"{name.removesuffix('_digest')} {digest}", width, indent=2, hang=2)
    return lines
