"""`orch` in a hurry: the real command line with shorter deadlines, so that what hangs passes them within a test.

python -m tests.fault.hurried_orch run …
"""

from __future__ import annotations

import os

from android_runner import staging
from android_runner.following import Pace
from orchestrator.app import asking, phones
from orchestrator.farm import kit, lane

SHORTER_S = (
    (lane, "LOST_AFTER_S", float(os.environ.get("ORCH_HURRIED_LOST_S", "30"))),
    (lane, "STAGE_DEADLINE_S", 20.0),
    (lane, "START_DEADLINE_S", 4.0),
    (staging, "ANSWER_S", 3.0),
    (phones, "PROBE_DEADLINE_S", 5.0),
    (asking, "BACK_S", 5.0),
)


def hurry() -> None:
    """Shorten what is waited for, by names that must be there."""
    for module, name, seconds in SHORTER_S:
        assert isinstance(getattr(module, name), float)
        setattr(module, name, seconds)
    for module, name in ((lane, "pace_of"), (kit, "deadline_s")):
        assert callable(getattr(module, name))
    lane.pace_of = lambda _order: Pace(answer_s=3.0, silence_s=2.0, pull_s=5.0, lost_after_s=lane.LOST_AFTER_S)
    kit.deadline_s = lambda _expected_s: 5


if __name__ == "__main__":
    from orchestrator.cli.main import main

    hurry()
    main()
