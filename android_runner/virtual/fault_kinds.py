"""The catalogue: every way in which a virtual phone can go wrong, what that is like, and where it can happen.

After what farms report and what adb's own source allows. A kind is either a `FaultPlan` that holds for a while, or a
deed of the phone (`fault_deeds`), or both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from android_runner.virtual.fault_steps import Medium, Step
from android_runner.virtual.faults import NO_FAULTS, BannerState, ConnectFault, FaultPlan, ShellExit

DEFAULT_BYTES = 1
HOSTILE_NAMES = ("../../evil", "/data/evil", "..", "a\nb", "-rf", "\x1b[2Jx", "x" * 300)
REFUSED_TEXT = "couldn't create file: Permission denied"
DRIP_BYTES_S = 400


class Effect(StrEnum):
    """How far a fault reaches, which is what a schedule's statistics count by."""

    LINK = "link"
    PHONE = "phone"
    FILES = "files"
    SHELL = "shell"
    TOOL = "tool"
    SERVER = "server"


class FaultKind(StrEnum):
    """All kinds, by the names that a schedule uses."""

    DROP = "drop"
    UNPLUG = "unplug"
    OFFLINE = "offline"
    UNAUTHORIZED = "unauthorized"
    RECOVERY = "recovery"
    SIDELOAD = "sideload"
    BOOTLOADER = "bootloader"
    SILENT = "silent"
    BAD_MAGIC = "bad-magic"
    HANG = "hang"
    CLOSED = "closed"
    STALL = "stall"
    DRIP = "drip"
    DUPLICATE = "duplicate"
    ROGUE_OPEN = "rogue-open"
    SERVER_KILLED = "server-killed"
    FULL = "full"
    PUSH_REFUSED = "push-refused"
    PUSH_CORRUPT = "push-corrupt"
    PUSH_SHORT = "push-short"
    STAT_LIES = "stat-lies"
    PULL_LIES = "pull-lies"
    HOSTILE_NAMES = "hostile-names"
    NO_EXIT = "no-exit"
    EXIT_255 = "exit-255"
    ENDLESS = "endless"
    NOISE = "noise"
    CUT_OUTPUT = "cut-output"
    LOST_TOOLS = "lost-tools"
    REBOOT = "reboot"
    POWER_OFF = "power-off"
    DRIVER_REBOOT = "driver-reboot"
    SCRIPT_KILLED = "script-killed"
    ALL_KILLED = "all-killed"
    FOLDER_LOST = "folder-lost"
    JOURNAL_TORN = "journal-torn"
    CLOCK_SKEW = "clock-skew"
    NEW_FINGERPRINT = "new-fingerprint"
    FOREIGN_LEASE = "foreign-lease"
    HOT = "hot"
    BATTERY_LOW = "battery-low"
    TOOL_KILLED = "tool-killed"
    TOOL_CRASHED = "tool-crashed"
    TOOL_HUNG = "tool-hung"
    TOOL_CRASHED_LATE = "tool-crashed-late"
    RESULT_CUT = "result-cut"
    TOOL_FLOODS = "tool-floods"
    TOOL_GARBLES = "tool-garbles"


_ANY = tuple(Step)
_OPERATIONS = (Step.PROBE, Step.STAGE, Step.LAUNCH, Step.JOURNAL, Step.PULL, Step.RELEASE)
_WHILE_UP = (*_OPERATIONS[:3], Step.RUN, *_OPERATIONS[3:])
_PUSHES = (Step.STAGE, Step.LAUNCH)
_STATS = (Step.LAUNCH, Step.JOURNAL, Step.PULL)
_READS = (Step.JOURNAL, Step.PULL)
_SHELLS = (Step.PROBE, Step.STAGE, Step.LAUNCH, Step.JOURNAL, Step.RELEASE)
_RUN = (Step.RUN,)
_EVERY = frozenset(Medium)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """One kind: in words, the steps at which it can show, and how long it lasts by itself in seconds.

    0 is for one operation, or a deed that is done at once. `stops` says that trials can't go on while it lasts. Only
    operations of its `media` bring it on.
    """

    about: str
    effect: Effect
    steps: tuple[Step, ...] = _ANY
    for_s: float = 0.0
    stops: bool = False
    media: frozenset[Medium] = _EVERY


def _link(about: str, steps: tuple[Step, ...] = _ANY, for_s: float = 0.0) -> Traits:
    return Traits(about=about, effect=Effect.LINK, steps=steps, for_s=for_s)


def _files(about: str, steps: tuple[Step, ...], *media: Medium) -> Traits:
    return Traits(about=about, effect=Effect.FILES, steps=steps, media=frozenset(media or (Medium.SEND,)))


