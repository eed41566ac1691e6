"""`--hot-plug`: phones that come while a run lasts, and match its `--device`, join it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

from android_runner.adb.discovery import SeenPhone, attached
from android_runner.adb.server import AdbServer, adb_binary, real_server
from android_runner.deadline import Deadline
from android_runner.errors import RunnerError
from orchestrator.app.asking import able_phones
from orchestrator.app.beginning import Ready, contents_for, materials_for, prepared
from orchestrator.app.hosts import answering, servers_of
from orchestrator.app.phones import PROBE_DEADLINE_S, Phone, as_known, ask
from orchestrator.app.preparing import prepare_one
from orchestrator.app.registry import read_registry
from orchestrator.app.rules import planned_of
from orchestrator.app.site import Site, boot_id_of, epoch_of, kits_for, lane_for
from orchestrator.errors import FarmError
from orchestrator.farm.joining import Joined
from orchestrator.farm.lock import PhoneLock
from orchestrator.farm.loop import Farm
from orchestrator.plan.select import matches_any, parse_devices
from orchestrator.store.lab_file import read_lab
from orchestrator.store.records import TrialRow, TrialState

LOOK_EVERY_S = 1.0
END_S = 5.0


class HotPlug:
    """Looks inside its block for new phones; its thread makes each ready, and the loop writes down what is asked of it
    before it starts. A phone of the run is never asked by this, nor any other one twice while it stays attached."""

    def __init__(self, ready: Ready, farm: Farm, site: Site) -> None:
        self._ready = ready
        self._farm = farm
        self._site = site
        expressions, wishes = parse_devices(ready.wish.device)
        self._expressions = [one for one in expressions if not one.one]
        self._kinds = {(wish.profile, bool(wish.scenario)) for wish in wishes if not wish.one}
        self._hosts = servers_of(read_lab(site.home))
        self._own = {phone.identity for phone, _ in ready.phones}
        self._asked = {(phone.server, phone.seen.serial) for phone, _ in ready.phones}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, name="hot-plug", daemon=True)

    def __enter__(self) -> HotPlug:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stop.set()
        self._thread.join(END_S)

    def _live(self) -> None:
        try:
            while not self._stop.wait(LOOK_EVERY_S):
                for phone in self._new():
                    self._join(phone)
        except BaseException as error:  # noqa: BLE001 - the top of a thread: a bug here must be told, the run goes on
            self._farm.tally.bugs.append(error)

    def _new(self) -> Iterator[Phone]:
        """Usable phones that came since the last look and match."""
        there: set[tuple[AdbServer, object]] = set()
        for server, seen in self._listed():
            key = (server, seen.serial)
            there.add(key)
            if key in self._asked or not seen.usable:
                continue
            self._asked.add(key)
            (phone,) = as_known([ask(server, seen)], read_registry(self._site.home))
            if phone.usable and phone.identity not in self._own and self._wanted(phone):
                yield phone
        self._asked = {key for key in self._asked if key in there}

    def _listed(self) -> list[tuple[AdbServer, SeenPhone]]:
        """What the servers list that this run's phones may hang on; a server that is away lists nothing."""
        found: list[tuple[AdbServer, SeenPhone]] = []
        for server_of in self._servers():
            with suppress(RunnerError):
                server = server_of()
                found += [
                    (server, seen) for seen in attached(server, Deadline.after(PROBE_DEADLINE_S, self._site.clock))
                ]
        return found

    def _servers(self) -> Iterator[Callable[[], AdbServer]]:
        if self._expressions:
            yield partial(real_server, self._site.adb_port)
            for server in self._hosts:
                yield partial(answering, server)
        if self._kinds:
            from android_runner.virtual.lifecycle import ensure_server  # noqa: PLC0415 - only for virtual phones

            yield lambda: AdbServer(port=ensure_server(self._site.home.root, adb_binary()).port)

    def _wanted(self, phone: Phone) -> bool:
        facts = phone.facts
        if facts is not None and facts.virtual and (facts.profile, bool(facts.scenario)) in self._kinds:
            return True
        return matches_any(self._expressions, phone.candidate())

    def _join(self, phone: Phone) -> None:
        """Claim a phone, make what it is asked, hand it to the loop; what it can't take is said."""
        ready, site, run_id = self._ready, self._site, self._farm.run_id
        lock = PhoneLock(phone.claim_key)
        holder = lock.take(run_id)
        if holder is not None:
            site.say(f"left out  {phone.label}: busy: {holder.text()}")
            return
        try:
            able = able_phones([phone], ready.tools, site)
            facts = [one.facts for one, _ in able if one.facts is not None]
            workshop = prepared(ready.wish, facts, site.home, ready.tools.oldest)
            own = replace(ready, phones=able, workshop=workshop, pools=())
            contents, kept, checks = contents_for(own, site)
        except FarmError as error:
            site.say(f"left out  {error}")
            lock.release()
            return
        materials = materials_for(own, contents, checks)
        kit = kits_for(materials, kept, able, site)[phone.identity]
        scratch = next(iter(self._farm.lanes.values())).scratch.parent
        lane = lane_for(kit, self._farm, scratch, site)
        prepare_one(lane, kept.steps_of(phone.identity), run_id, site)
        rows = [
            TrialRow(
                trial=trial, trial_id=trial.trial_id(run_id), state=TrialState.PLANNED, outcome=None, attempt_id=None
            )
            for trial in contents.trials
        ]
        self._own.add(phone.identity)
        self._farm.post(
            Joined(
                lane=lane,
                epoch=epoch_of(phone, site.ledger),
                boot_id=boot_id_of(phone),
                contents=contents,
                planned=tuple(planned_of(row, materials.cases, kept) for row in rows),
            )
        )
