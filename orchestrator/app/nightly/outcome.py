"""What a night's runs came to, from the ledger: also of those that another process carried out."""

from __future__ import annotations

from orchestrator.errors import ExitCode
from orchestrator.farm.tally import Tally
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import RunState


def codes_of(run_id: str, ledger: Ledger) -> list[ExitCode]:
    """Every exit code that applies to a run as it stands."""
    tally = Tally(interrupted=ledger.run_state(run_id) is RunState.INTERRUPTED)
    for row in ledger.trials(run_id):
        if row.outcome is not None:
            tally.count(row.outcome)
        else:
            tally.incomplete = True
    return tally.codes()
