"""Going on with a run that was cut off: take over what phones finished alone, then run what is still open."""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from android_runner.facts import PhoneFacts
from android_runner.phone.listing import script_digest
from orchestrator.app.asking import able_phones
from orchestrator.app.binary import Tools, kept_tool
from orchestrator.app.choosing import unusable_lines
from orchestrator.app.claims import claim, share
from orchestrator.app.custom_ops import still_there
from orchestrator.app.hosts import plugged_in
from orchestrator.app.kept import Kept, kept_from_text
from orchestrator.app.phones import ABSENT, Phone, as_known, restart_virtual
from orchestrator.app.registry import read_registry
from orchestrator.app.scratch import scratch_in
from orchestrator.app.site import Site, farm_for, kits_for, open_ids, script_unit
from orchestrator.app.verifying import kept_checks
from orchestrator.errors import NoUsableDevice
from orchestrator.farm.adopt import adopt_orphans
from orchestrator.farm.kit import Materials, units_for
from orchestrator.farm.loop import Farm
from orchestrator.home import Home
from orchestrator.outcome import Failed, Skipped, SkipReason
from orchestrator.plan.case import Case, Purpose, Trial
from orchestrator.plan.length import TrialLength
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.lab_file import read_lab
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import PhoneRecord, RunContents, RunState, TrialRow
from orchestrator.variants.inputs import kept_inputs
from orchestrator.variants.recipe import Variant
from orchestrator.variants.shelf import Shelf


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """What `resume` found: blocks' attempts taken over from phones, the farm for what is left (None: nothing), and the
    libraries of custom operators for this host."""

    run_id: str
    adopted: int
    open_trials: int
    farm: Farm | None
    custom_ops: tuple[str, ...] = ()


def resume(run_id: str, site: Site, slots: int = 0, deadline_s: float | None = None) -> Resumed:
    """Go on with a run: take over what phones finished alone, then plan what is still open, and tidy up behind it all.

    `slots` of virtual phones, where they were asked for now; else the run's own. So with the seconds until nothing more
    is handed out.

    Raises UsageError or StoreError when the run's files are gone, before a phone is looked for; UsageError when a phone
    is busy, NoUsableDevice when no phone of the run is there.
    """
    ledger = site.ledger
    contents = ledger.contents(run_id)
    kept = kept_from_text(contents.run.plan_json)
    kept = kept if deadline_s is None else replace(kept, deadline_s=deadline_s)
    blocks = ledger.open_blocks(run_id)
    trials = ledger.trials(run_id)
    again = cut_off(trials) if kept.tune else to_try_again(contents.cases, trials)
    searching = bool(kept.tune) and ledger.run_state(run_id) is not RunState.FINISHED
    if not (again or blocks or searching or open_ids(ledger, run_id) or ledger.untidy_blocks(run_id=run_id)):
        if ledger.run_state(run_id) is not RunState.FINISHED:  # killed between its last trial's row and its own
            ledger.set_run_state(run_id, RunState.FINISHED)
        return Resumed(run_id=run_id, adopted=0, open_trials=0, farm=None)
    tools = kept_tools(contents, kept, site.home)
    materials = kept_materials(contents, kept, tools, site.home)
    found = phones_of(contents.phones, replace(site, slots=slots or kept.slots or site.slots))
    claims = claim(found, run_id, site)
    in_use = [*materials.common, *units_for(tuple(materials.cases), materials)]
    able = able_phones(found, tools, site, keep=[unit.digest for unit in in_use])
    begun = {record.phone: record.facts.fingerprint for record in contents.phones}
    updated = updated_phones([phone for phone, _ in able], begun)
    kits = kits_for(materials, kept, [(_as_begun(phone, begun), can) for phone, can in able], site)
    ledger.set_run_state(run_id, RunState.RUNNING, host=socket.gethostname())
    with scratch_in(site.home) as scratch:
        adopted = adopt_orphans(ledger, blocks, kits, EvidenceStore(site.home.root), scratch, site.clock)
    ledger.reopen(again)
    left = open_ids(ledger, run_id)
    for words in updated.values():
        site.say(f"left out  {words}")
    labels = {phone.identity: phone.label for phone, _ in able}
    for name, why in adopted.gone.items():  # it has been waited for already
        site.say(f"left out  {labels[name]}: {why}")
    phones = [(phone, can) for phone, can in able if phone.identity not in {*updated, *adopted.gone}]
    missing = {record.phone for record in contents.phones} - {phone.identity for phone, _ in phones}
    orphans = [row for row in ledger.trials(run_id) if row.trial.phone in missing and row.trial_id in left]
    moved = [_without_its_phone(row, kept, set(kits) - missing, ledger) for row in orphans]
    farm = farm_for(contents, kept, materials, phones, site)
    farm.tally.incomplete |= not all(moved)
    share(farm, claims, kept, site)
    libraries, lost = still_there(kept.custom_ops)
    for words in lost:
        site.say(f"custom operators: {words}: variants that need them are not compared with their source")
    return Resumed(run_id=run_id, adopted=adopted.attempts, open_trials=len(left), farm=farm, custom_ops=libraries)


def updated_phones(phones: Sequence[Phone], begun: Mapping[str, str]) -> dict[str, str]:
    """The phones whose build is another one than when the run began, by identity, in words: what ended there before is
    taken over, but rounds of two builds are never pooled. `begun`: the fingerprints of then."""
    found = {}
    for phone in phones:
        now, then = phone.facts.fingerprint if phone.facts is not None else "", begun.get(phone.identity, "")
        if now and then and now != then:
            found[phone.identity] = (
                f"{phone.label}: its build is now {now}, and was {then} when this run began; begin a new run for it"
            )
    return found