def _shell(about: str, for_s: float = 0.0) -> Traits:
    return Traits(about=about, effect=Effect.SHELL, steps=_SHELLS, for_s=for_s, media=frozenset((Medium.SHELL,)))


def _phone(about: str, steps: tuple[Step, ...] = _WHILE_UP, *, for_s: float = 0.0, stops: bool = False) -> Traits:
    return Traits(about=about, effect=Effect.PHONE, steps=steps, for_s=for_s, stops=stops)


def _tool(about: str) -> Traits:
    return Traits(about=about, effect=Effect.TOOL, steps=_RUN)


CATALOGUE: Mapping[FaultKind, Traits] = {
    FaultKind.DROP: _link(
        "the transport drops, after so many bytes where `after_bytes` is given; it comes back at once"
    ),
    FaultKind.UNPLUG: _link("gone from the list, and back; for several phones at once it is their hub", for_s=2.0),
    FaultKind.OFFLINE: _link("what it answers to a connection is no adb: listed as offline, or not at all", for_s=2.0),
    FaultKind.UNAUTHORIZED: _link("it no longer knows this computer's key", for_s=2.0),
    FaultKind.RECOVERY: _link("listed as recovery; its shell is closed", for_s=2.0),
    FaultKind.SIDELOAD: _link("listed as sideload; its shell is closed", for_s=2.0),
    FaultKind.BOOTLOADER: _link("listed as bootloader; its shell is closed", for_s=2.0),
    FaultKind.SILENT: _link("takes a connection and never says a word", for_s=2.0),
    FaultKind.BAD_MAGIC: _link("a packet that breaks the protocol; the server drops the transport", _WHILE_UP),
    FaultKind.HANG: _link(
        "listed as device, but what is opened gets no answer; its cause is over with `for_s`", _WHILE_UP
    ),
    FaultKind.CLOSED: _link("what is opened is closed at once, without an answer", _WHILE_UP),
    FaultKind.STALL: _link("says nothing more once `after_bytes` have passed", _WHILE_UP),
    FaultKind.DRIP: _link(f"what it says leaves at {DRIP_BYTES_S} bytes a second", _WHILE_UP),
    FaultKind.DUPLICATE: _phone("its ro.serialno is that of another phone", for_s=2.0),
    FaultKind.ROGUE_OPEN: Traits(
        about="it opens a stream to the host, which aborts the adb server", effect=Effect.SERVER, steps=_WHILE_UP
    ),
    FaultKind.SERVER_KILLED: Traits(
        about="the adb server is killed; whoever starts one again finds it empty", effect=Effect.SERVER
    ),
    FaultKind.FULL: _files("no space left after `after_bytes` of a file", _PUSHES),
    FaultKind.PUSH_REFUSED: _files(f"a push is refused: {REFUSED_TEXT}", _PUSHES),
    FaultKind.PUSH_CORRUPT: _files("a bit of a pushed file is flipped; the answer is OKAY", _PUSHES),
    FaultKind.PUSH_SHORT: _files("the end of a pushed file is missing; the answer is OKAY", _PUSHES),
    FaultKind.STAT_LIES: _files("files are said to be 1 PiB large", _STATS, Medium.STAT, Medium.LIST),
    FaultKind.PULL_LIES: _files("a pulled file comes with 3 bytes, or padded to them", _READS, Medium.RECV),
    FaultKind.HOSTILE_NAMES: _files("listings have names like ../../evil", (Step.PULL,), Medium.LIST),
    FaultKind.NO_EXIT: _shell("a command's stream ends without its exit code"),
    FaultKind.EXIT_255: _shell("a command ends with 255, whatever it did"),
    FaultKind.ENDLESS: _shell("a command prints for ever"),
    FaultKind.NOISE: _shell("bytes that are no UTF-8, control sequences and linker warnings around a command's output"),
    FaultKind.CUT_OUTPUT: _shell("of a command's output only `after_bytes` come, with its true exit code"),
    FaultKind.LOST_TOOLS: _shell("toybox, sha256sum, stat, timeout, taskset, dumpsys, getprop: not found (127)", 2.0),
    FaultKind.REBOOT: _phone("restarts: streams and processes end, a new boot id", stops=True),
    FaultKind.POWER_OFF: _phone("off (a thermal shutdown, an empty battery), then booted", for_s=2.0, stops=True),
    FaultKind.DRIVER_REBOOT: _phone("restarts as soon as a process with `-e nnapi` runs", _RUN, stops=True),
    FaultKind.SCRIPT_KILLED: _phone("the phone script of the block is killed; its trial lives on", _WHILE_UP[2:-1]),
    FaultKind.ALL_KILLED: _phone("every process of the shell user is killed, as by Android 12's phantom killer"),
    FaultKind.FOLDER_LOST: _phone("somebody clears /data/local/tmp/orch"),
    FaultKind.JOURNAL_TORN: _phone("the journal of the block ends in bytes that nobody wrote", (Step.RUN, *_READS)),
    FaultKind.CLOCK_SKEW: _phone("times of files are a day ahead", (*_PUSHES, *_READS), for_s=2.0),
    FaultKind.NEW_FINGERPRINT: _phone("another build fingerprint, as after an OS update", for_s=2.0),
    FaultKind.FOREIGN_LEASE: _phone("another run's higher epoch stands in the lease", for_s=2.0, stops=True),
    FaultKind.HOT: _phone("battery at 60 °C, thermal status severe", for_s=2.0),
    FaultKind.BATTERY_LOW: _phone("battery at 3 %", for_s=2.0),
    FaultKind.TOOL_KILLED: _tool("the trial's process is ended by SIGKILL, as when memory is short"),
    FaultKind.TOOL_CRASHED: _tool("the trial's process ends by SIGSEGV"),
    FaultKind.TOOL_HUNG: _tool("the trial's process is stopped and never goes on"),
    FaultKind.TOOL_CRASHED_LATE: _tool(
        "it crashes after it has printed its result, as drivers do when they are unloaded"
    ),
    FaultKind.RESULT_CUT: _tool("its output and result file end in the middle, its exit code is 0"),
    FaultKind.TOOL_FLOODS: _tool("it prints 48 MiB, then its result"),
    FaultKind.TOOL_GARBLES: _tool("control sequences, bytes that are no UTF-8 and false figures in its output"),
}


