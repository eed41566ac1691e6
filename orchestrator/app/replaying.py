"""Asking one row of an earlier run again: the same case, from what ledger, shelf and home have kept."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from android_runner.ort import ExecutionProvider
from android_runner.phone.listing import script_digest
from orchestrator import __version__
from orchestrator.app.asking import able_phones
from orchestrator.app.batteries import keep_levels, lab_limits, note_batteries
from orchestrator.app.beginning import phone_record
from orchestrator.app.binary import Tool, Tools, kept_tool
from orchestrator.app.choosing import chosen_phones
from orchestrator.app.claims import claim, share
from orchestrator.app.custom_ops import still_there
from orchestrator.app.kept import Kept, kept_from_text, kept_to_text
from orchestrator.app.phones import Phone
from orchestrator.app.prepare import why_refused
from orchestrator.app.resuming import kept_materials, phones_of
from orchestrator.app.site import Site, farm_for
from orchestrator.digest import digest_of
from orchestrator.errors import Problem, UsageError
from orchestrator.farm.kit import Able
from orchestrator.farm.lock import user_name
from orchestrator.farm.loop import Farm
from orchestrator.plan.affinity import on_cores
from orchestrator.plan.case import Case
from orchestrator.plan.cells import Cell
from orchestrator.plan.load import CONTROL_ROUNDS
from orchestrator.plan.matrix import pointless
from orchestrator.plan.order import trials_of
from orchestrator.plan.pools import pools_of, spares
from orchestrator.report import source
from orchestrator.report.replay import origin_as_kept
from orchestrator.report.show import Place, parse_target, places_of
from orchestrator.report.source import text
from orchestrator.report.summarize import summarize
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.frames import RunFrames
from orchestrator.store.kept_numbers import Number, Use
from orchestrator.store.lab_file import read_lab
from orchestrator.store.records import PhoneRecord, RunContents
from orchestrator.variants.shelf import Shelf


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """How a row is asked again: `device` as in `--device` (empty: its own phone), `rounds` (None: as many as it had).
    `command` is how to ask this again."""

    words: str
    device: tuple[str, ...]
    rounds: int | None
    command: str


@dataclass(frozen=True, slots=True)
class Replaying:
    """A run that asks a row again, ready to begin, and this host's libraries of custom operators."""

    farm: Farm
    custom_ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The row and its run."""

    case: Case
    contents: RunContents
    kept: Kept
    origin: Mapping[str, Any]
    phone: PhoneRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class _New:
    """The run that asks again; `cases` by phone."""

    run_id: str
    tool: Tool
    able: Sequence[tuple[Phone, Able]]
    cases: Mapping[str, Case]
    canary: Case | None
    kept: Kept


MOST_ROUNDS = 30
"""As many rounds as a replay has where its origin had more, and nobody says."""


def replay(again: Again, site: Site) -> Replaying:
    """Plan one row of an earlier run anew, write that down, and set the farm up.

    Raises UsageError for a row that is none, that is gone from shelf or home, or that can't be asked of these phones;
    StoreError for ledger or evidence; NoUsableDevice when no phone is there. No phone is touched before.
    """
    asked = _asked(again, site)
    tool = _tool_of(asked, site)
    canary = _canary(asked, tool, site)
    _still_kept(asked, tool, canary, site)
    phones = _phones(again, asked, site)
    seed = secrets.randbelow(2**31)
    run_id = site.ledger.new_run_name("replay", site.clock.now(), seed)
    claims = claim(phones, run_id, site)
    able = able_phones(phones, Tools(tool, tool), site)
    cases = {phone.identity: _case_on(asked, tool, phone, can, site) for phone, can in able}
    kept = _kept(again, asked, able, canary, seed, site)
    new = _New(run_id=run_id, tool=tool, able=able, cases=cases, canary=canary, kept=kept)
    contents = _contents(new, asked, site)
    site.ledger.add_run(contents)
    then = Number(asked.contents.run.run_id, asked.phone.phone, asked.case.case_id)
    site.ledger.kept.keep([then, Number(run_id)], Use.REPLAYED, f"orch replay: {run_id}")
    note_batteries([one for one, _ in able], run_id, site.ledger, site.clock.now())
    keep_levels([one for one, _ in able], read_lab(site.home), site.say)
    materials = kept_materials(contents, kept, Tools(tool, tool), site.home)
    farm = farm_for(contents, kept, materials, able, site)
    share(farm, claims, kept, site)
    return Replaying(farm, still_there(kept.custom_ops)[0])


def _asked(again: Again, site: Site) -> _Asked:
    target = parse_target(again.words)
    if not target.phone or not target.row:
        raise UsageError(Problem(again.words, "names no row", "give RUN/PHONE/ROW; orch show RUN lists them"))
    run_id = site.ledger.find_run(target.run)
    contents = site.ledger.contents(run_id)
    frames = RunFrames(site.ledger, EvidenceStore(site.home.root), run_id, lenient=True)
    attempts = source.records(frames.attempts)
    cells = source.cells(source.records(frames.trials), attempts)
    summary = summarize(frames)
    places = places_of(summary, cells, replace(target, run=run_id))
    if len(places) > 1:
        names = ", ".join(f"{place.number} ({place.cell.model} {place.cell.row})" for place in places)
        raise UsageError(Problem(again.words, f"names {len(places)} rows: {names}", "give one by its number"))
    place: Place = places[0]
    facts = next((row for row in source.records(frames.phones) if text(row, "phone") == place.cell.phone), {})
    canaries = [row for row in attempts if text(row, "purpose") == "canary"]
    origin = origin_as_kept(place.cell, facts, place.answer.resolves, canaries, run_id)
    if not origin["p50s_s"]:
        raise UsageError(Problem(again.words, "has no valid round: nothing to agree with", "measure it with orch run"))
    return _Asked(
        case=next(case for case in contents.cases if case.case_id == place.cell.case),
        contents=contents,
        kept=kept_from_text(contents.run.plan_json),
        origin=origin,
        phone=next(one for one in contents.phones if one.phone == place.cell.phone),
    )


def _tool_of(asked: _Asked, site: Site) -> Tool:
    """The binary that measured it, by its digest. Raises UsageError when the home has lost it."""
    run, digest = asked.contents.run, asked.case.binary_digest
    others = {one: name for one, (name, _) in asked.kept.binaries.items()}
    return kept_tool(digest, run.binary_name if digest == run.binary_digest else others.get(digest, digest), site.home)


def _canary(asked: _Asked, tool: Tool, site: Site) -> Case | None:
    """The canary of its run, by the same binary; None where it had none."""
    known = next((one for one in asked.contents.cases if one.case_id == asked.kept.canary), None)
    return None if known is None else replace(known, binary_digest=tool.unit.digest)


def _still_kept(asked: _Asked, tool: Tool, canary: Case | None, site: Site) -> None:
    """Raise UsageError or StoreError where variant or inputs are gone."""
    used = [asked.case, *([canary] if canary else [])]
    contents = replace(asked.contents, variants=(), cases=tuple(used))
    kept_materials(contents, replace(asked.kept, inputs=_inputs(asked, used)), Tools(tool, tool), site.home)


def _inputs(asked: _Asked, cases: Sequence[Case]) -> dict[str, str]:
    return {case.inputs_digest: asked.kept.inputs.get(case.inputs_digest, "") for case in cases}


def _phones(again: Again, asked: _Asked, site: Site) -> list[Phone]:
    """Its own phone, or those that were asked for. Raises UsageError where one is real and the other virtual."""
    if not again.device:
        return phones_of([asked.phone], site)
    found = chosen_phones(again.device, site.home, site.adb_port, site.slots, site.say)
    pools = pools_of(again.device, [phone.candidate() for phone in found])
    beside = {*pools.superfluous, *spares(pools.pools)}
    phones = [phone for phone in found if phone.identity not in beside]
    virtual = asked.phone.facts.virtual
    words = ("virtual", "real") if virtual else ("real", "virtual")
    problems = [
        Problem("--device", f"{phone.label} is {words[1]}, and what was measured is {words[0]}", "they never compare")
        for phone in phones
        if phone.facts is not None and phone.facts.virtual != virtual
    ]
    if problems:
        raise UsageError(*problems)
    return phones


def _case_on(asked: _Asked, tool: Tool, phone: Phone, can: Able, site: Site) -> Case:
    """The case as it stands on a phone: the same question. Raises UsageError where it can't be asked there."""
    case, facts = asked.case, phone.facts
    assert facts is not None
    plain = replace(case, side=None, pair="", twin_of="", again=False, where_pays=None, traced=False, timed=True)
    if phone.identity == asked.phone.phone:
        return plain
    recipe = Shelf(site.home.shelf).get(case.variant_id).recipe
    cell = Cell(recipe, case.settings, affinity=case.affinity)
    placed = on_cores(cell, facts, frozenset(os.sched_getaffinity(0)) if facts.virtual else None)
    if isinstance(placed, str):
        raise UsageError(Problem(phone.label, f"{case.row}: {placed}", "ask another phone"))
    why = pointless(placed.cell, facts) or why_refused(tool, can.get(tool.unit.digest))(case.settings, recipe)
    if why is not None:
        raise UsageError(Problem(phone.label, f"{case.row}: {why}", "ask another phone"))
    return replace(plain, settings=placed.cell.settings, cpu_mask=placed.cpu_mask)


