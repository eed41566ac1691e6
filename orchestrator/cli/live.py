"""A run on the terminal: from the estimate to the answer, with interrupts as people expect them."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING

import typer

from orchestrator.app.asking import able_phones
from orchestrator.app.beginning import Ready, begin, prepared
from orchestrator.app.boarding import teller, told_no_more
from orchestrator.app.choosing import chosen_phones, missing_phones
from orchestrator.app.claims import name_and_claim
from orchestrator.app.comparing import Comparing
from orchestrator.app.custom_ops import custom_ops
from orchestrator.app.estimate import estimate
from orchestrator.app.hot_plug import HotPlug
from orchestrator.app.hubs import hubs_for
from orchestrator.app.keeping import Keeping
from orchestrator.app.kept import kept_from_text
from orchestrator.app.only import phones_asked, seconds_left, until
from orchestrator.app.prepare import OnPhone, expand_all
from orchestrator.app.preparing import preparing
from orchestrator.app.registry import note_seen, read_registry
from orchestrator.app.resuming import resume
from orchestrator.app.site import Site, carry_on, check_on_host, tools_for
from orchestrator.app.standing import drive, refuse_driven_elsewhere
from orchestrator.app.wish import Wish
from orchestrator.cli.progress import Progress
from orchestrator.errors import ExitCode
from orchestrator.farm.lock import PhoneLock
from orchestrator.farm.loop import Farm
from orchestrator.home import Home
from orchestrator.plan.order import verified
from orchestrator.plan.pools import pools_of, spares
from orchestrator.report.numbers import plural, span
from orchestrator.store.lab_file import read_lab
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import RunState
from orchestrator.variants.crew import Ahead

if TYPE_CHECKING:
    from orchestrator.app.replaying import Again

ASK_ABOVE_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tonight:
    """What a nightly adds to a run: when nothing more is handed out, and who watches while it lasts, by its name."""

    ends_at: datetime | None = None
    watches: Callable[[str], Sequence[AbstractContextManager[object]]] = lambda _run_id: ()


OPEN_END = Tonight()


def say(line: str) -> None:
    """A line for people; data goes to stdout, this to stderr."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def go(  # noqa: PLR0913 - the options of one command
    wish: Wish,
    home: Home,
    *,
    adb_port: int,
    slots: int,
    yes: bool,
    verify_staged: bool,
    strict: bool,
    all_tables: bool,
    command: str,
    anew: bool,
    hot_plug: bool,
    night: Tonight = OPEN_END,
) -> int:
    """Begin a run and follow it to its answer; the exit code."""
    with Ahead() as ahead:
        given = check_on_host(wish, home, ahead)
        phones = chosen_phones(wish.device, home, adb_port, slots, say)
        phones = phones_asked(phones, wish)
        pools = pools_of(wish.device, [phone.candidate() for phone in phones])
        phones = [phone for phone in phones if phone.identity not in pools.superfluous]
        if wish.sides is not None:  # a pair stays on its phone: nobody stands by
            phones = [phone for phone in phones if phone.identity not in spares(pools.pools)]
            pools = replace(pools, pools=())
        facts = [phone.facts for phone in phones if phone.facts is not None]
        tools = tools_for(wish, facts, home, given)
        workshop = prepared(wish, facts, home, tools.oldest, ahead)
    unasked = [OnPhone(facts=one) for one in facts if one.identity not in spares(pools.pools)]
    expansions = expand_all(wish, workshop, tools, unasked)
    if wish.tune is not None:
        from orchestrator.app.tune import check_search  # noqa: PLC0415 - scipy comes with it

        check_search(wish, expansions)
    shared = slots if all(one.virtual for one in facts) else 0
    cost = estimate(wish, workshop, tools, expansions, shared)
    cells = sum(len(verified(one.cases)) for one in expansions.values())
    asked = plural(cost.trials, "trial") if wish.tune is None else f"{plural(cells, 'setting')} to search"
    say(
        f"{plural(len(phones), 'phone')} · {asked} · "
        f"{'at most' if cost.at_most else 'about'} {span(cost.seconds_s)} · "
        f"at most {cost.bytes_a_phone / 1e6:.0f} MB to each phone"
    )
    if cost.seconds_s > ASK_ABOVE_S and not yes and sys.stdin.isatty():
        typer.confirm("that is over an hour; go on?", abort=True, err=True)
    with _at_work(home, adb_port, slots, verify_staged=verify_staged) as (site, progress):
        missing = missing_phones(wish.device, phones, read_registry(home))
        for words in missing:
            say(f"missing  {words}")
        note_seen(phones, site.ledger)
        named = name_and_claim(wish, phones, site)
        with _given_back(named.claims):
            able = able_phones(phones, tools, site)
            ready = Ready(
                named=named,
                wish=until(wish, night.ends_at, site.clock.now()),
                workshop=workshop,
                tools=tools,
                phones=able,
                command=command,
                pools=pools.pools,
                anew=anew,
            )
            farm = begin(ready, site)
        farm.tally.incomplete |= bool(missing)
        if hot_plug:
            farm.watches = [*farm.watches, HotPlug(ready, farm, site)]
        farm.watches = [*farm.watches, *night.watches(farm.run_id)]
        libraries = [path for path, _ in custom_ops(wish.plan.custom_ops).host]
        with _driven(farm, drive(home, farm.run_id), named.claims):
            return follow(farm, site, progress, libraries, strict=strict, all_tables=all_tables)