def plan_of(kind: FaultKind, after_bytes: int | None) -> FaultPlan:
    """What the phone does wrong while a fault of this kind holds; `NO_FAULTS` where it is a deed alone."""
    count = DEFAULT_BYTES if after_bytes is None else after_bytes
    plans: Mapping[FaultKind, FaultPlan] = {
        FaultKind.DROP: FaultPlan(cut_after_bytes=after_bytes or 0),
        FaultKind.UNPLUG: FaultPlan(unplugged=True),
        FaultKind.OFFLINE: FaultPlan(connect=ConnectFault.OFFLINE),
        FaultKind.UNAUTHORIZED: FaultPlan(connect=ConnectFault.UNAUTHORIZED),
        FaultKind.RECOVERY: FaultPlan(banner=BannerState.RECOVERY, closed=True),
        FaultKind.SIDELOAD: FaultPlan(banner=BannerState.SIDELOAD, closed=True),
        FaultKind.BOOTLOADER: FaultPlan(banner=BannerState.BOOTLOADER, closed=True),
        FaultKind.SILENT: FaultPlan(connect=ConnectFault.SILENT),
        FaultKind.BAD_MAGIC: FaultPlan(bad_magic=True),
        FaultKind.HANG: FaultPlan(hang=True),
        FaultKind.CLOSED: FaultPlan(closed=True),
        FaultKind.STALL: FaultPlan(stall_after_bytes=count),
        FaultKind.DRIP: FaultPlan(drip_bytes_s=DRIP_BYTES_S),
        FaultKind.FULL: FaultPlan(full_after_bytes=after_bytes or 0),
        FaultKind.PUSH_REFUSED: FaultPlan(push_refused=REFUSED_TEXT),
        FaultKind.PUSH_CORRUPT: FaultPlan(push_corrupt=True),
        FaultKind.PUSH_SHORT: FaultPlan(push_short_bytes=count),
        FaultKind.STAT_LIES: FaultPlan(stat_size_bytes=2**50),
        FaultKind.PULL_LIES: FaultPlan(recv_size_bytes=3),
        FaultKind.HOSTILE_NAMES: FaultPlan(extra_names=HOSTILE_NAMES),
        FaultKind.NO_EXIT: FaultPlan(shell_exit=ShellExit.MISSING),
        FaultKind.EXIT_255: FaultPlan(shell_exit=ShellExit.LOST),
        FaultKind.ENDLESS: FaultPlan(endless_output=True),
        FaultKind.NOISE: FaultPlan(noise=True),
        FaultKind.CUT_OUTPUT: FaultPlan(output_bytes=after_bytes or 0),
        FaultKind.CLOCK_SKEW: FaultPlan(clock_ahead_s=86_400),
    }
    return plans.get(kind, NO_FAULTS)


DROPS_LINKS = frozenset(
    {
        FaultKind.UNPLUG,
        FaultKind.OFFLINE,
        FaultKind.UNAUTHORIZED,
        FaultKind.RECOVERY,
        FaultKind.SIDELOAD,
        FaultKind.BOOTLOADER,
        FaultKind.SILENT,
    }
)
"""They begin with the end of the transports that there are, and end with a phone that is plugged in again."""
