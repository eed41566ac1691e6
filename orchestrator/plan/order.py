"""Pure: the order of trials. Rounds are interleaved: every case once, in a fresh seeded order, then again.

A round is one block of a randomised design: what the phone meets meanwhile (heat, clocks, the hour) all cases meet.
The two of an A/B comparison stand side by side in each round, A before B in odd rounds, B before A in even ones
(A B B A): what changes steadily while a pair is measured helps neither.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Sequence

from android_runner.ort import ExecutionProvider
from orchestrator.digest import digest_of
from orchestrator.plan.case import Case, Purpose, Side, Trial


def trials_of(
    cases: Sequence[Case],
    phone: str,
    *,
    rounds: int,
    seed: int,
    trace: bool = False,
    verify: Collection[str] = (),
    sustained: int = 0,
) -> list[Trial]:
    """A phone's trials: `rounds` timed rounds, then one that asks what was taken, a traced one, one that verifies.

    The cases of the second step have as many timed rounds of their own behind those of the first, numbered on: what is
    paired by round was measured side by side.
    NNAPI's cases are always introspected and traced, as their figures say little without, and so is what stands beside
    them; `trace` traces all cases. Of the cases in `verify`, by id, those that `verified` names are verified, and
    traced, too. Last come the long series, of `sustained` processes each, one case after another: never interleaved, as
    each is to heat the phone by itself. The order depends on seed, phone and round only, not on how the cases were
    listed.
    """
    steps = [[case for case in cases if (case.where_pays is None) is first] for first in (True, False)]
    rows = [
        (Purpose.TIME, step * rounds + number, _timed(own))
        for step, own in enumerate(steps)
        for number in range(1, rounds + 1)
    ]
    checked = verified(cases) & set(verify)
    rows += [
        (Purpose.INTROSPECT, 1, introspected(cases)),
        (Purpose.TRACE, 1, _traced(cases, every=trace) | checked),
        (Purpose.VERIFY, 1, checked),
    ]
    trials: list[Trial] = []
    for purpose, number, chosen in rows:
        together = _together(cases, chosen, number)
        random.Random(int(digest_of([seed, phone, purpose, number])[:16], 16)).shuffle(together)
        for case_id in itertools.chain.from_iterable(together):
            position = len(trials)
            trials.append(Trial(case_id=case_id, phone=phone, purpose=purpose, round=number, position=position))
    return trials + _series(cases, phone, sustained, seed, len(trials))


def _together(cases: Sequence[Case], chosen: Collection[str], number: int) -> list[tuple[str, ...]]:
    """The cases of a round, by id and sorted, the two of a pair as one, in the order of this round."""
    pairs: dict[str, list[Case]] = {}
    for case in cases:
        if case.case_id in chosen and case.side is not None:
            pairs.setdefault(case.pair, []).append(case)
    sided = {case.case_id for both in pairs.values() for case in both}
    first = Side.A if number % 2 else Side.B
    ordered = [sorted(both, key=lambda case: case.side is not first) for both in pairs.values()]
    return sorted([*((one,) for one in set(chosen) - sided), *(tuple(one.case_id for one in both) for both in ordered)])


def _series(cases: Sequence[Case], phone: str, processes: int, seed: int, position: int) -> list[Trial]:
    """The long series of the cases that are ranked; `position` is the first place that is free."""
    order = sorted(verified(cases)) if processes else []
    random.Random(int(digest_of([seed, phone, Purpose.SUSTAIN])[:16], 16)).shuffle(order)
    places = ((case_id, number) for case_id in order for number in range(1, processes + 1))
    return [
        Trial(case_id=case_id, phone=phone, purpose=Purpose.SUSTAIN, round=number, position=position + at)
        for at, (case_id, number) in enumerate(places)
    ]


def introspected(cases: Sequence[Case]) -> set[str]:
    """The cases, by id, whose placement is asked for: NNAPI's."""
    return {case.case_id for case in cases if case.settings.provider is ExecutionProvider.NNAPI}


def verified(cases: Sequence[Case]) -> set[str]:
    """The cases, by id, whose outputs can be asked for: those that are ranked."""
    return {case.case_id for case in cases if case.timed and not case.twin_of}


def trials_planned(cases: Sequence[Case], *, rounds: int, trace: bool = False, verify: bool = False) -> int:
    """How many trials `trials_of` gives for these cases on one phone, at most: with each that can be verified.

    Long series are not in it.
    """
    checked = verified(cases) if verify else set()
    traced = _traced(cases, every=trace) | checked
    return len(_timed(cases)) * rounds + len(introspected(cases)) + len(traced) + len(checked)


def _timed(cases: Sequence[Case]) -> set[str]:
    return {case.case_id for case in cases if case.timed}


def _traced(cases: Sequence[Case], *, every: bool) -> set[str]:
    return introspected(cases) | {case.case_id for case in cases if case.traced or every}
