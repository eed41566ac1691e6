"""Pure: which cases' files go to a phone while it works on a block."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.farm.blocks import Lane, Rules
from orchestrator.farm.protocol import Work
from orchestrator.plan.case import Purpose


def cases_ahead(lane: Lane, works: Sequence[Work], rules: Rules) -> tuple[str, ...]:
    """The cases, by id, that come after these works, the canary's once rounds have begun."""
    coming = dict.fromkeys(trial.case_id for trial in lane.waiting)
    timed = any(work.trial is not None and work.purpose is Purpose.TIME for work in works)
    if rules.canary is not None and timed and not lane.mute:
        coming[rules.canary.case_id] = None
    now = {work.case_id for work in works}
    return tuple(case for case in coming if case not in now)
