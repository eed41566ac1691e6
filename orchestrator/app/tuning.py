"""A run's searches at work: made from its ledger, whether it begins or goes on."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.app.kept import Kept
from orchestrator.app.rules import planned_of
from orchestrator.errors import Problem, UsageError
from orchestrator.farm.protocol import Planned
from orchestrator.farm.tuned import Tuner
from orchestrator.plan.case import Case, Trial
from orchestrator.store.hunts import Hopeless, Hunt, hunts_of, sought_from
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import RunContents, TrialRow, TrialState


def tuner_of(contents: RunContents, kept: Kept, cases: Mapping[str, Case], ledger: Ledger) -> Tuner:
    """The searches of a run with all that it has measured."""
    run_id = contents.run.run_id

    def planned(trial: Trial) -> Planned:
        row = TrialRow(
            trial=trial, trial_id=trial.trial_id(run_id), state=TrialState.PLANNED, outcome=None, attempt_id=None
        )
        return planned_of(row, cases, kept)

    hunts = [one for one in hunts_of(contents, sought_from(kept.tune), kept.seed) if isinstance(one, Hunt)]
    return Tuner(hunts, planned, ledger.trials(run_id), ledger.attempts(run_id))


def check_hunts(contents: RunContents, kept: Kept) -> None:
    """Raise UsageError where nothing is left to search, with what is known of variants' numerics."""
    hunts = hunts_of(contents, sought_from(kept.tune), kept.seed)
    hopeless = [one for one in hunts if isinstance(one, Hopeless)]
    if len(hopeless) == len(hunts):
        mend = "add settings that compute what the model says"
        raise UsageError(*(Problem(f"{one.model} on {one.phone}", one.why, mend) for one in hopeless))