def go_on(  # noqa: PLR0913 - as above
    run: str,
    home: Home,
    *,
    adb_port: int,
    slots: int,
    asked_slots: int,
    strict: bool,
    all_tables: bool,
    night: Tonight = OPEN_END,
) -> int:
    """Go on with a run and follow it to its answer; the exit code. `asked_slots` (0: none) and the night's end go over
    the run's own."""
    with _at_work(home, adb_port, slots) as (site, progress):
        run_id = site.ledger.find_run(run) if run else _newest_unfinished(site.ledger)
        refuse_driven_elsewhere(home, run_id)
        lock = drive(home, run_id)
        left_s = None if night.ends_at is None else float(seconds_left(night.ends_at, site.clock.now()))
        found = resume(run_id, site, asked_slots, left_s)
        if found.farm is None:
            lock.release()
            say(f"{found.run_id} is finished: nothing is left to run")
            return int(ExitCode.DONE)
        say(f"{found.run_id}: {found.adopted} attempts taken over from phones, {found.open_trials} trials to go")
        found.farm.watches = [*found.farm.watches, *night.watches(run_id)]
        with _driven(found.farm, lock):
            return follow(found.farm, site, progress, found.custom_ops, strict=strict, all_tables=all_tables)


def go_again(again: Again, home: Home, *, adb_port: int, slots: int, all_tables: bool) -> int:
    """Ask a row of an earlier run again and follow that to its answer; the exit code."""
    from orchestrator.app.replaying import replay  # noqa: PLC0415 - pandas comes with it, and a run can do without so far

    with _at_work(home, adb_port, slots) as (site, progress):
        found = replay(again, site)
        drive(home, found.farm.run_id)
        return follow(found.farm, site, progress, found.custom_ops, strict=False, all_tables=all_tables)


@contextmanager
def _given_back(claims: Mapping[str, PhoneLock]) -> Iterator[None]:
    """Claims on phones, given back when what is done under them fails: this process may try again later."""
    try:
        yield
    except BaseException:
        for one in claims.values():
            one.release()
        raise


@contextmanager
def _driven(farm: Farm, lock: PhoneLock, claims: Mapping[str, PhoneLock] = MappingProxyType({})) -> Iterator[None]:
    """The claims on a run and its phones, given back at its end, as this process may begin another run; while trials
    go on on the phones they are kept to the process's end."""
    yield
    if not farm.left:
        for one in (lock, *claims.values(), *(turn.lock for turn in farm.turns.values())):
            one.release()


@contextmanager
def _at_work(home: Home, adb_port: int, slots: int, *, verify_staged: bool = False) -> Iterator[tuple[Site, Progress]]:
    """Where a run is carried out, with its ledger open, and who shows how far it is."""
    lab = read_lab(home)
    progress = Progress()
    ledger = Ledger.open(home.root)
    try:
        yield (
            Site(
                home=home, ledger=ledger, watcher=progress, say=say, adb_port=adb_port, slots=slots,
                verify_staged=verify_staged, hubs=hubs_for(lab.lab), keeping=Keeping(home, lab),
            ),
            progress,
        )  # fmt: skip
    finally:
        ledger.close()


def _newest_unfinished(ledger: Ledger) -> str:
    unfinished = [one.run.run_id for one in ledger.runs() if one.state is not RunState.FINISHED]
    return unfinished[0] if unfinished else ledger.find_run("@last")


def follow(
    farm: Farm, site: Site, progress: Progress, libraries: Sequence[str], *, strict: bool, all_tables: bool
) -> int:
    """Run a farm to its answer, with interrupts as people expect them; `libraries` of custom operators are for this
    host. The exit code."""
    with _interrupts(farm):  # before the run is named: who reads the line may press Ctrl-C
        say(f"run {farm.run_id}")
        contents = site.ledger.contents(farm.run_id)

        def refused(variant_id: str) -> None:
            progress.refuse(variant_id)
            farm.rounds.refuse(variant_id)

        comparing = Comparing(contents, farm, site, refused, libraries)
        told_no_more(site.home, farm.run_id)  # what a process that died said last
        progress.begin(contents, teller(site.home, farm.run_id))
        try:
            with preparing(farm, kept_from_text(contents.run.plan_json).steps_of, site):
                comparing.start()
                tally = carry_on(farm, site)
        except BaseException:
            comparing.finish(wait=False)
            raise
        finally:
            progress.end()
    told_no_more(site.home, farm.run_id)
    comparing.finish(wait=not tally.interrupted)
    if farm.left:
        for lane in farm.lanes.values():
            say(f"still running on {lane.kit.phone}: orch resume {farm.run_id}, or orch cancel {farm.run_id}")
    for bug in tally.bugs:
        say(f"a bug: {type(bug).__name__}: {bug}")
    from orchestrator.cli.answer import finish  # noqa: PLC0415 - pandas is loaded while nobody waits for a phone

    return finish(farm.run_id, site.home, site.ledger, tally, strict=strict, all_tables=all_tables)


@contextmanager
def _interrupts(farm: Farm) -> Iterator[None]:
    """One Ctrl-C stops handing out and waits, a second ends what runs, a third leaves; a closed terminal is nothing.

    SIGTERM (`orch cancel`) is like two.
    """
    asked = 0

    def on_interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            farm.ask_stop(kill=False)
            say("\nstopping: waiting for the trials on the phones (again: end them)")
        elif asked == 2:
            farm.ask_stop(kill=True)
            say("\nending the trials on the phones (again: leave at once)")
        else:
            farm.leave()

    def on_terminate(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked = max(asked, 2)
        farm.ask_stop(kill=True)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGINT, on_interrupt)
    signal.signal(signal.SIGTERM, on_terminate)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
