"""Looking at this computer, or at a copy of another's files: what the checks then judge. Changes and starts nothing."""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from android_runner.adb.server import AdbServer, adb_binary, running, version_of
from android_runner.adb.status import FEATURE, SERVICE, ServerStatus, parse_status
from android_runner.adb.translate import words
from android_runner.adb.trusted import key_files
from android_runner.deadline import Deadline
from android_runner.errors import LinkError, LinkRefused
from android_runner.host.adb_checks import AdbFacts, AdbProgram, KeyFile
from android_runner.host.host_checks import Room
from android_runner.host.kernel_log import MAX_LOG_BYTES, UsbTrouble, usb_troubles
from android_runner.host.listeners import listeners
from android_runner.host.processes import listening_on, processes
from android_runner.host.usb_tree import THIS, UsbTree

ANSWER_S = 10.0
_RULES = ("etc/udev/rules.d", "run/udev/rules.d", "usr/lib/udev/rules.d", "lib/udev/rules.d")
_MAX_PROGRAMS = 16


def look_at_adb(port: int, tree: UsbTree, *, root: Path, environ: Mapping[str, str]) -> AdbFacts:
    """adb as it is. The server on `port` is asked, never started or ended."""
    program, problem = _program(environ)
    found = processes(root)
    listening = listeners(root)
    here = listening_on(port, listening, found)
    answers, refusal = _answers(port)
    servers = [one for one in found if one.adb_server]
    return AdbFacts(
        port=port,
        user=os.getuid(),
        machine=platform.machine(),
        program=program,
        program_problem=problem,
        bundled=(Path(str(resources.files("adbutils.binaries"))) / "adb").is_file(),
        others=_on_path(environ, program),
        answers=answers,
        refusal=refusal,
        status=_status(port) if answers else None,
        listening=here,
        everywhere=[(one, process) for process in servers for one in listening if one.inode in process.sockets],
        servers=servers,
        holders=[one for one in found if one.usb_nodes],
        keys=_keys([environ, *(process.environ for _, process in here if process is not None and process.environ)]),
        phone_nodes={phone.path: phone.node for phone in tree.phones() if phone.node},
    )


def _program(environ: Mapping[str, str]) -> tuple[AdbProgram | None, str]:
    try:
        return read_program(adb_binary(environ)), ""
    except LinkRefused as error:
        return None, str(error)


def read_program(path: Path) -> AdbProgram:
    """What `adb version` says; it speaks to no server."""
    try:
        done = subprocess.run([path, "version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return AdbProgram(path=str(path))
    protocol = re.search(rb"^Android Debug Bridge version \d{1,3}\.\d{1,3}\.(\d{1,4})", done.stdout, re.M)
    return AdbProgram(path=str(path), version=version_of(done.stdout), protocol=int(protocol[1]) if protocol else 0)


def _on_path(environ: Mapping[str, str], chosen: AdbProgram | None) -> list[AdbProgram]:
    """Every adb on the path but the one that orch uses: each may be called by somebody."""
    found: dict[Path, None] = {}
    for folder in environ.get("PATH", "").split(os.pathsep)[:64]:
        program = shutil.which("adb", path=folder) if folder else None
        if program is not None and (chosen is None or not os.path.samefile(program, chosen.path)):
            found.setdefault(Path(program).resolve())
    return [read_program(path) for path in list(found)[:_MAX_PROGRAMS]]


def _answers(port: int) -> tuple[bool, str]:
    try:
        return running(AdbServer(port=port), Deadline.after(ANSWER_S)), ""
    except LinkError as error:
        return False, str(error)


def _status(port: int) -> ServerStatus | None:
    server, deadline = AdbServer(port=port), Deadline.after(ANSWER_S)
    try:
        features = server.answer("host:host-features", deadline).decode("ascii", errors="replace").split(",")
        return parse_status(server.answer(SERVICE, deadline)) if FEATURE in features else None
    except LinkError:
        return None


def _keys(environments: Sequence[Mapping[str, str]]) -> list[KeyFile]:
    """The private keys that adb uses in such environments."""
    paths: dict[Path, None] = {}
    for environ in environments:
        paths.update(dict.fromkeys(key_files(environ)))
    found: list[KeyFile] = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        found.append(KeyFile(path=str(path), uid=status.st_uid, mode=status.st_mode & 0o777))
    return found


def kernel_troubles(root: Path, given: Path | None) -> list[UsbTrouble] | None:
    """USB trouble in the kernel's log: of the file given, of `dmesg` in a copy, else of this kernel; None: no log."""
    file = given if given is not None else None if root == THIS else root / "dmesg"
    try:
        if file is not None:
            with file.open("rb") as log:
                raw = log.read(MAX_LOG_BYTES)
        else:
            call = subprocess.run(["dmesg"], stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
            if call.returncode != 0:
                return None
            raw = call.stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return usb_troubles(raw.decode("utf-8", errors="replace"))


def denied_phones(tree: UsbTree, root: Path) -> list[str]:
    """Paths of attached phones whose nodes this user may not open."""
    nodes = {phone.path: root / phone.node for phone in tree.phones() if phone.node}
    return [path for path, node in nodes.items() if node.exists() and not os.access(node, os.R_OK | os.W_OK)]


def has_udev_rules(root: Path) -> bool:
    """Whether somebody installed udev rules for phones."""
    return any(any((root / folder).glob("*android*.rules")) for folder in _RULES)


def room_for(use: str, path: Path) -> Room:
    """The file system of a folder, or of its nearest parent that exists. Raises OSError."""
    existing = next(one for one in (path, *path.parents) if one.exists())
    status = os.statvfs(existing)
    return Room(
        use=use,
        path=words(str(path)),
        free_bytes=status.f_bavail * status.f_frsize,
        free_files=status.f_favail if status.f_files else None,
    )


def rooms(home: Path) -> list[Room]:
    """Where a run writes: the home, and what is temporary."""
    return [room_for("home", home), room_for("temporary files", Path(tempfile.gettempdir()))]


def limit_of(kind: int) -> tuple[int | None, int | None]:
    """A limit of this process as (soft, hard); None unlimited."""
    soft, hard = resource.getrlimit(kind)
    return (None if soft == resource.RLIM_INFINITY else soft, None if hard == resource.RLIM_INFINITY else hard)
