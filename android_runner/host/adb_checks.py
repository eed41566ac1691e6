"""Pure: adb's program, its server, who reaches it, who else runs one, and the keys: facts to findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from android_runner.adb.server import FLOOR, SERVER_VERSION
from android_runner.adb.status import ServerStatus
from android_runner.host.finding import HostFinding, Level
from android_runner.host.listeners import Listener
from android_runner.host.processes import HostProcess

LIBUSB_MENDED = (36, 0, 2)
"""Platform-tools 36.0.2 went back to the native USB backend by default, since libusb lost phones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdbProgram:
    """An adb program: its platform-tools version and the protocol's (41), empty and 0 when it did not say."""

    path: str
    version: tuple[int, ...] = ()
    protocol: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFile:
    """A file of the adb key: whose it is and who may read it (mode's lowest nine bits)."""

    path: str
    uid: int
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdbFacts:
    """What was found out about adb. `user` is our uid; `program` what orch would start, else `program_problem`.

    `answers` tells whether a server answered on `port`, `refusal` why it can't be used. `phone_nodes` are the files
    of attached phones below /dev, by USB path.
    """

    port: int
    user: int
    machine: str
    program: AdbProgram | None
    program_problem: str = ""
    bundled: bool = True
    others: Sequence[AdbProgram] = ()
    answers: bool = False
    refusal: str = ""
    status: ServerStatus | None = None
    listening: Sequence[tuple[Listener, HostProcess | None]] = ()
    everywhere: Sequence[tuple[Listener, HostProcess]] = ()
    servers: Sequence[HostProcess] = ()
    holders: Sequence[HostProcess] = ()
    keys: Sequence[KeyFile] = ()
    phone_nodes: Mapping[str, str] = field(default_factory=dict)


def adb_findings(facts: AdbFacts) -> list[HostFinding]:
    """Everything about adb."""
    rules = (_program, _other_programs, _server, _backend, _exposure, _second_servers, _holders, _keys)
    return [finding for rule in rules for finding in rule(facts)]


def dotted(version: tuple[int, ...]) -> str:
    """`36.0.0`; `of no known version`."""
    return ".".join(map(str, version)) if version else "of no known version"


def _program(facts: AdbFacts) -> Iterator[HostFinding]:
    check = "adb-program"
    if facts.program is not None:
        seen = f"{dotted(facts.program.version)}, {facts.program.path}"
        yield HostFinding(check=check, level=Level.OK, seen=seen)
        return
    mend = f"install Android's platform-tools, {dotted(FLOOR)} or newer, or set ORCH_ADB"
    if not facts.bundled and facts.machine in ("aarch64", "arm64"):
        mend = (
            "neither Google nor the adbutils wheel has an adb for Linux on aarch64: install the distribution's "
            f"(package adb, {dotted(FLOOR)} or newer: Debian 13, Ubuntu 24.04), or build one and set ORCH_ADB"
        )
    yield HostFinding(check=check, level=Level.STOP, seen=facts.program_problem, mend=mend)


def _other_programs(facts: AdbFacts) -> Iterator[HostFinding]:
    for other in facts.others:
        if other.protocol and other.protocol != SERVER_VERSION:
            yield HostFinding(
                check="adb-others",
                level=Level.WARN,
                about=other.path,
                seen=f"speaks protocol {other.protocol}: each call kills a server that speaks {SERVER_VERSION}, "
                "and every phone goes away with it",
                mend=f"remove it from the path, or replace it by {dotted(FLOOR)} or newer",
            )
        elif other.version and other.version < FLOOR:
            yield HostFinding(
                check="adb-others",
                level=Level.NOTE,
                about=other.path,
                seen=f"{dotted(other.version)} lets a phone write outside the folder that it is pulled into",
                mend=f"replace it by {dotted(FLOOR)} or newer",
            )


def _server(facts: AdbFacts) -> Iterator[HostFinding]:
    check, port = "adb-server", facts.port
    who = next((process for _, process in facts.listening if process is not None), None)
    if facts.refusal:
        yield HostFinding(check=check, level=Level.STOP, seen=facts.refusal, mend=_end_it(who, port))
    elif facts.answers:
        version = dotted(facts.status.version) if facts.status is not None else "older than 35"
        owner = who.words() if who is not None else "of another user"
        yield HostFinding(check=check, level=Level.OK, seen=f"{version} on port {port}: {owner}")
        if who is not None and who.environ is not None and who.environ.get("ADB_REJECT_KILL_SERVER") != "1":
            yield HostFinding(
                check=check,
                level=Level.NOTE,
                seen="any tool may end it with adb kill-server, and all phones go away with it",
                mend="when no phone works: adb kill-server; orch then starts one that refuses this",
            )
    elif facts.listening:
        owner = who.words() if who is not None else "a process of another user"
        seen = f"port {port} is taken by {owner}, which does not answer as an adb server"
        yield HostFinding(check=check, level=Level.STOP, seen=seen, mend=_end_it(who, port))
    else:
        yield HostFinding(check=check, level=Level.OK, seen=f"none on port {port}: orch starts one when it needs one")


