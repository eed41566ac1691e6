"""Computing slots: at most so many perf_tests of all virtual phones of one home compute at once.

A slot is a lock file `slots/slot<k>.lock`. The launcher, a script in front of a timed command, takes one with `flock`
and becomes the command, which keeps the descriptor: the slot is free again when the process and its children are gone,
however they ended. While it has to wait, a file `waiting` lies in its working directory; `slot_wait` there holds two
uptimes in seconds, of asking and of getting.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from android_runner.virtual.host_tools import system_tool

_LAUNCHER = "system/bin/orch-slot"
POLL_S = 0.02


def write_slots(slots_dir: Path, count: int) -> None:
    """Make exactly `count` lock files; one that goes while it is held stays held until its process ends."""
    slots_dir.mkdir(parents=True, exist_ok=True)
    for index in range(count):
        (slots_dir / f"slot{index}.lock").touch()
    for path in slots_dir.glob("slot*.lock"):
        number = path.stem.removeprefix("slot")
        if number.isdecimal() and int(number) >= count:
            path.unlink(missing_ok=True)


def launcher_path(root: Path, *, confined: bool) -> str:
    """What the phone's shell calls its launcher; without namespaces that is a path of the host."""
    return f"/{_LAUNCHER}" if confined else str(root / _LAUNCHER)


def write_launcher(root: Path, slots_dir: str) -> None:
    """Write the launcher into a phone's root; `slots_dir` as the phone's shell sees it.

    The host's `/bin/sh` runs it in every kind of phone: mksh does not hand descriptors above 2 to what it starts.
    """
    path = root / _LAUNCHER
    path.unlink(missing_ok=True)
    path.write_text(_launcher(slots_dir), encoding="utf-8")
    path.chmod(0o755)


def _launcher(slots_dir: str) -> str:
    folder = shlex.quote(slots_dir)
    flock = system_tool("flock") or "flock"
    sleep = system_tool("sleep") or "sleep"
    remove = system_tool("rm") or "rm"
    return f"""\
#!/bin/sh
# LAUNCHER COMMAND [ARGUMENT…]: wait for a computing slot, then become the command.
read asked rest </proc/uptime
waited=
while :; do
    for slot in {folder}/slot*.lock; do
        [ -f "$slot" ] || continue
        exec 9<"$slot"
        if {flock} -n 9; then break 2; fi
        exec 9<&-
    done
    if [ -z "$waited" ]; then : >waiting; waited=1; fi
    {sleep} {POLL_S}
done
read got rest </proc/uptime
echo "$asked $got" >slot_wait
if [ -n "$waited" ]; then {remove} -f waiting; fi
exec "$@"
"""
