"""`orch show`: the rounds behind a row, with the first lines of their evidence."""

from __future__ import annotations

import dataclasses
import json

from orchestrator.home import Home
from orchestrator.report.as_json import plain
from orchestrator.report.show import parse_target, show
from orchestrator.report.show_text import render_show
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.frames import RunFrames
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
