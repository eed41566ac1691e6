"""Which phones a run uses: found, asked what they are, chosen, claimed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from android_runner.adb.discovery import SeenPhone, attached, open_device
from android_runner.adb.server import AdbServer, adb_binary, real_server
from android_runner.deadline import Deadline
from android_runner.device import Device
from android_runner.errors import LinkLost, RunnerError
from android_runner.facts import PhoneFacts, Vitals
from android_runner.probe import probe_facts, read_vitals
from orchestrator.app.registry import Registry, bar_of
from orchestrator.app.same_phone import one_each
from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home
from orchestrator.plan.select import Candidate, VirtualWish
from orchestrator.store.registered import RegisteredPhone

if TYPE_CHECKING:
    from android_runner.virtual.lifecycle import VirtualPhone

PROBE_DEADLINE_S = 20.0
OPEN_DEADLINE_S = 10.0
IDLE_EXIT_S = 600.0
"""A run leaves the virtual phones that it started for ten idle minutes."""
ABSENT = "it lets nobody connect: orch virtual down, then again"
SERVER_TRIES = 3


@dataclass(frozen=True, slots=True)
class Phone:
    """A phone that adb lists: where it was seen, and what it is when it could be asked; else what to do about it."""

    seen: SeenPhone
    server: AdbServer
    facts: PhoneFacts | None
    vitals: Vitals | None
    mend: str
    known: RegisteredPhone | None = None
    bar: str = ""
    """Why it can't be used although it answers, in words: held, in quarantine, retired; empty when it can."""

    @property
    def identity(self) -> str:
        """Which phone it is: its `ro.serialno`, the transport's serial when that is unknown."""
        return self.facts.identity if self.facts is not None else str(self.seen.serial)

    @property
    def label(self) -> str:
        """What tables call it: its label, its identity where nobody gave one."""
        return self.known.name if self.known is not None else self.identity

    @property
    def usable(self) -> bool:
        """Whether a run may begin on it, as far as people and the phone are concerned."""
        return self.facts is not None and not self.bar

    @property
    def state(self) -> str:
        """What it is when it can't be used: adb's word, or why not; empty when it can."""
        return self.bar or ("" if self.facts is not None else self.seen.state)

    @property
    def claim_key(self) -> str:
        """What the claim on it is taken by: its identity; a virtual phone's is unique only behind its server."""
        virtual = self.facts is not None and self.facts.virtual
        return f"{self.identity}@{self.server.port}" if virtual else self.identity

    def source(self) -> Device:
        """Open the phone anew. Raises LinkError."""
        return open_device(self.server, self.seen.serial, Deadline.after(OPEN_DEADLINE_S))

    def candidate(self) -> Candidate:
        """The phone as `--device` expressions see it."""
        return Candidate(serial=str(self.seen.serial), label=self.label, facts=self.facts)


def look(server: AdbServer) -> list[Phone]:
    """Every phone that a server lists, asked in parallel, by identity; one on USB and network counts once."""
    seen = attached(server, Deadline.after(PROBE_DEADLINE_S))
    with ThreadPoolExecutor(max_workers=16) as pool:
        phones = list(pool.map(lambda one: ask(server, one), seen))
    return one_each(phones)


def ask(server: AdbServer, seen: SeenPhone) -> Phone:
    """A phone that a server lists, asked what it is."""
    if not seen.usable:
        return Phone(seen, server, None, None, seen.mend)
    try:
        deadline = Deadline.after(PROBE_DEADLINE_S)
        device = open_device(server, seen.serial, deadline)
        return Phone(seen, server, probe_facts(device, deadline=deadline), read_vitals(device, deadline=deadline), "")
    except RunnerError as error:
        return Phone(seen, server, None, None, f"{error}; unplug it and plug it in again")


def real_phones(port: int) -> list[Phone]:
    """The phones of the adb server for real phones; one that does not run yet is started, and stays up.

    Raises UsageError when none can be had on this port.
    """
    try:
        return look(real_server(port))
    except RunnerError as error:
        raise UsageError(Problem(f"adb server on port {port}", str(error), "see --adb-port")) from error


