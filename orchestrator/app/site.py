"""Where a run happens, and the pieces that beginning and going on share: tool, capabilities, lanes, farm."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from android_runner.capabilities import CommandDialect
from android_runner.deadline import Clock, Deadline, SystemClock
from android_runner.errors import RunnerError
from android_runner.facts import PhoneFacts
from android_runner.lease import epoch_above, held_epoch
from android_runner.phone.listing import script_digest, script_source
from android_runner.staging import StageFile, StageUnit
from orchestrator.app.binaries.choosing import choose
from orchestrator.app.binaries.registry import named, registered
from orchestrator.app.binary import BinaryAsked, Tool, Tools, dialect_of, given_tool, stand_in, tool_of_build
from orchestrator.app.custom_ops import CustomOps, custom_ops
from orchestrator.app.hubs import Hubs
from orchestrator.app.keeping import Keeping
from orchestrator.app.kept import Kept
from orchestrator.app.limiting import limits_of
from orchestrator.app.phones import Phone
from orchestrator.app.prepare import unreadable
from orchestrator.app.rules import planned_of, rules_of
from orchestrator.app.scratch import make_scratch
from orchestrator.app.wish import Wish
from orchestrator.digest import digest_of
from orchestrator.errors import Problem, UsageError
from orchestrator.farm.kit import SCRIPT_NAME, Able, LaneKit, Materials
from orchestrator.farm.lane import Lane
from orchestrator.farm.loop import Farm
from orchestrator.farm.messages import HubLost, ServerSeen
from orchestrator.farm.probation import Probation
from orchestrator.farm.state import FarmState
from orchestrator.farm.taken import TakenWatch
from orchestrator.farm.tally import Tally
from orchestrator.farm.watcher import Watcher
from orchestrator.home import Home
from orchestrator.outcome import Measured, Skipped, SkipReason
from orchestrator.plan.select import parse_devices
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import RunContents, RunState
from orchestrator.variants.crew import Ahead
from orchestrator.variants.kernels import read_build_config


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where a run happens: home and ledger, the adb server's port for real phones, the slots of virtual ones, and
    who is told. `say` takes a line for people."""

    home: Home
    ledger: Ledger
    watcher: Watcher
    say: Callable[[str], None]
    adb_port: int = 5037
    slots: int = 0
    verify_staged: bool = False
    clock: Clock = field(default_factory=SystemClock)
    hubs: Hubs = field(default_factory=Hubs)
    keeping: Keeping


Given = tuple[Tool | None, Tool | None]
"""The binaries that were given, for A and for B; the same twice where only one is asked for."""


def check_on_host(wish: Wish, home: Home, ahead: Ahead | None = None) -> Given:
    """Read what a wish names, models and binaries, before a phone is looked for; the binaries that were given.

    A builder starts `ahead` where there will be something to build. Raises UsageError with every problem.
    """
    problems = unreadable(wish, home, ahead)
    operators = None
    found: dict[BinaryAsked, Tool | None] = {}
    try:
        operators = custom_ops(wish.plan.custom_ops)
    except UsageError as error:
        problems += error.problems
    try:
        if wish.plan.build_config:
            read_build_config(Path(wish.plan.build_config))
    except UsageError as error:
        problems += error.problems
    for asked in dict.fromkeys(wish.binaries):
        try:
            found[asked] = _given(asked, home, operators)
        except UsageError as error:
            problems += error.problems
    if problems:
        raise UsageError(*problems)
    a, b = wish.binaries
    return found[a], found[b]


def _given(asked: BinaryAsked, home: Home, operators: CustomOps | None) -> Tool | None:
    """The binary where files were given; None where the phones decide: a registered build by its name, or any."""
    if not asked.perf_test:
        return None
    names = dict.fromkeys(one.name for one in registered(home)) if asked.may_be_a_name else {}
    if not names:
        return given_tool(asked, home, operators)
    if asked.perf_test not in names:
        what = f"{asked.perf_test} is no file, and no registered build"
        raise UsageError(Problem(asked.options[0], what, f"registered: {', '.join(names)}"))
    if asked.lib:
        what = f"{asked.perf_test} is a registered build and has its libraries with it"
        raise UsageError(Problem(asked.options[1], what, "leave it out"))
    return None


def tools_for(wish: Wish, phones: Sequence[PhoneFacts], home: Home, given: Given) -> Tools:
    """The perf_tests of a run: those that were given, else registered builds that the phones execute, else the virtual
    phones' stand-in.

    Raises UsageError when a real phone is there and no build is for it.
    """
    a, b = (one or _found(wish, phones, home, asked) for one, asked in zip(given, wish.binaries, strict=True))
    return Tools(a, b)


def _found(wish: Wish, phones: Sequence[PhoneFacts], home: Home, asked: BinaryAsked) -> Tool:
    operators = custom_ops(wish.plan.custom_ops)
    if asked.perf_test:
        return tool_of_build(choose(named(home, asked.perf_test), phones), home, operators)
    if any(not one.virtual for one in phones):
        builds = [one for one in registered(home) if one.facts.programs]
        if not builds:
            raise UsageError(_no_build(phones))
        return tool_of_build(choose(builds, phones), home, operators)
    profiles = [one.profile for one in parse_devices(wish.device)[1]]
    dialect = CommandDialect(asked.dialect) if asked.dialect else dialect_of(phones, profiles)
    return stand_in(home, dialect, operators)


