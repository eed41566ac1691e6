"""What a virtual phone does wrong on purpose: a plan in `phones/<serialno>/faults.json`, looked at on every operation.

No file, no faults. Keys are those of `FaultPlan`; a file that is no plan is left out and named in the daemon's log. A
plan holds as long as its file lies there. What comes and goes by itself is a schedule (`fault_schedule`), whose faults
are such plans, too, and deeds of the phone.
"""

from __future__ import annotations

import dataclasses
import json
from enum import StrEnum
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

_STRICT = ConfigDict(strict=True, extra="forbid")

FAULTS_NAME = "faults.json"


class ConnectFault(StrEnum):
    """How a connection ends before it is a transport."""

    UNAUTHORIZED = "unauthorized"
    OFFLINE = "offline"
    SILENT = "silent"


class BannerState(StrEnum):
    """What a phone says it has booted into, where that is not Android (`adb_connection_state` of AOSP's adb.h)."""

    RECOVERY = "recovery"
    SIDELOAD = "sideload"
    RESCUE = "rescue"
    BOOTLOADER = "bootloader"


class DropKind(StrEnum):
    """Whose bytes are counted before the transport drops."""

    PUSH = "push"
    PULL = "pull"
    SHELL = "shell"


class ShellExit(StrEnum):
    """What happens to shell v2's exit packet."""

    MISSING = "missing"
    WRONG = "wrong"
    LOST = "255"


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Drop:
    """The transport drops once `after_bytes` of that kind of data have passed, the first `times` times."""

    kind: DropKind
    after_bytes: int
    times: int = 1


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class FaultPlan:
    """Everything off by default.

    `full_after_bytes`: pushes fail with ENOSPC after so many bytes of file data (each file counted alone).
    `extra_names`: names that LIST adds, as they are. `stat_size_bytes`: the size STAT claims for every regular file.
    `recv_size_bytes`: RECV sends so many bytes, cut or padded with zeros. `endless_output`: every shell command
    prints for ever. `unplugged`: the phone takes no connection and drops the one it has.

    Of any operation (a shell command, a request to the file service): `hang` gives no answer for ever, `closed` ends
    its stream at once, `bad_magic` sends a packet that breaks the protocol. `cut_after_bytes` drops the transport and
    `stall_after_bytes` says nothing more, once so many bytes have passed from its beginning on. `drip_bytes_s` bounds
    what leaves per second.

    Of files: `push_refused` answers every push with that text, `push_corrupt` flips a bit of what is pushed,
    `push_short_bytes` cuts so many bytes off its end, and both are answered with OKAY. `clock_ahead_s` is added to
    times of files. Of a shell's output: `noise` puts hostile bytes around it, `output_bytes` cuts it, with its true
    exit code.
    """

    connect: ConnectFault | None = None
    drop: Drop | None = None
    full_after_bytes: int | None = None
    extra_names: tuple[str, ...] = ()
    stat_size_bytes: int | None = None
    recv_size_bytes: int | None = None
    endless_output: bool = False
    shell_exit: ShellExit | None = None
    unplugged: bool = False
    banner: BannerState | None = None
    hang: bool = False
    closed: bool = False
    bad_magic: bool = False
    cut_after_bytes: int | None = None
    stall_after_bytes: int | None = None
    drip_bytes_s: int | None = None
    push_refused: str = ""
    push_corrupt: bool = False
    push_short_bytes: int = 0
    clock_ahead_s: int = 0
    noise: bool = False
    output_bytes: int | None = None

    def over(self, below: FaultPlan) -> FaultPlan:
        """Both at once; where both say something, this one."""
        said = {
            field.name: value
            for field in dataclasses.fields(self)
            if (value := getattr(self, field.name)) != getattr(NO_FAULTS, field.name)
        }
        return dataclasses.replace(below, **said) if said else below


NO_FAULTS = FaultPlan()


def read_faults(phone_dir: Path) -> FaultPlan:
    """The plan that lies in a phone's folder; raise `ValueError` (pydantic's) for a wrong one."""
    try:
        raw = (phone_dir / FAULTS_NAME).read_bytes()
    except FileNotFoundError:
        return NO_FAULTS
    return TypeAdapter(FaultPlan).validate_json(raw)


def write_faults(phone_dir: Path, plan: FaultPlan) -> None:
    """Put a plan in place at once; `NO_FAULTS` takes it away."""
    target = phone_dir / FAULTS_NAME
    if plan == NO_FAULTS:
        target.unlink(missing_ok=True)
        return
    fresh = target.with_suffix(".new")
    fresh.write_text(json.dumps(dataclasses.asdict(plan)), encoding="utf-8")
    fresh.replace(target)


class FaultMeter:
    """How often the present plan's drop has happened; a changed plan starts at zero."""

    def __init__(self) -> None:
        self._plan = NO_FAULTS
        self._drops = 0

    def see(self, plan: FaultPlan) -> FaultPlan:
        """Take the plan that holds now."""
        if plan != self._plan:
            self._plan = plan
            self._drops = 0
        return plan

    def drop_limit(self, kind: DropKind) -> int | None:
        """After how many bytes of `kind` this stream drops the transport; None for never."""
        drop = self._plan.drop
        if drop is None or drop.kind is not kind or self._drops >= drop.times:
            return None
        return drop.after_bytes

    def dropped(self) -> None:
        """Count one."""
        self._drops += 1
