"""Virtual phones from outside: start them, list them, end them.

They live in processes of their own and outlive the one that started them. `up` leaves phones that live as they are;
each daemon ends by itself after `idle_exit_s` without a stream and without a process left running on a phone.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import signal
import stat
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from android_runner.device import Serial
from android_runner.errors import LinkError, LinkLost
from android_runner.virtual.daemon import DOWN_NAME
from android_runner.virtual.processes import kill_with_environment, spawn_detached
from android_runner.virtual.root_tree import PROPERTY_DIR
from android_runner.virtual.server import (
    AdbServer,
    connect_phone,
    disconnect_phone,
    listed_ports,
    living_server,
    locked,
    start_server,
    stop_server_if_unused,
)
from android_runner.virtual.slots import launcher_path, write_slots
from android_runner.virtual.spec import Wanted, spec_as_json
from android_runner.virtual.state import PhoneRecord, Places, read_phone, root_mark

_END_TIMEOUT_S = 10.0
DEFAULT_IDLE_EXIT_S = 600.0
_SERIALNO = re.compile(r"virtual-[a-z0-9-]{1,61}-[0-9]{1,4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualPhone:
    """One virtual phone. `serial` is the transport's name; `state` is `up` or `down`; `pid` its daemon (0: none)."""

    serialno: str
    serial: Serial
    profile: str
    pid: int
    state: str
    confinement: str
    confinement_reason: str
    shell: str
    scenario: str = ""

    def as_dict(self) -> dict[str, str | int]:
        """All fields by name, for JSON."""
        return dataclasses.asdict(self)


def ensure_server(home: Path, adb_path: Path) -> AdbServer:
    """The home's adb server, started if it is dead; phones that live are connected to it again.

    Raises `LinkError` when no server can be started.
    """
    places = Places(home.resolve())
    with locked(places):
        return _ensure_server(places, adb_path)


def up(
    home: Path,
    wanted: Iterable[tuple[str | Wanted, int]],
    adb_path: Path,
    *,
    idle_exit_s: float = DEFAULT_IDLE_EXIT_S,
    slots: int = 1,
    confinement: str = "auto",
    seed: int = 0,
) -> list[VirtualPhone]:
    """Have so many phones of each device profile (a name, or a path ending in `.toml`) and scenario; return those.

    `slots` bounds how many timed commands compute at once in this home. `idle_exit_s` of 0: never. `confinement` is
    `auto` (namespaces where the host allows them) or `unconfined`, for phones that are started now, as is
    `seed` for what their scenarios draw. Raises `ProfileError` and `ScenarioError` before anything starts, `LinkError`
    when phones do not come up. One that is up and takes no connection is among them.
    """
    plain = [(Wanted(profile=one) if isinstance(one, str) else one, count) for one, count in wanted]
    asked = [(one.resolved(), one.base_name(), count) for one, count in plain]
    named: list[tuple[str, Wanted]] = []
    for one, name, count in asked:
        first = sum(serialno.rpartition("-")[0] == name for serialno, _ in named) + 1
        named += [(f"{name}-{number}", one) for number in range(first, first + count)]
    return up_named(
        home, named, adb_path, idle_exit_s=idle_exit_s, slots=slots, confinement=confinement, seed=seed
    )  # fmt: skip


def up_named(
    home: Path,
    named: Sequence[tuple[str, Wanted]],
    adb_path: Path,
    *,
    idle_exit_s: float = DEFAULT_IDLE_EXIT_S,
    slots: int = 1,
    confinement: str = "auto",
    seed: int = 0,
) -> list[VirtualPhone]:
    """Have the phones of these serial numbers, what each is beside it; else as `up`. Those that live are taken as they
    are."""
    places = Places(home.resolve())
    with locked(places) as lock:
        server = _ensure_server(places, adb_path)
        living = {record.serialno for record in _living(places)}
        serialnos = [serialno for serialno, _ in named]
        missing = [(serialno, one.resolved()) for serialno, one in named if serialno not in living]
        for _, one in missing:
            one.loaded()
        for serialno in serialnos:
            (places.phone(serialno) / DOWN_NAME).unlink(missing_ok=True)
        write_slots(places.slots, slots)
        slots_matter = slots < len(_living(places)) + len(missing)
        ports = {}
        if missing:
            specs = [
                spec_as_json(serialno, one, slots_matter=slots_matter, confine=confinement == "auto", seed=seed)
                for serialno, one in missing
            ]
            ports = _start_daemon(places, specs, idle_exit_s, lock)
        for record in _living(places):
            if record.serialno in ports:
                _let_in(server, record)
            _set_launcher(places, record, slots_matter=slots_matter)
            record.daemon.send(signal.SIGUSR1)  # being wanted counts as use
        found = {phone.serialno: phone for phone in listing(home)}
        return [found[serialno] for serialno in serialnos]


def listing(home: Path) -> list[VirtualPhone]:
    """Every phone that has a folder in this home, by serial number; no process is asked."""
    places = Places(home.resolve())
    return [_describe(record) for record in _records(places)]


