"""Beginning a run: the whole plan is in the ledger before a phone is told anything."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from android_runner.facts import PhoneFacts
from android_runner.ort import OrtVersion
from android_runner.phone.listing import script_digest
from android_runner.preparing.steps import StepName
from android_runner.settings import SessionSettings
from orchestrator import __version__
from orchestrator.app.amounts import seconds_of
from orchestrator.app.batteries import keep_levels, lab_limits, note_batteries
from orchestrator.app.binary import Tool, Tools
from orchestrator.app.claims import Named, share
from orchestrator.app.comparing import pairs_of
from orchestrator.app.custom_ops import custom_ops
from orchestrator.app.kept import Kept, kept_to_text
from orchestrator.app.limiting import limit_words, limits_of
from orchestrator.app.phones import Phone
from orchestrator.app.prepare import ANY_API, OnPhone, Workshop, expand_all, prepare
from orchestrator.app.site import Site, farm_for, script_unit
from orchestrator.app.unfinished import refuse_unfinished
from orchestrator.app.variant_rows import described, variant_record
from orchestrator.app.verifying import Checks, checks_for
from orchestrator.app.wish import Wish
from orchestrator.digest import digest_of
from orchestrator.errors import Problem, UsageError
from orchestrator.farm.kit import Able, Materials
from orchestrator.farm.lock import user_name
from orchestrator.farm.loop import Farm
from orchestrator.home import Home
from orchestrator.lab import Lab
from orchestrator.plan.case import Case, Side
from orchestrator.plan.matrix import Expansion, merge_by_phone
from orchestrator.plan.order import trials_of
from orchestrator.plan.pools import among, spares
from orchestrator.store.kept_numbers import Number, Use
from orchestrator.store.lab_file import read_lab
from orchestrator.store.records import PhoneRecord, RunContents, RunRecord
from orchestrator.variants.canary import NAME
from orchestrator.variants.crew import Ahead
from orchestrator.variants.numerics_shelf import known_numerics
from orchestrator.variants.recipe import InputSet, Variant
from orchestrator.variants.shelf import Shelf


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A run before it begins: what is asked for, built, and able to take it. `command` is how to ask again."""

    named: Named
    wish: Wish
    workshop: Workshop
    tools: Tools
    phones: Sequence[tuple[Phone, Able]]
    command: str
    pools: Sequence[tuple[str, ...]] = ()
    anew: bool = False
    """Whether an unfinished run of the same plan is no reason to stop."""


def prepared(
    wish: Wish, facts: Sequence[PhoneFacts], home: Home, reader: OrtVersion | None, ahead: Ahead | None = None
) -> Workshop:
    """The workshop for a wish on these phones: what the cells of the phone with the most cores need.

    `reader` is the version of the binary that is to load the variants; a builder may have been started `ahead`.
    Raises UsageError.
    """
    cores = max((one.cores for one in facts), default=8)
    least_api = min((one.api_level for one in facts), default=ANY_API)
    return prepare(wish, wish.cells(cores, reader), home, reader, least_api, ahead, wish.canary)


def begin(ready: Ready, site: Site) -> Farm:
    """Write the whole plan down, and set the farm up. Raises UsageError when nothing is left to measure."""
    run_id = ready.named.run_id
    contents, kept, checks = contents_for(ready, site)
    if not ready.anew:
        refuse_unfinished(contents.run, kept, site.ledger, site.home)
    if kept.tune:
        from orchestrator.app.tuning import check_hunts  # noqa: PLC0415 - scipy comes with it

        check_hunts(contents, kept)
    site.ledger.add_run(contents)
    if ready.wish.sides is not None:
        site.ledger.kept.keep([Number(run_id)], Use.GATED if kept.fail_if else Use.COMPARED, "orch ab")
    phones = [phone for phone, _ in ready.phones]
    note_batteries(phones, run_id, site.ledger, site.clock.now())
    keep_levels(phones, read_lab(site.home), site.say)
    materials = materials_for(ready, contents, checks)
    farm = farm_for(contents, kept, materials, ready.phones, site)
    share(farm, ready.named.claims, kept, site)
    return farm


