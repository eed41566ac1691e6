"""`orchestrator.load`: a run's frames by name, for notebooks."""

from __future__ import annotations

import os
from pathlib import Path

from orchestrator.errors import StoreError
from orchestrator.store.address import ledger_is_there
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.frames import RunFrames
from orchestrator.store.ledger import Ledger


def load(run: str = "@last", home: str | Path | None = None, *, lenient: bool = False) -> RunFrames:
    """The frames of a run: `@last`, `@yesterday`, a name, a unique part of one; of `home` (`ORCH_HOME`, `./orch-runs`).

    With `lenient`, evidence that is missing or damaged is left out, and the frames' `unread` says so.
    Raises StoreError when there is no ledger, UsageError when no or several runs match.
    """
    root = Path(home or os.environ.get("ORCH_HOME") or "orch-runs").absolute()
    if not ledger_is_there(root):
        raise StoreError(f"{root}: no ledger is there; give home=…, or set ORCH_HOME")
    ledger = Ledger.open(root)
    try:
        return RunFrames(ledger, EvidenceStore(root), ledger.find_run(run), lenient=lenient).read_now()
    finally:
        ledger.close()