def _as_begun(phone: Phone, begun: Mapping[str, str]) -> Phone:
    """A phone with the build that its blocks ran under."""
    if phone.facts is None or not begun.get(phone.identity):
        return phone
    return replace(phone, facts=replace(phone.facts, fingerprint=begun[phone.identity]))


def _without_its_phone(row: TrialRow, kept: Kept, there: Collection[str], ledger: Ledger) -> bool:
    """Whether another phone of its pool takes an open trial: one must be there; a long series is not cut in two."""
    others = [phone for phone in kept.pool_of(row.trial.phone) if phone in there]
    if others and row.trial.purpose is not Purpose.SUSTAIN:
        ledger.move_trial(row.trial_id, others[0])
        return True
    ledger.end_trial(row.trial_id, Skipped(reason=SkipReason.PHONE_LOST))
    return False


def to_try_again(cases: Sequence[Case], trials: Sequence[TrialRow]) -> list[str]:
    """The ended trials to plan again, by id. With one that is timed in the first step the second is open again, too."""
    again = {row.trial_id: row.trial for row in trials if _may_go_on(row.outcome)}
    by_id = {case.case_id: case for case in cases}
    firsts = [trial for trial in again.values() if by_id[trial.case_id].where_pays is None]
    places = {_place(trial, by_id) for trial in firsts if trial.purpose is Purpose.TIME}
    for row in trials:
        place = _place(row.trial, by_id)
        if place in places and isinstance(row.outcome, Skipped):
            again[row.trial_id] = row.trial
    return list(again)


def cut_off(trials: Sequence[TrialRow]) -> list[str]:
    """Of a search the trials, by id, that nobody came to: what was spoiled it has asked for again itself."""
    return [row.trial_id for row in trials if isinstance(row.outcome, Skipped)]


def _place(trial: Trial, cases: Mapping[str, Case]) -> tuple[str, str]:
    """Its model, or its pair, on its phone: within it what is open decides about what was skipped."""
    case = cases[trial.case_id]
    return trial.phone, case.pair or case.model_name


def _may_go_on(outcome: object) -> bool:
    """What a later process may try again: what was skipped, and what the lab or we spoilt."""
    match outcome:
        case Skipped(reason=reason):
            return reason is not SkipReason.RESOLVED_EARLY
        case Failed(blame=blame):
            return blame.value in ("lab", "us")
        case _:
            return False


def phones_of(records: Sequence[PhoneRecord], site: Site) -> list[Phone]:
    """The phones of an earlier run, virtual ones started again. Raises NoUsableDevice when none of them can be used."""
    wanted = {record.phone for record in records}
    virtual = [one.facts for one in records if one.facts.virtual]
    phones: list[Phone] = []
    hosts = read_lab(site.home).hosts
    if hosts or len(virtual) < len(records):
        phones = plugged_in(site.home, site.adb_port, site.say)
    if hosts:
        virtual = _of_this_home(virtual, phones, site)
    if virtual:
        phones += restart_virtual(site.home, virtual, site.slots)
    ours = [one for one in as_known(phones, read_registry(site.home)) if one.identity in wanted]
    usable = [phone for phone in ours if phone.usable]
    there = {one.identity for one in ours}
    gone = [record for record in records if record.phone not in there]
    left_out = [*unusable_lines(ours), *map(_absent_line, gone)]
    if not usable:
        words = f"none of the run's phones can be used: {', '.join(sorted(wanted))}"
        raise NoUsableDevice("\n".join([words, *left_out]))
    for line in left_out:
        site.say(f"left out{line}")
    return usable


def _of_this_home(virtual: Sequence[PhoneFacts], seen: Sequence[Phone], site: Site) -> list[PhoneFacts]:
    """Of virtual phones those that are ours to start: with a folder in this home, and not living on another host."""
    from android_runner.virtual.lifecycle import listing  # noqa: PLC0415 - only for virtual phones

    ours = {one.serialno for one in listing(site.home.root)} - {one.identity for one in seen}
    return [one for one in virtual if one.identity in ours]


def _absent_line(record: PhoneRecord) -> str:
    mend = ABSENT if record.facts.virtual else "look after its cable and its hub"
    return f"  {record.label or record.phone}  not there: {mend}"


def kept_tools(contents: RunContents, kept: Kept, home: Home) -> Tools:
    """The binaries of an earlier run. Raises UsageError when the home has lost one."""
    a = kept_tool(contents.run.binary_digest, contents.run.binary_name, home)
    others = [kept_tool(digest, name, home) for digest, (name, _) in kept.binaries.items()]
    return Tools(a, others[0] if others else a)


def kept_materials(contents: RunContents, kept: Kept, tools: Tools, home: Home) -> Materials:
    """What the cases of an earlier run refer to. Raises UsageError or StoreError when some of it is gone."""
    shelf = Shelf(home.shelf)
    named = dict.fromkeys([*(one.variant_id for one in contents.variants), *(one.variant_id for one in contents.cases)])
    variants: Mapping[str, Variant] = {variant_id: shelf.get(variant_id) for variant_id in named}
    inputs = {digest: kept_inputs(home.inputs, digest) for digest in kept.inputs}
    return Materials(
        run_id=contents.run.run_id,
        cases={case.case_id: case for case in contents.cases},
        variants=variants,
        inputs=inputs,
        binaries={tool.unit.digest: tool.unit for tool in tools.every},
        script=script_unit(),
        script_digest=script_digest(),
        trial_s=TrialLength(min_s=kept.seconds).max_s,
        checks=kept_checks(contents.variants, home),
    )