def materials_for(ready: Ready, contents: RunContents, checks: Checks) -> Materials:
    """What the cases of these contents refer to."""
    canary = ready.workshop.canary
    return Materials(
        run_id=ready.named.run_id,
        cases={case.case_id: case for case in contents.cases},
        variants=_built(ready.workshop) | ({canary[0].variant_id: canary[0]} if canary else {}),
        inputs={inputs.digest: inputs for inputs in _inputs(ready.workshop)},
        binaries={tool.unit.digest: tool.unit for tool in ready.tools.every},
        script=script_unit(),
        script_digest=script_digest(),
        trial_s=ready.wish.length().max_s,
        checks=checks.built,
    )


def _inputs(workshop: Workshop) -> list[InputSet]:
    """What a run stages as inputs, the canary's too."""
    return [inputs for _, inputs in workshop.models] + ([workshop.canary[1]] if workshop.canary else [])


def canary_case(canary: tuple[Variant, InputSet], tool: Tool) -> Case:
    """The canary as a case: one thread, so that nothing but a core's clock acts on it."""
    variant, inputs = canary
    return Case(
        model_name=NAME,
        variant_id=variant.variant_id,
        graph_digest=variant.graph_digest,
        recipe_name=variant.recipe.name,
        settings=SessionSettings(intra_op_threads=1),
        binary_digest=tool.unit.digest,
        inputs_digest=inputs.digest,
        row=NAME,
        timed=False,
    )


def _built(workshop: Workshop) -> dict[str, Variant]:
    return {one.variant_id: one for one in workshop.variants.values() if isinstance(one, Variant)}


def contents_for(ready: Ready, site: Site) -> tuple[RunContents, Kept, Checks]:
    """All that is asked of these phones. Raises UsageError when nothing is left to measure."""
    plan, run_id, seed = ready.wish.plan, ready.named.run_id, ready.named.seed
    pools = among(ready.pools, [phone.identity for phone, _ in ready.phones])
    on_phones = [
        OnPhone(facts=phone.facts, able=able)
        for phone, able in ready.phones
        if phone.facts and phone.identity not in spares(pools)
    ]
    expansions = expand_all(ready.wish, ready.workshop, ready.tools, on_phones)
    if not any(one.cases for one in expansions.values()):
        reasons = sorted({f"{drop.row}: {drop.reason}" for one in expansions.values() for drop in one.dropped})
        raise UsageError(*(Problem("plan", reason, "nothing is left to measure") for reason in reasons))
    cases = merge_by_phone(expansions)
    libraries = custom_ops(plan.custom_ops).host
    canary = () if ready.workshop.canary is None else (canary_case(ready.workshop.canary, ready.tools.a),)
    kept = Kept(
        rounds=plan.rounds,
        max_rounds=ready.wish.max_rounds,
        precision=plan.precision,
        budget_s=seconds_of(plan.budget),
        deadline_s=seconds_of(plan.deadline),
        reruns=plan.reruns,
        canary=canary[0].case_id if canary else "",
        seconds=plan.seconds,
        iterations=plan.iterations,
        seed=seed,
        trace=plan.trace,
        verify=plan.verify,
        prepare=ready.wish.prepare,
        lab_prepares=_lab_prepares(ready, site.home),
        sustained=plan.sustained,
        limits=plan.limits.changes(),
        lab_limits=lab_limits([one for one, _ in ready.phones], read_lab(site.home)),
        devices=ready.wish.device,
        pools=pools,
        inputs={inputs.digest: inputs.source for inputs in _inputs(ready.workshop)},
        command=ready.command,
        custom_ops=libraries,
        **_of_sides(ready),
        tune=_of_search(ready, expansions, cases),
        slots=site.slots,
    )
    series = ready.wish.series
    built = _built(ready.workshop)
    if ready.wish.sides is not None:  # a recipe of A's is no variant of a model that only B has
        used = {case.variant_id for case in (*cases, *canary)}
        built = {one: variant for one, variant in built.items() if one in used}
    graphs = described(cases, built, site.home, [path for path, _ in libraries])
    known = known_numerics(pairs_of(built.values(), ready.workshop), Shelf(site.home.shelf))
    checks = checks_for(cases, ready.workshop, site.home, libraries) if plan.verify else Checks()
    contents = RunContents(
        run=_run_record(ready, run_id, kept, site),
        phones=tuple(phone_record(phone) for phone, _ in ready.phones),
        variants=tuple(
            replace(variant_record(variant, graphs.get(one, ""), known.get(one)), check=checks.facts.get(one))
            for one, variant in built.items()
        ),
        cases=(*cases, *canary),
        trials=tuple(
            trial
            for phone, one in (expansions if ready.wish.tune is None else {}).items()
            for trial in trials_of(
                one.cases,
                phone,
                rounds=ready.wish.max_rounds,
                seed=seed,
                trace=plan.trace,
                verify=checks.checkable(one.cases),
                sustained=series.processes if series else 0,
            )
        ),
        dropped=tuple(drop for one in expansions.values() for drop in one.dropped),
    )
    return contents, kept, checks