def down(home: Path, serialnos: Sequence[str] | None = None, *, wipe: bool = False) -> list[str]:
    """Switch phones off (None: all) and return the serial numbers that were on; no process of theirs is left.

    The adb server ends with the last phone. `wipe` removes their folders too.
    """
    places = Places(home.resolve())
    with locked(places):
        records = [record for record in _records(places) if serialnos is None or record.serialno in serialnos]
        living = [record for record in records if record.daemon.alive()]
        server = living_server(places)
        for record in living:
            if server is not None:
                disconnect_phone(server.port, record.port)
            (places.phone(record.serialno) / DOWN_NAME).touch()
        for process in {record.daemon for record in living}:
            process.send(signal.SIGUSR1)
        _await_end(places, living)
        for record in records:
            if record.confinement != "namespace":  # what outlived a daemon that was killed has no namespace to die with
                kill_with_environment(root_mark(places.phone(record.serialno)))
        if wipe:
            for record in records:
                _wipe(places.phone(record.serialno))
        stop_server_if_unused(places)
        return [record.serialno for record in living]


def running_server(home: Path) -> int | None:
    """The port of the home's adb server; None where none runs. Starts nothing."""
    record = living_server(Places(home.resolve()))
    return None if record is None else record.port


def running_server_pid(home: Path) -> int:
    """The process of the home's adb server; 0 where none runs."""
    record = living_server(Places(home.resolve()))
    return 0 if record is None else record.pid


def poke(home: Path, serialno: str) -> None:
    """Let a phone's daemon look at its `faults.json` now (it looks by itself several times a second)."""
    record = read_phone(Places(home.resolve()).phone(serialno))
    if record is not None:
        record.daemon.send(signal.SIGUSR1)


def _ensure_server(places: Places, adb_path: Path) -> AdbServer:
    server = start_server(places, adb_path)
    # A living phone may be unknown to the server: it is a new server, or who started the phone died too early.
    known = listed_ports(server.port)
    for record in _living(places):
        if record.port not in known:
            _let_in(server, record)
    return server


def _let_in(server: AdbServer, record: PhoneRecord) -> None:
    """Connect the server to a phone; one that takes no connection now costs only itself."""
    with suppress(LinkError):
        connect_phone(server.port, record.port)


def _start_daemon(
    places: Places, specs: Sequence[Mapping[str, object]], idle_exit_s: float, lock: int
) -> dict[str, int]:
    """Start the phones and wait until they listen. The lock goes with them: when we die meanwhile, nobody else starts
    the same phones beside them."""
    places.daemons.mkdir(parents=True, exist_ok=True)
    spec_path = places.daemons / f"{time.time_ns()}.json"
    log_path = spec_path.with_suffix(".log")
    content = {"home": str(places.home), "idle_exit_s": idle_exit_s, "phones": specs}
    spec_path.write_text(json.dumps(content), encoding="utf-8")
    ours, theirs = os.pipe()
    argv = [sys.executable, "-m", "android_runner.virtual.daemon", str(spec_path)]
    with open(log_path, "ab") as log, open(ours, "rb") as pipe:
        try:
            pid = spawn_detached(argv, os.environ, theirs, log.fileno(), keep=lock)
        finally:
            os.close(theirs)
        line = pipe.readline()
    if not line:
        os.waitpid(pid, 0)
        last = log_path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        raise LinkLost(f"virtual phones did not start: {' '.join(last)} (log: {log_path})")
    ready = json.loads(line)["ready"]
    return {str(serialno): int(port) for serialno, port in ready.items()}


def _await_end(places: Places, living: Sequence[PhoneRecord]) -> None:
    until = time.monotonic() + _END_TIMEOUT_S
    for record in living:
        flag = places.phone(record.serialno) / DOWN_NAME
        while flag.exists() and record.daemon.alive() and time.monotonic() < until:
            time.sleep(0.005)
    rest = {record.daemon for record in _records(places) if record.daemon in {gone.daemon for gone in living}}
    for process in {record.daemon for record in living}:
        if process not in rest and not process.wait_gone(_END_TIMEOUT_S):
            process.end()


def _records(places: Places) -> list[PhoneRecord]:
    if not places.phones.is_dir():
        return []
    found = [read_phone(folder) for folder in sorted(places.phones.iterdir()) if _SERIALNO.fullmatch(folder.name)]
    return [record for record in found if record is not None]


def _living(places: Places) -> list[PhoneRecord]:
    return [record for record in _records(places) if record.daemon.alive()]


def _describe(record: PhoneRecord) -> VirtualPhone:
    alive = record.daemon.alive()
    return VirtualPhone(
        serialno=record.serialno,
        serial=Serial(f"127.0.0.1:{record.port}"),
        profile=record.profile,
        pid=record.pid if alive else 0,
        state="up" if alive else "down",
        confinement=record.confinement,
        confinement_reason=record.confinement_reason,
        shell=record.shell,
        scenario=record.scenario,
    )


def _set_launcher(places: Places, record: PhoneRecord, *, slots_matter: bool) -> None:
    root = places.phone(record.serialno) / "root"
    confined = record.confinement == "namespace"
    value = launcher_path(root, confined=confined) if slots_matter else ""
    (root / PROPERTY_DIR / "ro.orch.launcher").write_text(f"{value}\n", encoding="utf-8")


def _wipe(phone_dir: Path) -> None:
    for folder in ("root/data", "root/data/local"):
        if (phone_dir / folder).is_dir():
            (phone_dir / folder).chmod(stat.S_IRWXU)
    shutil.rmtree(phone_dir)
