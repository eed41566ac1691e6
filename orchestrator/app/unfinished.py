"""A plan that is asked for again while its last run is unfinished: a person says whether to go on or to begin anew."""

from __future__ import annotations

from orchestrator.app.kept import Kept, kept_from_text
from orchestrator.app.standing import driven_elsewhere, run_lock
from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import RunRecord, RunState


def refuse_unfinished(run: RunRecord, kept: Kept, ledger: Ledger, home: Home) -> None:
    """Raise UsageError when the last run of this plan, asked for on the same `--device`, was cut off or interrupted.

    One that goes on in another process is no reason: its phones are busy, or shared.
    """
    last = next((one for one in ledger.runs() if one.run.plan_digest == run.plan_digest), None)
    if last is None or last.state is RunState.FINISHED:
        return
    name = last.run.run_id
    if kept_from_text(ledger.contents(name).run.plan_json).devices != kept.devices:
        return
    if run_lock(home, name).holder() is not None or driven_elsewhere(last, ledger):
        return
    left = last.planned - last.measured - last.failed
    what = f"the last run of this plan is unfinished: {left} of {last.planned} trials have no result"
    raise UsageError(Problem(name, what, f"orch resume {name} goes on with it; --new begins another one"))
