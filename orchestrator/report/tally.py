"""Pure: trials counted so that the sum is right, with one plain word for each way to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from orchestrator.outcome import INVALID
from orchestrator.report.source import Row, text
from orchestrator.report.summary import Counts

_WORDS = {
    "model_refused": "refused",
    "setting_refused": "refused",
    "binary_unusable": "refused",
    "timed_out": "timed out",
    "deadline": "timed out",
    "link_lost": "phone lost",
    "link_refused": "phone refused",
    "phone_full": "phone full",
    "phone_refused": "phone refused",
    "lease_lost": "phone taken by another run",
    "hostile_answer": "answer not trusted",
    "transfer_corrupt": "transfer corrupt",
}


def kind_word(kind: str) -> str:
    """What a person calls a kind of failure: `refused`, `timed out`, `crashed`."""
    return _WORDS.get(kind, kind.replace("_", " ") or "failed")


def first_line(message: str) -> str:
    """The first line of a message that says something."""
    return next((line.strip() for line in message.splitlines() if line.strip()), "")


def on_one_line(message: str, most: int = 160) -> str:
    """A message without its line breaks, cut to `most` characters."""
    words = " ".join(message.split())
    return words if len(words) <= most else f"{words[: most - 1]}…"


def counts_of(purpose: str, trials: Sequence[Row]) -> Counts:
    """The trials of one purpose, counted; each lies in exactly one of the four."""
    states = Counter(text(row, "state", "planned") for row in trials)
    failed = Counter(kind_word(text(row, "kind")) for row in trials if text(row, "state") == "failed")
    skipped = Counter(text(row, "reason", "skipped") for row in trials if text(row, "state") == "skipped")
    ended = states["measured"] + states["failed"] + states["skipped"]
    return Counts(
        purpose=purpose,
        planned=len(trials),
        measured=states["measured"],
        failed=states["failed"],
        skipped=states["skipped"],
        open=len(trials) - ended,
        failed_by=_most_first(failed),
        skipped_by=_most_first(skipped),
    )


def count_trials(trials: Sequence[Row]) -> tuple[Counts, ...]:
    """The counts of each purpose, timing first."""
    by_purpose: dict[str, list[Row]] = {"time": []}
    for row in trials:
        by_purpose.setdefault(text(row, "purpose", "time"), []).append(row)
    return tuple(counts_of(purpose, rows) for purpose, rows in by_purpose.items() if rows or purpose == "time")


def outcome_words(counts: Counts) -> str:
    """`17 failed (5 refused, 12 timed out)`-like words on what was not measured; "" when all was."""
    parts = [
        f"{n} {what}" + (f" ({', '.join(f'{k} {word}' for word, k in by)})" if by else "")
        for n, what, by in (
            (counts.failed, "failed", counts.failed_by),
            (counts.skipped, "skipped", counts.skipped_by),
            (counts.open, "not ended", ()),
        )
        if n
    ]
    return " + ".join(parts)


def why_skipped(trial: Row) -> str:
    """Why a trial was skipped: in its own words where it has some, else the bare reason."""
    return on_one_line(text(trial, "message")) or text(trial, "reason", "skipped")


def why_not_measured(trials: Sequence[Row]) -> str:
    """Why a setting has no figure: its commonest failure in its own words, else why it was skipped."""
    failed = Counter(
        (kind_word(text(row, "kind")), on_one_line(text(row, "message")))
        for row in trials
        if text(row, "state") == "failed"
    )
    if failed:
        word, message = failed.most_common(1)[0][0]
        return f"{word}: {message}" if message else word
    skipped = Counter(why_skipped(row) for row in trials if text(row, "state") == "skipped")
    if skipped:
        return f"not tried: {skipped.most_common(1)[0][0]}"
    return "not ended yet"


_AS_MEANT = ("resolved early", "budget")
"""Why trials were skipped that nobody misses in a row: precision or a budget was asked for."""


def marks_of(trials: Sequence[Row], attempts: int, rejected: int = 0) -> tuple[str, ...]:
    """Short words on what went otherwise than planned with a setting that has figures: `1 crashed`, `2 retried`,
    `1 rejected` (an attempt, tried again)."""
    counts = counts_of("time", trials)
    marks = [f"{n} {word}" for word, n in (*counts.failed_by, *counts.skipped_by) if word not in _AS_MEANT]
    if counts.open:
        marks.append(f"{counts.open} not ended")
    extra = attempts - (counts.measured + counts.failed)
    again = max(0, rejected - dict(counts.failed_by).get(kind_word(INVALID), 0))
    if again:
        marks.append(f"{again} rejected")
    extra -= again
    if extra > 0:
        marks.append(f"{extra} retried")
    return tuple(marks)


def _most_first(counted: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
