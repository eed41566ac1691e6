"""Namespaces of a virtual phone: its root is `/`, its processes are its own, and one kill ends them all; no network.

Made with util-linux alone (`unshare`, `mount`, `pivot_root`, `nsenter`), as an ordinary user or as root. The phone's
init is a `cat` that reads a pipe of the daemon: it ends with the daemon, and every process of the phone with it.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from android_runner.virtual.host_tools import library_folders, system_tool
from android_runner.virtual.processes import identify
from android_runner.virtual.root_tree import CPUFREQ, DEVICES, OVERLAYS

_SHELL_UID = 2000
_SETUP_TIMEOUT_S = 20.0
_BIND = "nosuid,nodev"


class NoNamespaces(Exception):
    """This host does not let us make them; the text says why."""


class Namespace:
    """One boot of a confined phone."""

    def __init__(self, process: asyncio.subprocess.Process, init_pid: int) -> None:
        self._process = process
        self.init_pid = init_pid

    def enter_argv(self) -> list[str]:
        """What to put in front of a command that runs inside."""
        nsenter = system_tool("nsenter") or "nsenter"
        return [nsenter, "-t", str(self.init_pid), "-U", "-m", "-p", "-i", "-u", "-n", "--preserve-credentials"]

    def has_processes(self) -> bool:
        """Whether something runs that no shell of ours waits for: a child that init has inherited."""
        try:
            children = Path(f"/proc/{self.init_pid}/task/{self.init_pid}/children").read_text().split()
        except OSError:
            return False
        return any(identify(int(pid)) is not None for pid in children)

    async def end(self) -> None:
        """Kill init, and so every process inside; return when they are gone."""
        with suppress(ProcessLookupError):
            os.kill(self.init_pid, signal.SIGKILL)
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()


async def make_namespace(
    phone_dir: Path,
    slots_dir: Path,
    lent: Sequence[tuple[Path, str]] = (),
    *,
    rooted: bool = False,
    overlays: Sequence[str] = OVERLAYS,
) -> Namespace:
    """Set up the phone's namespaces; raise `NoNamespaces`.

    `lent` are more folders of the host and where below the phone's root they go, to be read only. `rooted`: the clocks
    can be set by who may (the modes of the files say who). `overlays` are files that take the place of its kernel's.
    """
    unshare = system_tool("unshare")
    if unshare is None or system_tool("nsenter") is None or system_tool("pivot_root") is None:
        raise NoNamespaces("util-linux's unshare, nsenter or pivot_root is not installed")
    script = phone_dir / "namespace.sh"
    script.write_text(setup_script(phone_dir, slots_dir, lent, rooted=rooted, overlays=overlays), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        unshare, "-U", "-m", "-p", "-i", "-u", "-n", "-f", f"--map-user={_SHELL_UID}", f"--map-group={_SHELL_UID}",
        "--keep-caps", "/bin/sh", str(script),
        stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True,
        env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), _SETUP_TIMEOUT_S)
        word, _, pid = line.decode(errors="replace").strip().partition(" ")
        if word == "ready" and pid.isdecimal():
            return Namespace(process, int(pid))
        reason = (await asyncio.wait_for(process.stderr.read(), _SETUP_TIMEOUT_S)).decode(errors="replace")
    except TimeoutError:
        reason = "setting up a namespace took too long"
    if process.returncode is None:
        process.kill()
        await process.wait()
    raise NoNamespaces(" ".join(reason.split())[:300] or "unshare failed without a word")


def setup_script(
    phone_dir: Path,
    slots_dir: Path,
    lent: Sequence[tuple[Path, str]] = (),
    *,
    rooted: bool = False,
    overlays: Sequence[str] = OVERLAYS,
) -> str:
    """The shell text that turns fresh namespaces into the phone; its last command is init.

    Pure but for a look at which folders the host has. The order matters: what is to stay writable is bound before the
    whole becomes read-only, and init's pid is read while the host's /proc is still there.
    """
    root = phone_dir / "root"
    lines = ["set -e", "read pid rest </proc/self/stat", _bind(root, root)]
    for name in ("data", "storage", "dev"):
        lines.append(_bind(root / name, root / name, _BIND))
    lines.append(_bind(root / "sys", root / "sys", f"ro,{_BIND}"))
    lines += [_bind(root / CPUFREQ, root / CPUFREQ, f"rw,{_BIND}")] if rooted else []
    lines.append(_bind(Path("/usr"), root / "usr", f"ro,{_BIND}"))
    lines += [
        _bind(folder, root / folder.relative_to("/"), f"ro,{_BIND}")
        for folder in library_folders()
        if not folder.is_symlink()
    ]
    lines += [_bind(folder, root / target, f"ro,{_BIND}") for folder, target in lent]
    lines.append(_bind(slots_dir, root / "mnt/orch-slots", f"ro,{_BIND}"))
    lines += [_bind(Path("/dev") / name, root / "dev" / name) for name in DEVICES]
    lines.append(f"mount -t proc proc {shlex.quote(str(root / 'proc'))}")
    lines.append(_bind(root / "proc/sys", root / "proc/sys", "ro"))
    lines += [_bind(phone_dir / "boot" / Path(name).name, root / name, "ro") for name in overlays]
    lines += [
        f"mount -o remount,bind,ro,{_BIND} {shlex.quote(str(root))}",
        f"cd {shlex.quote(str(root))}",
        "pivot_root . .old",
        "umount -n -l /.old",
        "cd /",
        'echo "ready $pid"',
        "exec >/dev/null 2>&1",
        # With SIGCHLD ignored the kernel reaps what init inherits (dash's trap does not ignore it).
        "if env --ignore-signal=CHLD true; then exec env --ignore-signal=CHLD cat; fi",
        "exec cat\n",
    ]
    return "\n".join(lines)


def _bind(source: Path, target: Path, options: str = "") -> str:
    wanted = f"bind,{options}" if options else "bind"
    return f"mount -o {wanted} {shlex.quote(str(source))} {shlex.quote(str(target))}"