def _of_sides(ready: Ready) -> dict[str, Any]:
    """What a run's row keeps of A and B, where they are held against each other."""
    sides = ready.wish.sides
    if sides is None:
        return {}
    words = {side.value: one.words for side, one in zip(Side, sides.both, strict=True)}
    others = {one.unit.digest: (one.name, str(one.ort_version or "")) for one in ready.tools.every[1:]}
    return {"delta": sides.delta, "sides": words, "binaries": others, "fail_if": sides.fail_if}


def _of_search(ready: Ready, expansions: Mapping[str, Expansion], cases: Sequence[Case]) -> dict[str, Any]:
    """What a run's row keeps of a search: it plans its trials itself, round by round."""
    if ready.wish.tune is None:
        return {}
    places = {case.case_id: at for at, case in enumerate(cases)}
    own = {phone: tuple(places[case.case_id] for case in one.cases) for phone, one in expansions.items()}
    return replace(ready.wish.tune, cases=own).as_json()


def _lab_prepares(ready: Ready, home: Home) -> dict[str, tuple[StepName, ...]]:
    """What the lab's file wants done to each phone for every run, where it wants something."""
    lab = read_lab(home) if ready.wish.as_lab else Lab()
    steps = {phone.facts.identity: lab.prepare_of(phone.facts.identity) for phone, _ in ready.phones if phone.facts}
    return {phone: wanted for phone, wanted in steps.items() if wanted}


def _run_record(ready: Ready, run_id: str, kept: Kept, site: Site) -> RunRecord:
    plan = ready.wish.plan
    tool = ready.tools.a
    asked = [
        ready.wish.cells(8, tool.ort_version),
        [model.digest for model, _ in ready.workshop.models],
        sorted(kept.inputs),
        *(["sides", ready.tools.b.unit.digest, str(kept.delta)] if kept.delta is not None else []),
        *(["only", sorted(map(str, ready.wish.only))] if ready.wish.only is not None else []),
        *(["tune", *(str(kept.tune[name]) for name in ("budget_s", "within", "objectives"))] if kept.tune else []),
        *(["prepare", kept.prepare] if kept.prepare else []),
        *(
            ["lab prepares", *sorted([phone, *steps] for phone, steps in kept.lab_prepares.items())]
            if kept.lab_prepares
            else []
        ),
        [
            "limits",
            *(
                limit_words(limits_of(one.facts, kept.limits_on(one.facts.identity)))
                for one, _ in ready.phones
                if one.facts
            ),
        ],
    ]
    ends = [kept.max_rounds, str(kept.precision), str(kept.budget_s), kept.reruns]
    return RunRecord(
        run_id=run_id,
        created_at=site.clock.now(),
        plan_name=ready.wish.name,
        plan_digest=digest_of([asked, tool.unit.digest, kept.rounds, str(kept.seconds), kept.iterations, ends]),
        plan_json=kept_to_text(kept),
        seed=kept.seed,
        rounds=kept.rounds,
        note=plan.note,
        tags=tuple(plan.tag),
        binary_name=tool.name,
        binary_digest=tool.unit.digest,
        binary_ort_version=str(tool.ort_version or ""),
        script_digest=script_digest(),
        orch_version=__version__,
        host=socket.gethostname(),
        user=user_name(),
    )


def phone_record(phone: Phone) -> PhoneRecord:
    """A phone that was asked for its facts, as a run keeps it."""
    assert phone.facts is not None
    return PhoneRecord(phone=phone.facts.identity, label=phone.label, serial=str(phone.seen.serial), facts=phone.facts)
