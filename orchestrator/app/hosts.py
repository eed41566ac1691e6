"""A lab's phones wherever they hang: at this computer, behind the adb servers of its other hosts, and the virtual ones.

The adb server of another host is reached through a tunnel that ends on this computer's loopback (`ssh -L`). It is asked
as ours is, but never started, ended or mended from here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from android_runner.adb.server import ANSWER_S, AdbServer, running
from android_runner.deadline import Deadline
from android_runner.errors import LinkLost, RunnerError
from orchestrator.app.phones import Phone, look, real_phones, virtual_phones
from orchestrator.app.same_phone import one_each
from orchestrator.home import Home
from orchestrator.lab import Lab, tunnel_words
from orchestrator.store.lab_file import read_lab

_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class HostSeen:
    """What the adb server of another host lists; `problem`: why it lists nothing, with the mend; empty when it does."""

    server: AdbServer
    phones: Sequence[Phone] = ()
    problem: str = ""


def servers_of(lab: Lab) -> list[AdbServer]:
    """The adb servers of the lab's other hosts, in the order of the lab's file."""
    return [AdbServer(host=table.address, port=table.port, of=name) for name, table in lab.hosts.items()]


def answering(server: AdbServer) -> AdbServer:
    """The server of another host, once it answers. Raises LinkError with what to do about it: nothing is started."""
    if not running(server, Deadline.after(ANSWER_S)):
        raise LinkLost(f"{server.words}: nobody answers; is its tunnel up? {tunnel_words(server.port, server.of)}")
    return server


def look_at(server: AdbServer) -> HostSeen:
    """The phones of another host, asked in parallel."""
    try:
        return HostSeen(server, look(answering(server)))
    except RunnerError as error:
        return HostSeen(server, problem=str(error))


def plugged_in(home: Home, adb_port: int | None, say: Callable[[str], object]) -> list[Phone]:
    """The phones of this computer and of the lab's other hosts, each once; None: no adb server for real phones is
    asked. `say` is told of a host that does not answer; the others' phones are there all the same.

    Raises UsageError for the lab's file, and when this computer has no adb server.
    """
    if adb_port is None:
        return []
    servers = servers_of(read_lab(home))
    if not servers:
        return real_phones(adb_port)
    with ThreadPoolExecutor(min(_AT_ONCE, len(servers))) as pool:
        elsewhere = pool.map(look_at, servers)
        here = real_phones(adb_port)
        seen = list(elsewhere)
    for host in seen:
        if host.problem:
            say(host.problem)
    return one_each([*here, *(phone for host in seen for phone in host.phones)])


def attached_phones(home: Home, adb_port: int | None, say: Callable[[str], object]) -> list[Phone]:
    """The phones of `plugged_in`, then the home's virtual ones that live; raises as that does."""
    there = plugged_in(home, adb_port, say)
    known = {(phone.identity, _boot_of(phone)) for phone in there}
    return [*there, *(phone for phone in virtual_phones(home) if (phone.identity, _boot_of(phone)) not in known)]


def _boot_of(phone: Phone) -> str | None:
    return phone.vitals.boot_id if phone.vitals is not None else None