def _kept(
    again: Again, asked: _Asked, able: Sequence[tuple[Phone, Able]], canary: Case | None, seed: int, site: Site
) -> Kept:
    """What the new run's row keeps: lengths, limits and preparation as they were."""
    then = asked.kept
    rounds = again.rounds or max(CONTROL_ROUNDS, min(len(asked.origin["p50s_s"]), MOST_ROUNDS))
    return Kept(
        rounds=rounds,
        max_rounds=rounds,
        seconds=then.seconds,
        iterations=then.iterations,
        seed=seed,
        trace=False,
        devices=again.device,
        inputs=_inputs(asked, [asked.case, *([canary] if canary else [])]),
        command=again.command,
        canary=canary.case_id if canary else "",
        custom_ops=then.custom_ops,
        prepare=then.steps_of(asked.phone.phone),
        limits=then.limits,
        lab_limits=lab_limits([phone for phone, _ in able], read_lab(site.home)),
        origin=asked.origin,
        slots=site.slots,
    )


def _contents(new: _New, asked: _Asked, site: Site) -> RunContents:
    """The whole plan of the new run: one case, on each phone as many rounds."""
    kept, tool = new.kept, new.tool
    origin = asked.origin
    cases = tuple({case.case_id: case for case in new.cases.values()}.values())
    used = {case.variant_id for case in cases}
    nnapi = asked.case.settings.provider is ExecutionProvider.NNAPI  # else nobody asks what NNAPI would take
    run = replace(
        asked.contents.run,
        run_id=new.run_id,
        created_at=site.clock.now(),
        plan_name="replay",
        plan_digest=digest_of(["replay", sorted(case.case_id for case in cases), kept.rounds, origin["run"]]),
        plan_json=kept_to_text(kept),
        seed=kept.seed,
        rounds=kept.rounds,
        note=f"asks {origin['run']}/{origin['label']}/{origin['row']} again",
        tags=(),
        binary_name=tool.name,
        binary_digest=tool.unit.digest,
        binary_ort_version=str(tool.ort_version or ""),
        script_digest=script_digest(),
        orch_version=__version__,
        host=socket.gethostname(),
        user=user_name(),
    )
    return RunContents(
        run=run,
        phones=tuple(phone_record(phone) for phone, _ in new.able if phone.facts is not None),
        variants=tuple(
            one if nnapi else replace(one, claim_graph="") for one in asked.contents.variants if one.variant_id in used
        ),
        cases=(*cases, *([new.canary] if new.canary else [])),
        trials=tuple(
            trial
            for phone, case in new.cases.items()
            for trial in trials_of([case], phone, rounds=kept.rounds, seed=kept.seed)
        ),
        dropped=(),
    )
