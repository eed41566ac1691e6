"""`orch show`: the rounds behind a row, with the first lines of their evidence; or its nights (`--history`)."""

from __future__ import annotations

import dataclasses
import json

from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home
from orchestrator.nights.nouns import NIGHTLY_TAG, SeriesKey
from orchestrator.report import source
from orchestrator.report.as_json import plain
from orchestrator.report.show import parse_target, places_of, show
from orchestrator.report.show_text import render_show
from orchestrator.report.summarize import summarize
from orchestrator.report.trend import trend
from orchestrator.report.trend_text import render_trend
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.frames import RunFrames
from orchestrator.store.history import case_history
from orchestrator.store.ledger import Ledger

MAX_SHOWN_BYTES = 64 * 1024 * 1024
"""Of a larger file no line is shown."""


def show_text(home: Home, what: str, *, as_json: bool, colour: bool = False) -> str:
    """What is asked for as text. Raises UsageError for a run, phone or row that is none."""
    target = parse_target(what)
    ledger = Ledger.open(home.root)
    try:
        run_id = ledger.find_run(target.run)
        frames = RunFrames(ledger, EvidenceStore(home.root), run_id, lenient=True)

        def read(sha256: str) -> bytes:
            return frames.evidence.read(sha256, MAX_SHOWN_BYTES)

        view = show(frames, dataclasses.replace(target, run=run_id), read)
    finally:
        ledger.close()
    if as_json:
        return json.dumps(plain(view), indent=2, ensure_ascii=False) + "\n"
    return render_show(view, width=80, colour=colour)


def history_text(home: Home, what: str, *, last: int, as_json: bool, colour: bool = False) -> str:
    """The last so many nights of a row as text: of the nightly that RUN belongs to, else of every run.

    Raises UsageError for what names no single row, or one that was measured on purpose beside its twin.
    """
    target = parse_target(what)
    if not target.row:
        raise UsageError(Problem(what, "names no single row", "RUN/PHONE/ROW; orch show RUN/PHONE lists the rows"))
    ledger = Ledger.open(home.root)
    try:
        run_id = ledger.find_run(target.run)
        frames = RunFrames(ledger, EvidenceStore(home.root), run_id, lenient=True)
        cells = source.cells(source.records(frames.trials), source.records(frames.attempts))
        (place, *others) = places_of(summarize(frames), cells, dataclasses.replace(target, run=run_id))
        if others:
            raise UsageError(Problem(what, f"names {1 + len(others)} rows", "give the row's number"))
        contents = ledger.contents(run_id)
        case = next(one for one in contents.cases if one.case_id == place.cell.case)
        key = SeriesKey(place.cell.phone, case.model_name, case.recipe_name, case.row)
        nightly = next(
            (one.removeprefix(NIGHTLY_TAG) for one in contents.run.tags if one.startswith(NIGHTLY_TAG)), None
        )
        nights = case_history(ledger, key, nightly=nightly, last=last)
    finally:
        ledger.close()
    if not nights:
        raise UsageError(Problem(what, "has no history: it is a twin, or one side of A and B", "name another row"))
    found = trend(nights, label=place.answer.name)
    if as_json:
        return json.dumps(plain(found), indent=2, ensure_ascii=False) + "\n"
    return render_trend(found, width=80, colour=colour)
