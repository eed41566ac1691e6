"""`orch plan`: everything that can be said without touching a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from android_runner.facts import PhoneFacts
from orchestrator.app.beginning import prepared
from orchestrator.app.described import described_phones
from orchestrator.app.estimate import estimate
from orchestrator.app.prepare import OnPhone, expand_all
from orchestrator.app.site import check_on_host, tools_for
from orchestrator.app.wish import Wish
from orchestrator.home import Home
from orchestrator.lab import Lab
from orchestrator.measure.discoveries import rounds_to_tell
from orchestrator.measure.sequential import Looks
from orchestrator.plan.matrix import Expansion
from orchestrator.plan.order import verified
from orchestrator.report.numbers import percent, plural, span
from orchestrator.report.plan_text import PlanCase, PlanPhone, PlanView
from orchestrator.report.summary import DroppedRow
from orchestrator.store.lab_file import read_lab


def plan_only(wish: Wish, home: Home, adb_port: int, slots: int, say: Callable[[str], object]) -> PlanView:
    """The plan as it would run; `say` is told of each phone that it leaves out.

    Virtual phones that don't live yet are taken from their device profiles.
    Raises UsageError and NoUsableDevice as `orch run` does.
    """
    given = check_on_host(wish, home)
    facts = described_phones(wish.device, home, adb_port, say)
    tools = tools_for(wish, facts, home, given)
    workshop = prepared(wish, facts, home, tools.oldest)
    expansions = expand_all(wish, workshop, tools, [OnPhone(facts=one) for one in facts])
    if wish.tune is not None:
        from orchestrator.app.tune import check_search  # noqa: PLC0415 - scipy comes with it

        check_search(wish, expansions)
    shared = slots if all(one.virtual for one in facts) else 0
    cost = estimate(wish, workshop, tools, expansions, shared)
    return PlanView(
        name=wish.name,
        seed=wish.plan.seed,
        rounds=wish.max_rounds,
        phones=tuple(_phone(one, expansions[one.identity], wish) for one in facts),
        dropped=tuple(
            (drop.model_name, DroppedRow(phones=(drop.phone,), row=drop.row, reason=drop.reason))
            for expansion in expansions.values()
            for drop in expansion.dropped
        ),
        estimate_s=cost.seconds_s,
        estimate_at_most=cost.at_most,
        stage_bytes=cost.bytes_a_phone * len(facts),
        estimate_basis="from the plan alone",
        notes=(*_notes(wish, expansions.values()), *_of_lab(wish, facts, home)),
    )


def _of_lab(wish: Wish, facts: Iterable[PhoneFacts], home: Home) -> Iterator[str]:
    """What the lab's file adds to a run."""
    lab = read_lab(home) if wish.as_lab else Lab()
    for one in facts:
        if steps := lab.prepare_of(one.identity):
            yield f"lab.toml: {', '.join(steps)} on {one.identity} where it offers that; put back at the end"


def _notes(wish: Wish, expansions: Iterable[Expansion]) -> tuple[str, ...]:
    more = sum(len(verified(one.cases)) for one in expansions) if wish.plan.verify else 0
    notes = [f"--verify: {plural(more, 'trial')} more, never timed: what each setting computes"] if more else []
    if wish.prepare:
        notes.append(f"--prepare: {', '.join(wish.prepare)} on each phone that offers it; put back at the end")
    if wish.series:
        each = f"a series of {wish.plan.sustained:g} min for each setting, the phone to itself"
        notes.append(f"--sustained: {each}, in {plural(wish.series.processes, 'process', 'processes')}")
    if wish.tune is not None:
        each = f"{span(wish.tune.budget_s * len(wish.models))} a phone at most"
        return (*notes, f"searched: {each}, in rounds of what may still be the best to {percent(wish.tune.within)}")
    if wish.sides is not None:
        looks = ", ".join(map(str, Looks(wish.sides.delta, wish.max_rounds).at))
        return (*notes, f"A beside B, in pairs: looked at after {looks} of them, ended where they decide")
    return (*notes, *_comparable(sum(case.timed for one in expansions for case in one.cases), wish.max_rounds))


def _comparable(cases: int, rounds: int) -> Iterator[str]:
    """How many rounds `orch compare` would need of this run and of another like it."""
    if cases:
        needed = rounds_to_tell(cases)
        which = "it takes" if cases == 1 else f"a single difference among {cases} cases takes"
        enough = "" if rounds >= needed else f", not {rounds}"
        yield f"orch compare with another run: {which} {plural(needed, 'round')} in each{enough}"


def _phone(facts: PhoneFacts, expansion: Expansion, wish: Wish) -> PlanPhone:
    cases = tuple(
        PlanCase(
            model=case.model_name,
            row=case.row,
            also=case.also,
            twin_of=case.twin_of,
            where_pays="" if case.where_pays is None else case.where_pays.in_words,
        )
        for case in expansion.cases
    )
    return PlanPhone(
        label=facts.identity,
        device_model=facts.device_model,
        virtual=facts.virtual,
        cases=cases,
        trials=sum(case.timed for case in expansion.cases) * wish.max_rounds,
    )
