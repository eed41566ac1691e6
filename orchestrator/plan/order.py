"""Pure: the order of trials. Rounds are interleaved: every case once, in a fresh seeded order, then again."""

from __future__ import annotations

import random
from collections.abc import Sequence

from orchestrator.digest import digest_of
from orchestrator.plan.case import Case, Purpose, Trial


def trials_of(cases: Sequence[Case], phone: str, *, rounds: int, seed: int, trace: bool = False) -> list[Trial]:
    """A phone's trials: `rounds` timed rounds, then one traced round when asked for.

    The order depends on seed, phone and round only, not on how the cases were listed.
    """
    known = sorted({case.case_id for case in cases})
    purposes = [(Purpose.TIME, number) for number in range(1, rounds + 1)]
    if trace:
        purposes.append((Purpose.TRACE, 1))
    trials: list[Trial] = []
    for purpose, number in purposes:
        order = list(known)
        random.Random(int(digest_of([seed, phone, purpose, number])[:16], 16)).shuffle(order)
        for case_id in order:
            position = len(trials)
            trials.append(Trial(case_id=case_id, phone=phone, purpose=purpose, round=number, position=position))
    return trials
