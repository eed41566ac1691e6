"""Which phones a run uses: found, asked what they are, chosen, claimed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from android_runner.adb.discovery import SeenPhone, attached, open_device
from android_runner.adb.server import DEFAULT_PORT, AdbServer, adb_binary, real_server
from android_runner.deadline import Deadline
from android_runner.device import Device
from android_runner.errors import LinkLost, RunnerError
from android_runner.facts import PhoneFacts, Vitals
from android_runner.probe import probe_facts, read_vitals
from orchestrator.errors import NoUsableDevice, Problem, UsageError
from orchestrator.farm.lock import PhoneLock
from orchestrator.home import Home
from orchestrator.plan.select import Candidate, VirtualWish, choose, parse_devices
from orchestrator.report.lines import as_listed

if TYPE_CHECKING:
    from android_runner.virtual.lifecycle import VirtualPhone

PROBE_DEADLINE_S = 20.0
OPEN_DEADLINE_S = 10.0
IDLE_EXIT_S = 600.0
"""A run leaves the virtual phones that it started for ten idle minutes."""
ABSENT = "it lets nobody connect: orch virtual down, then again"
SERVER_TRIES = 3
TRY_VIRTUAL = "no phone? orch run MODEL --device virtual tries everything without one"


@dataclass(frozen=True, slots=True)
class Phone:
    """A phone that adb lists: where it was seen, and what it is when it could be asked; else what to do about it."""

    seen: SeenPhone
    server: AdbServer
    facts: PhoneFacts | None
    vitals: Vitals | None
    mend: str

    @property
    def label(self) -> str:
        """What tables call it: its identity, the transport's serial when that is unknown."""
        return self.facts.identity if self.facts is not None else str(self.seen.serial)

    @property
    def claim_key(self) -> str:
        """What the claim on it is taken by: its identity; a virtual phone's is unique only behind its server."""
        virtual = self.facts is not None and self.facts.virtual
        return f"{self.label}@{self.server.port}" if virtual else self.label

    def source(self) -> Device:
        """Open the phone anew. Raises LinkError."""
        return open_device(self.server, self.seen.serial, Deadline.after(OPEN_DEADLINE_S))

    def candidate(self) -> Candidate:
        """The phone as `--device` expressions see it."""
        return Candidate(serial=str(self.seen.serial), label=self.label, facts=self.facts)


def look(server: AdbServer) -> list[Phone]:
    """Every phone that a server lists, asked in parallel, by label; one listed twice (USB and network) counts once."""
    seen = attached(server, Deadline.after(PROBE_DEADLINE_S))
    with ThreadPoolExecutor(max_workers=16) as pool:
        phones = list(pool.map(lambda one: _ask(server, one), seen))
    first: dict[str, Phone] = {}
    for phone in phones:
        first.setdefault(phone.label, phone)
    return sorted(first.values(), key=lambda phone: as_listed(phone.label))


def _ask(server: AdbServer, seen: SeenPhone) -> Phone:
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
    from android_runner.virtual.lifecycle import running_server  # noqa: PLC0415

    try:
        started = start()
        seen = {str(phone.seen.serial): phone for phone in virtual_phones(home)}
        server = AdbServer(port=running_server(home.root) or DEFAULT_PORT)
    except (ProfileError, ScenarioError) as error:
        raise UsageError(Problem("--device virtual", str(error))) from error
    except RunnerError as error:
        raise UsageError(Problem("virtual phones", str(error), "orch virtual down, then again")) from error
    return [
        seen.get(str(one.serial)) or Phone(SeenPhone(one.serial, "absent", None, "tcp", ""), server, None, None, ABSENT)
        for one in started
    ]


def chosen_phones(
    options: Sequence[str], home: Home, port: int, slots: int, say: Callable[[str], object]
) -> list[Phone]:
    """The phones of a run. Without an option: the only usable real phone. `say` is told of each unusable one.

    Raises UsageError (exit 2) for what can't be understood or is not unique, NoUsableDevice (exit 4) when none is left.
    """
    expressions, wishes = parse_devices(options)
    phones = start_virtual(home, wishes, slots) if wishes else []
    if expressions:
        living = virtual_phones(home)
        everything = [*real_phones(port), *(one for one in living if one.label not in {p.label for p in phones})]
        by_serial = {str(phone.seen.serial): phone for phone in everything}
        phones += [by_serial[one.serial] for one in choose(expressions, [p.candidate() for p in everything])]
        _refuse_named_but_unusable(expressions, phones)
    elif not wishes:
        phones = _the_only_one(real_phones(port))
    usable = [phone for phone in phones if phone.facts is not None]
    if not usable:
        raise NoUsableDevice("\n".join(["no usable phone", *_unusable_lines(phones), TRY_VIRTUAL]))
    for line in _unusable_lines(phones):
        say(f"left out{line}")
    return usable


def _refuse_named_but_unusable(expressions: Sequence[object], phones: Sequence[Phone]) -> None:
    named = {term for expression in expressions for term in getattr(expression, "terms", ())}
    problems = [
        Problem(f"--device {phone.seen.serial}", _state_of(phone), phone.mend)
        for phone in phones
        if phone.facts is None and str(phone.seen.serial) in named
    ]
    if problems and len(problems) == len(phones):
        raise NoUsableDevice("\n".join(problem.line() for problem in problems))


def _state_of(phone: Phone) -> str:
    """What adb says of an unusable phone; one that adb thinks well of is unusable for a reason of its own."""
    return "can't be used" if phone.seen.state == "device" else f"is {phone.seen.state}"


def _the_only_one(phones: Sequence[Phone]) -> list[Phone]:
    usable = [phone for phone in phones if phone.facts is not None]
    if len(usable) == 1:
        return usable
    if not usable:
        raise NoUsableDevice("\n".join(["no usable phone", *_unusable_lines(phones), TRY_VIRTUAL]))
    names = ", ".join(phone.label for phone in usable)
    raise UsageError(Problem("--device", f"{len(usable)} phones are usable: {names}", "add --device all, or name one"))


def _unusable_lines(phones: Sequence[Phone]) -> list[str]:
    return [f"  {phone.seen.serial}  {_state_of(phone)}: {phone.mend}" for phone in phones if phone.facts is None]


def claim(phones: Sequence[Phone], run_id: str) -> list[PhoneLock]:
    """Claim every phone of a run, or none. Raises UsageError naming who has the others."""
    locks: list[PhoneLock] = []
    problems: list[Problem] = []
    for phone in phones:
        lock = PhoneLock(phone.claim_key)
        holder = lock.take(run_id)
        if holder is None:
            locks.append(lock)
        else:
            problems.append(
                Problem(phone.label, f"busy: {holder.text()}", "wait for that run, cancel it, or leave the phone out")
            )
    if problems:
        for lock in locks:
            lock.release()
        raise UsageError(*problems)
    return locks
