"""`orch` in a hurry: the real command line with shorter deadlines, so that what hangs passes them within a test.

python -m tests.fault.hurried_orch run …
"""

from __future__ import annotations

from dataclasses import replace

from android_runner import staging
from android_runner.recovery.climb import Patience
from orchestrator.app import asking, phones
from orchestrator.app.keeping import Keeping
from orchestrator.farm import kit, lane
from orchestrator.farm.returning import Ladder

SHORTER_S = (
    (lane, "START_DEADLINE_S", 8.0),
    (staging, "ANSWER_S", 8.0),
    (phones, "PROBE_DEADLINE_S", 5.0),
    (asking, "BACK_S", 5.0),
)
HURRIED = Patience(
    settle_s=0.2, return_s=30.0, again_s=5.0, act_s=10.0, look_s=5.0, answer_s=3.0, lost_after_s=10.0, pause_s=0.3
)


def hurry() -> None:
    """Shorten what is waited for, by names that must be there."""
    for module, name, seconds in SHORTER_S:
        assert isinstance(getattr(module, name), float)
        setattr(module, name, seconds)
    usual = Keeping.ladder_of

    def ladder_of(keeping: Keeping, phone: phones.Phone) -> Ladder:
        return replace(usual(keeping, phone), patience=HURRIED)

    Keeping.ladder_of = ladder_of  # type: ignore[method-assign]
    assert callable(kit.deadline_s)
    kit.deadline_s = lambda _expected_s: 16


if __name__ == "__main__":
    from orchestrator.cli.main import main

    hurry()
    main()