def _no_build(phones: Sequence[PhoneFacts]) -> Problem:
    real = [one for one in phones if not one.virtual]
    names = ", ".join(one.identity for one in real)
    abis = ", ".join(sorted({abi for one in real for abi in one.exec_abis[:1]}))
    return Problem(
        "--perf-test",
        f"{names}: no onnxruntime_perf_test for {abis} was given",
        "give --perf-test PATH, with --lib libonnxruntime.so for a shared build; or orch binaries add PATH once",
    )


def script_unit() -> StageUnit:
    """The phone script as what is staged."""
    source = script_source()
    return StageUnit(
        digest=digest_of(["script", script_digest()]),
        files=(StageFile(name=SCRIPT_NAME, source=source, sha256=script_digest(), mode=0o755),),
    )


def kits_for(materials: Materials, kept: Kept, phones: Sequence[tuple[Phone, Able]], site: Site) -> dict[str, LaneKit]:
    """What each lane needs, by identity. A phone that was prepared for this run before counts as tuned."""
    prepared = site.ledger.prepared(materials.run_id)
    keeping = site.keeping
    return {
        phone.facts.identity: LaneKit(
            phone=phone.facts.identity,
            facts=phone.facts,
            source=keeping.source_of(phone),
            capabilities=capabilities,
            materials=materials,
            verify_staged=site.verify_staged,
            tuned=bool(prepared.get(phone.facts.identity, {}).get("tuned")),
            limits=limits_of(phone.facts, kept.limits_on(phone.facts.identity)),
            ladder=keeping.ladder_of(phone),
            turn=keeping.turn_of(phone, site.hubs.turn_of(phone)),
        )
        for phone, capabilities in phones
        if phone.facts is not None
    }


def farm_for(
    contents: RunContents,
    kept: Kept,
    materials: Materials,
    phones: Sequence[tuple[Phone, Able]],
    site: Site,
) -> Farm:
    """The farm for what is still open of a run, a lane for each phone."""
    run_id = contents.run.run_id
    rows = site.ledger.trials(run_id)
    planned = [planned_of(row, materials.cases, kept) for row in rows]
    kits = kits_for(materials, kept, phones, site)
    rules = rules_of(kept)
    state = FarmState(
        (trial for trial, row in zip(planned, rows, strict=True) if row.outcome is None and trial.phone in kits),
        rules,
        site.ledger.iterations(run_id),
        phones=kits,
        measured=[
            (trial, row.outcome) for trial, row in zip(planned, rows, strict=True) if isinstance(row.outcome, Measured)
        ],
        hunting=kits if kept.tune else (),
    )
    farm = Farm(run_id, state, site.ledger, site.watcher, site.clock)
    if kept.tune:
        from orchestrator.app.tuning import tuner_of  # noqa: PLC0415 - scipy comes with it

        farm.rounds.tuner = tuner_of(contents, kept, materials.cases, site.ledger)
    known, now = site.ledger.phones.all(), site.clock.now()
    proving = [phone for phone in kits if phone in known and known[phone].on_probation(now)]
    farm.probation = Probation(rules.canary, proving)
    scratch = make_scratch(site.home)
    for phone, _ in phones:
        lane = lane_for(kits[phone.identity], farm, scratch, site)
        farm.add_lane(lane, epoch=epoch_of(phone, site.ledger), boot_id=boot_id_of(phone))
    site.keeping.watch([one for one, _ in phones], lambda event: farm.post(ServerSeen(event)))
    hubs = site.hubs.watches([one for one, _ in phones], lambda lost: farm.post(HubLost(lost)), site.clock)
    farm.blames_hub = lambda phone: any(watch.blames_hub(phone) for watch in hubs)
    farm.watches = [*hubs, TakenWatch(site.ledger.phones, list(kits), farm.post, site.clock)]
    return farm


def lane_for(kit: LaneKit, farm: Farm, scratch: Path, site: Site) -> Lane:
    """A phone's lane of a farm, which first tidies up what dead runs left there."""
    lane = Lane(kit, EvidenceStore(site.home.root), scratch, farm.post, site.clock)
    for block_id in site.ledger.untidy_blocks(phone=kit.phone):
        lane.tidy(block_id)
    return lane


def open_ids(ledger: Ledger, run_id: str) -> set[str]:
    """Trials of a run that have no row yet."""
    return {row.trial_id for row in ledger.trials(run_id) if row.state == "planned"}


def boot_id_of(phone: Phone) -> str:
    """Which boot of a phone was seen; empty where that is not known."""
    return (phone.vitals.boot_id if phone.vitals is not None else None) or ""


def epoch_of(phone: Phone, ledger: Ledger) -> int:
    """The next epoch: above every one of ours, and above what another home's run left on the phone."""
    try:
        there = held_epoch(phone.source(), deadline=Deadline.after(20.0))
    except RunnerError:
        there = 0
    return ledger.next_epoch(phone.identity, at_least=epoch_above(there))


def carry_on(farm: Farm, site: Site) -> Tally:
    """Run a farm to its end, write the run's state down, and give what it tallied."""
    run_id = farm.run_id
    with ExitStack() as watching:
        for watch in farm.watches:
            watching.enter_context(watch)
        farm.run()
    farm.take_last()
    if farm.left:
        for trial_id in open_ids(site.ledger, run_id):
            site.ledger.end_trial(trial_id, Skipped(reason=SkipReason.INTERRUPTED))
    site.ledger.set_run_state(run_id, RunState.INTERRUPTED if farm.tally.interrupted else RunState.FINISHED)
    if not farm.left:
        for folder in {lane.scratch.parent for lane in farm.lanes.values()}:
            shutil.rmtree(folder, ignore_errors=True)
    return farm.tally
