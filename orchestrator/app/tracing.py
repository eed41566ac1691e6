"""`orch trace`: the traces of a run as one file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import orjson

from android_runner.trace_events import CHUNK_BYTES
from android_runner.trace_lines import OneEvent, read_events
from orchestrator.errors import Problem, StoreError, UsageError
from orchestrator.home import Home
from orchestrator.plan.case import Purpose
from orchestrator.report import source
from orchestrator.report.show import Target, parse_target
from orchestrator.report.source import Row, number, text
from orchestrator.report.trace_merge import CounterPoint, Event, MergedTrace, TraceLane
from orchestrator.store.attempt_evidence import trace_name
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.frames import RunFrames
from orchestrator.store.ledger import Ledger

_COUNTERS = {
    "battery °C": ("battery_c", 1.0),
    "hottest zone °C": ("zone_max_c", 1.0),
    "clock MHz": ("freq_max_khz", 1e-3),
}


def write_merged_trace(home: Home, what: str, out: Path | None) -> tuple[Path, int]:
    """Merge the traces that `what` (RUN, RUN/PHONE, RUN/PHONE/ROW) names; the file, and how many processes are in it.

    It appears whole or not at all. Raises UsageError when nothing of that was traced, StoreError when evidence is
    missing or the file can't be written.
    """
    asked = parse_target(what)
    ledger = Ledger.open(home.root)
    try:
        run_id = ledger.find_run(asked.run)
        frames = RunFrames(ledger, EvidenceStore(home.root), run_id).read_now()
        rows = [row for row in source.records(frames.attempts) if _is_asked(row, asked)]
    finally:
        ledger.close()
    if not rows:
        raise UsageError(Problem(what, "nothing of it was traced", "orch run … --trace; orch show RUN lists the rows"))
    target = out or home.run_folder(run_id) / "trace.json"
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            for piece in _json(_events(rows, frames.evidence), run_id):
                file.write(piece)
        part.replace(target)
    except OSError as error:
        raise StoreError(f"{target}: can't be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            part.unlink()
    return target, len(rows)


def _is_asked(row: Row, asked: Target) -> bool:
    """Whether an attempt traced, counts, and is of the phone and row."""
    if text(row, "purpose") != Purpose.TRACE or text(row, "outcome") != "measured":
        return False
    phone = asked.phone in ("", text(row, "label"), text(row, "phone"))
    names = (text(row, "row"), f"{text(row, 'model')} {text(row, 'row')}", *source.names(row, "also"))
    return phone and asked.row in ("", *names)


def _events(rows: list[Row], evidence: EvidenceStore) -> Iterator[Event]:
    merged = MergedTrace()
    by_phone: dict[str, list[Row]] = {}
    for row in rows:
        by_phone.setdefault(text(row, "phone"), []).append(row)
    for own in by_phone.values():
        label = text(own[0], "label", text(own[0], "phone"))
        kind = " (virtual)" if own[0].get("virtual") is True else ""
        name = " ".join(part for part in (label, text(own[0], "device_model")) if part) + kind
        first_s = min(number(row, "started_uptime_s") or 0.0 for row in own)
        yield from merged.counters(name, _points(own, first_s))
        for row in own:
            lane = TraceLane(
                phone=name,
                words=f"{text(row, 'model')} {text(row, 'row')}",
                starts_us=_us(number(row, "started_uptime_s"), first_s),
            )
            yield from merged.lane(lane, _read(row, evidence))


def _points(rows: list[Row], first_s: float) -> Iterator[CounterPoint]:
    for row in rows:
        for when, moment in (("before", "started_uptime_s"), ("after", "ended_uptime_s")):
            read = {
                name: value * scale
                for name, (column, scale) in _COUNTERS.items()
                if (value := number(row, f"{column}_{when}")) is not None
            }
            if read:
                yield CounterPoint(at_us=_us(number(row, moment), first_s), values=read)


def _us(uptime_s: float | None, first_s: float) -> int:
    return max(0, round(((uptime_s or first_s) - first_s) * 1e6))


def _read(row: Row, evidence: EvidenceStore) -> Iterator[OneEvent]:
    some = False
    for event in read_events(_chunks(row, evidence)):
        some = True
        yield event
    if not some:
        words = "the trace holds no event that ONNX Runtime writes"
        raise StoreError(f"attempt {text(row, 'attempt')}: its trace can't be read: {words}")


def _chunks(row: Row, evidence: EvidenceStore) -> Iterator[bytes]:
    kept = row.get("evidence")
    name = trace_name(kept) if isinstance(kept, dict) else None
    attempt = f"attempt {text(row, 'attempt')}"
    if name is None or not isinstance(kept, dict):
        raise StoreError(f"{attempt} measured a trace, but none is in its evidence")
    try:
        yield from evidence.pieces(kept[name], CHUNK_BYTES)
    except StoreError as error:
        raise StoreError(f"{attempt}: {name} can't be read: {error}") from error


def _json(events: Iterator[Event], run_id: str) -> Iterator[bytes]:
    """The JSON object form, an event a line, so that no trace is too large to be written."""
    yield b'{"displayTimeUnit":"ms","otherData":' + orjson.dumps({"run": run_id, "made by": "orch trace"}) + b","
    yield b'"traceEvents":['
    for at, event in enumerate(events):
        yield (b"\n" if at == 0 else b",\n") + orjson.dumps(event)
    yield b"\n]}\n"
