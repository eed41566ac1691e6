"""Pure: the order of trials. Rounds are interleaved: every case once, in a fresh seeded order, then again."""

from __future__ import annotations

import random
from collections.abc import Sequence

from android_runner.ort import ExecutionProvider
from orchestrator.digest import digest_of
from orchestrator.plan.case import Case, Purpose, Trial


def trials_of(cases: Sequence[Case], phone: str, *, rounds: int, seed: int, trace: bool = False) -> list[Trial]:
    """A phone's trials: `rounds` timed rounds, then one that asks what was taken, then a traced one.

    NNAPI's cases are always introspected and traced, as their figures say little without; `trace` traces all cases. The
    order depends on seed, phone and round only, not on how the cases were listed.
    """
    every = {case.case_id for case in cases}
    nnapi = introspected(cases)
    rows = [(Purpose.TIME, number, every) for number in range(1, rounds + 1)]
    rows += [(Purpose.INTROSPECT, 1, nnapi), (Purpose.TRACE, 1, every if trace else nnapi)]
    trials: list[Trial] = []
    for purpose, number, chosen in rows:
        order = sorted(chosen)
        random.Random(int(digest_of([seed, phone, purpose, number])[:16], 16)).shuffle(order)
        for case_id in order:
            position = len(trials)
            trials.append(Trial(case_id=case_id, phone=phone, purpose=purpose, round=number, position=position))
    return trials


def introspected(cases: Sequence[Case]) -> set[str]:
    """The cases, by id, whose placement is asked for: NNAPI's."""
    return {case.case_id for case in cases if case.settings.provider is ExecutionProvider.NNAPI}


def trials_planned(cases: Sequence[Case], *, rounds: int, trace: bool = False) -> int:
    """How many trials `trials_of` gives for these cases on one phone."""
    every, nnapi = {case.case_id for case in cases}, introspected(cases)
    return len(every) * rounds + len(nnapi) + len(every if trace else nnapi)
