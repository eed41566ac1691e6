"""Pure: one attempt as `orch show` tells it, from its row of the attempts frame and what is kept of its output."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from android_runner.block import LOG_FILE
from orchestrator.errors import StoreError
from orchestrator.report import source
from orchestrator.report.source import Row, number, text, whole

ReadEvidence = Callable[[str], bytes]
"""The bytes of an evidence file by its digest. Raises StoreError, which says why there are none."""

MOST_LINES = 4
MOST_BYTES = 4096

_DIGESTS = ("binary_digest", "variant", "inputs_digest", "script_digest", "graph_digest", "case", "trial", "attempt")
_WARNS = re.compile(r"\d\d-\d\d [\d:.]+ +\d+ +\d+ [WEF] ")
"""A line of logcat, form threadtime, that warns or worse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAttempt:
    """One attempt: how it ended, whether it counts and what its vitals say of that, its figures in seconds, vitals as
    (name, before, after), the exact command, digests by what they are of, evidence by file name, the first lines of
    stderr, and of its log those that warn, else the first."""

    attempt: str
    round: int
    number: int
    purpose: str
    counted: bool
    outcome: str
    kind: str
    message: str
    validity: str
    validity_reasons: tuple[str, ...]
    p50_s: float | None
    p90_s: float | None
    iterations: int | None
    warm_up_dropped: int | None
    flat: bool | None
    exit_code: int | None
    slot_wait_s: float | None
    adopted: bool
    vitals: tuple[tuple[str, str, str], ...]
    argv: tuple[str, ...]
    digests: tuple[tuple[str, str], ...]
    evidence: tuple[tuple[str, str], ...]
    stderr: tuple[str, ...]
    log: tuple[str, ...]


def shown_attempt(row: Row, read_evidence: ReadEvidence | None) -> ShownAttempt:
    """An attempt from its row in the frame; without `read_evidence` nothing of its stderr and log."""
    evidence = _pairs(row, "evidence")
    files = dict(evidence)
    return ShownAttempt(
        attempt=text(row, "attempt"),
        round=whole(row, "round") or 0,
        number=whole(row, "number") or 0,
        purpose=text(row, "purpose", "time"),
        counted=source.flag(row, "counted"),
        outcome=text(row, "outcome"),
        kind=text(row, "kind"),
        message=text(row, "message"),
        validity=text(row, "validity"),
        validity_reasons=source.names(row, "validity_reasons"),
        p50_s=number(row, "p50_s"),
        p90_s=number(row, "p90_s"),
        iterations=whole(row, "iterations"),
        warm_up_dropped=whole(row, "warm_up_dropped"),
        flat=None if row.get("flat") is None else source.flag(row, "flat"),
        exit_code=whole(row, "exit_code"),
        slot_wait_s=number(row, "slot_wait_s"),
        adopted=source.flag(row, "adopted"),
        vitals=_vitals(row),
        argv=_words(row, "argv"),
        digests=tuple((key, value) for key in _DIGESTS if (value := text(row, key))),
        evidence=evidence,
        stderr=_said(files.get("stderr"), read_evidence, _first),
        log=_said(files.get(LOG_FILE), read_evidence, _warning),
    )


def _said(digest: str | None, read: ReadEvidence | None, chosen: Callable[[list[str]], list[str]]) -> tuple[str, ...]:
    """Some lines of a file, or why there are none."""
    if not digest or read is None:
        return ()
    try:
        data = read(digest)
    except StoreError as error:
        return (f"({error})",)
    lines = chosen(data.decode("utf-8", errors="replace").splitlines())
    kept = [line[:MOST_BYTES] for line in lines[:MOST_LINES]]
    return (*kept, *(["…"] if len(lines) > MOST_LINES else []))


def _first(lines: list[str]) -> list[str]:
    return lines


def _warning(lines: list[str]) -> list[str]:
    """The lines of a log that warn or worse, all where none does."""
    return [line for line in lines if _WARNS.match(line)] or lines


def _vitals(row: Row) -> tuple[tuple[str, str, str], ...]:
    """Columns that come in pairs, `before_x` and `after_x` or `x_before` and `x_after`, as (x, before, after)."""
    found: dict[str, list[str]] = {}
    for key in row:
        for at, word in enumerate(("before", "after")):
            name = key.removeprefix(f"{word}_") if key.startswith(f"{word}_") else key.removesuffix(f"_{word}")
            if name != key:
                found.setdefault(name, ["", ""])[at] = _brief(row[key])
    return tuple((name, before, after) for name, (before, after) in found.items() if before or after)


def _brief(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return " ".join(f"{key} {_brief(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(_brief(item) for item in value)
    return str(value)


def _parsed(row: Row, key: str) -> object:
    """A cell that holds a structure, also where it comes as JSON text."""
    value = row.get(key)
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _pairs(row: Row, key: str) -> tuple[tuple[str, str], ...]:
    value = _parsed(row, key)
    return tuple((str(name), str(item)) for name, item in value.items()) if isinstance(value, Mapping) else ()


def _words(row: Row, key: str) -> tuple[str, ...]:
    value = _parsed(row, key)
    if isinstance(value, str):
        return (value,)
    return tuple(str(item) for item in value) if isinstance(value, Sequence) else ()
