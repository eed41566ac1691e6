"""Who listens on a TCP port, who runs an adb server, who holds a phone's USB node: read below any `/proc`.

Files: proc(5). What belongs to other users can't be read without root; such a process has neither sockets nor nodes.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from android_runner.adb.server import DEFAULT_PORT
from android_runner.facts import cleaned
from android_runner.host.listeners import Listener

_MAX_BYTES = 1024 * 1024
_MAX_FDS = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class HostProcess:
    """A process: its program's name, its command line, its owner; what of it could be read.

    `environ` is None where it may not be read. `usb_nodes` are files like `/dev/bus/usb/001/005`.
    """

    pid: int
    name: str
    command: tuple[str, ...]
    uid: int
    environ: Mapping[str, str] | None = None
    sockets: frozenset[int] = field(default_factory=frozenset)
    usb_nodes: tuple[str, ...] = ()
    max_files: int | None = None
    start_ticks: int | None = None
    """When it started, by the kernel's clock: a pid may be given to another process, a pid with its start may not."""

    @property
    def owner(self) -> str:
        """The user's name, else its number."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)

    @property
    def adb_server(self) -> bool:
        """Whether it is an adb server: `adb … fork-server server` or `adb … nodaemon server`."""
        return self.name == "adb" and "server" in self.command

    @property
    def adb_port(self) -> int:
        """The port that an adb server was told to listen on (`-P N`, `-L tcp:N`), else adb's own; 0 for no server."""
        if not self.adb_server:
            return 0
        told = re.search(r" -P ?(\d{1,5}) | -L tcp:(?:\S*:)?(\d{1,5}) ", f" {' '.join(self.command)} ")
        return int(told[1] or told[2]) if told else DEFAULT_PORT

    def words(self) -> str:
        """`pid 4711 (nina), /usr/bin/adb`."""
        return f"pid {self.pid} ({self.owner}), {cleaned(self.command[0]) if self.command else self.name}"


def processes(root: Path) -> list[HostProcess]:
    """Every process that is an adb server, listens, or holds a USB node, by pid."""
    folder = root / "proc"
    try:
        pids = sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal())
    except OSError:
        return []
    found = (_process(folder / str(pid), pid) for pid in pids)
    return [one for one in found if one is not None and (one.adb_server or one.sockets or one.usb_nodes)]


def _process(folder: Path, pid: int) -> HostProcess | None:
    name = _text(folder / "comm").strip()
    uid = re.search(r"^Uid:\s+\d+\s+(\d+)", _text(folder / "status"), re.M)
    if not name or uid is None:
        return None
    sockets, nodes = _open_files(folder / "fd")
    limit = re.search(r"^Max open files\s+(\d+)", _text(folder / "limits"), re.M)
    return HostProcess(
        start_ticks=_start_ticks(folder),
        pid=pid,
        name=cleaned(name),
        command=tuple(_text(folder / "cmdline").split("\0")[:-1]),
        uid=int(uid[1]),
        environ=_environ(folder / "environ"),
        sockets=sockets,
        usb_nodes=nodes,
        max_files=int(limit[1]) if limit else None,
    )


def process_of(pid: int, root: Path) -> HostProcess | None:
    """The process that has this pid now; None where none lives."""
    found = _process(root / "proc" / str(pid), pid)
    return found if found is not None and found.start_ticks is not None else None


def lives(process: HostProcess, root: Path) -> bool:
    """Whether that very process still runs; a zombie does not."""
    return process.start_ticks is not None and _start_ticks(root / "proc" / str(process.pid)) == process.start_ticks


def _start_ticks(folder: Path) -> int | None:
    """Field 22 of stat, behind a name that may hold anything."""
    words = _text(folder / "stat").rpartition(")")[2].split()
    alive = len(words) > 19 and words[0] not in ("Z", "X") and words[19].isdecimal()
    return int(words[19]) if alive else None


def _open_files(folder: Path) -> tuple[frozenset[int], tuple[str, ...]]:
    sockets: set[int] = set()
    nodes: set[str] = set()
    try:
        names = os.listdir(folder)[:_MAX_FDS]
    except OSError:
        return frozenset(), ()
    for name in names:
        try:
            target = os.readlink(folder / name)
        except OSError:
            continue
        if found := re.fullmatch(r"socket:\[(\d{1,19})\]", target):
            sockets.add(int(found[1]))
        elif re.fullmatch(r"/dev/bus/usb/\d{3}/\d{3}", target):
            nodes.add(target)
    return frozenset(sockets), tuple(sorted(nodes))


def _environ(path: Path) -> dict[str, str] | None:
    try:
        raw = path.read_bytes()[:_MAX_BYTES]
    except OSError:
        return None
    pairs = (entry.partition("=") for entry in raw.decode("utf-8", errors="replace").split("\0"))
    return {name: value for name, equals, value in pairs if equals}


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""


def listening_on(
    port: int, found: list[Listener], known: list[HostProcess]
) -> list[tuple[Listener, HostProcess | None]]:
    """Who listens on a port: each socket with its process, None where nothing tells.

    Sockets of other users' processes can't be seen, but an adb server's command line can.
    """
    told = next((process for process in known if process.adb_port == port), None)
    return [
        (one, next((process for process in known if one.inode in process.sockets), told))
        for one in found
        if one.port == port
    ]