def virtual_phones(home: Home) -> list[Phone]:
    """The virtual phones that live now; starts none, but their adb server if that has died, also under our eyes."""
    from android_runner.virtual.lifecycle import ensure_server, listing  # noqa: PLC0415 - only for virtual phones

    if not any(one.state == "up" for one in listing(home.root)):
        return []
    for _ in range(SERVER_TRIES - 1):
        with suppress(LinkLost):
            return look(AdbServer(port=ensure_server(home.root, adb_binary()).port))
    return look(AdbServer(port=ensure_server(home.root, adb_binary()).port))


def start_virtual(
    home: Home,
    wishes: Sequence[VirtualWish],
    slots: int,
    *,
    idle_exit_s: float = IDLE_EXIT_S,
    unconfined: bool = False,
    seed: int = 0,
) -> list[Phone]:
    """Virtual phones as asked for, started where missing. Raises UsageError for an unknown device profile or scenario.

    `seed` draws what the scenarios of those leave open that are started now.
    """
    from android_runner.virtual.lifecycle import up  # noqa: PLC0415
    from android_runner.virtual.spec import Wanted  # noqa: PLC0415

    wanted = [(Wanted(profile=wish.profile, scenario=wish.scenario), wish.count) for wish in wishes]
    confinement = "unconfined" if unconfined else "auto"

    def start() -> list[VirtualPhone]:
        return up(
            home.root, wanted, adb_binary(), idle_exit_s=idle_exit_s, slots=slots, confinement=confinement, seed=seed
        )  # fmt: skip

    return _started(home, start)


def restart_virtual(home: Home, facts: Sequence[PhoneFacts], slots: int) -> list[Phone]:
    """These very virtual phones, by their serial numbers, started where they are down; raises as `start_virtual`."""
    from android_runner.virtual.lifecycle import up_named  # noqa: PLC0415
    from android_runner.virtual.spec import Wanted  # noqa: PLC0415

    named = [(one.identity, Wanted(profile=one.profile, scenario=one.scenario)) for one in facts]
    return _started(home, lambda: up_named(home.root, named, adb_binary(), idle_exit_s=IDLE_EXIT_S, slots=slots))


def _started(home: Home, start: Callable[[], Sequence[VirtualPhone]]) -> list[Phone]:
    """The phones that `start` gives, as the adb server sees them; one that it doesn't see is among them, unusable."""
    from android_runner.profile import ProfileError  # noqa: PLC0415
    from android_runner.virtual.heat.scenario import ScenarioError  # noqa: PLC0415
    from android_runner.virtual.lifecycle import ensure_server, running_server  # noqa: PLC0415

    try:
        started = start()
        seen = {str(phone.seen.serial): phone for phone in virtual_phones(home)}
        server = AdbServer(port=running_server(home.root) or ensure_server(home.root, adb_binary()).port)
    except (ProfileError, ScenarioError) as error:
        raise UsageError(Problem("--device virtual", str(error))) from error
    except RunnerError as error:
        raise UsageError(Problem("virtual phones", str(error), "orch virtual down, then again")) from error
    return [
        seen.get(str(one.serial)) or Phone(SeenPhone(one.serial, "absent", None, "tcp", ""), server, None, None, ABSENT)
        for one in started
    ]


def as_known(phones: Sequence[Phone], registry: Registry) -> list[Phone]:
    """Phones with what people said of them."""
    now, known = datetime.now(UTC), []
    for phone in phones:
        entry = registry.of(phone.identity)
        bar, mend = bar_of(entry, now)
        known.append(replace(phone, known=entry, bar=phone.bar or bar, mend=phone.mend or mend))
    return known


def names_of(phones: Sequence[Phone]) -> list[str]:
    """The identities of phones that are there, and their transports' serials: an unauthorized one has only that."""
    return [name for phone in phones for name in (phone.identity, str(phone.seen.serial))]