def _end_it(who: HostProcess | None, port: int) -> str:
    return f"end {'it' if who is None else who.words()}, or give another port than {port} with --adb-port"


def _backend(facts: AdbFacts) -> Iterator[HostFinding]:
    status = facts.status
    if status is None:
        return
    mend = "when no phone works: adb kill-server; orch then starts one "
    if status.libusb and status.version < LIBUSB_MENDED:
        yield HostFinding(
            check="adb-usb",
            level=Level.WARN,
            seen=f"{dotted(status.version)} reaches USB by libusb, which loses phones before {dotted(LIBUSB_MENDED)}",
            mend=f"{mend}with ADB_LIBUSB=0",
        )
    if status.mdns:
        yield HostFinding(
            check="adb-mdns",
            level=Level.NOTE,
            seen="it looks for phones on the network and connects to those that it knows",
            mend=f"{mend}with ADB_MDNS=0",
        )


def _exposure(facts: AdbFacts) -> Iterator[HostFinding]:
    own = {(one.address, one.port): process for one, process in facts.listening if not one.loopback}
    other = {(one.address, one.port): process for one, process in facts.everywhere if not one.loopback}
    for (address, port), process in {**other, **own}.items():
        shown = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        yield HostFinding(
            check="adb-exposed",
            level=Level.STOP,
            about=shown,
            seen="an adb server listens to the network and asks nobody who they are: all phones are anybody's"
            + (f"; {process.words()}" if process is not None else ""),
            mend="end it and start it without -a; from other computers: ssh -L",
        )


def _second_servers(facts: AdbFacts) -> Iterator[HostFinding]:
    ours = {process.pid for _, process in facts.listening if process is not None}
    for process in facts.servers:
        without_usb = process.environ is not None and process.environ.get("ADB_USB") == "0"
        if process.pid in ours or without_usb:
            continue
        held = _held(process, facts.phone_nodes)
        seen = "is a second adb server"
        if held:
            seen += f" and holds the phone at {', '.join(held)}"
        yield HostFinding(
            check="adb-second",
            level=Level.WARN,
            about=process.words(),
            seen=f"{seen}; only one of two gets a phone",
            mend=f"end it, or name its port with --adb-port (its command: {' '.join(process.command)[:120]})",
        )


def _holders(facts: AdbFacts) -> Iterator[HostFinding]:
    for process in facts.holders:
        if process.adb_server or not (held := _held(process, facts.phone_nodes)):
            continue
        yield HostFinding(
            check="usb-held",
            level=Level.WARN,
            about=process.words(),
            seen=f"holds the phone at {', '.join(held)}",
            mend="end it; a desktop's file manager takes phones that offer MTP: set them to charging only",
        )


def _held(process: HostProcess, nodes: Mapping[str, str]) -> list[str]:
    return [path for path, node in nodes.items() if f"/{node}" in process.usb_nodes]


def _keys(facts: AdbFacts) -> Iterator[HostFinding]:
    if not facts.keys:
        seen = "none yet: adb makes one when a server starts; each phone then asks to accept it"
        yield HostFinding(check="adb-key", level=Level.OK, seen=seen)
    for key in facts.keys:
        if key.mode & 0o077:
            yield HostFinding(
                check="adb-key",
                level=Level.STOP,
                about=key.path,
                seen=f"others may read or change this key (mode {key.mode:o}): who has it owns every phone",
                mend=f"chmod 600 {key.path}; if others use this computer, make a new one (adb keygen)",
            )
        elif key.uid not in (facts.user, 0):
            yield HostFinding(
                check="adb-key",
                level=Level.WARN,
                about=key.path,
                seen=f"this key belongs to another user (uid {key.uid})",
                mend="use a key of your own, or start the server as that user",
            )
        else:
            yield HostFinding(check="adb-key", level=Level.OK, seen=f"{key.path}, mode {key.mode:o}")
