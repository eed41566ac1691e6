"""Pure: what happens to a lab during a soak, and when, out of a seed alone."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """What a phone does wrong for a while, or once."""

    PUSH_DROP = "push drop"
    PULL_DROP = "pull drop"
    SHELL_DROP = "shell drop"
    UNPLUGGED = "unplugged"
    OFFLINE = "offline"
    UNAUTHORIZED = "unauthorized"
    FULL = "full"
    HOSTILE_NAMES = "hostile names"
    WRONG_SIZES = "wrong sizes"
    CUT_FILES = "cut files"
    ENDLESS_OUTPUT = "endless output"
    EXIT_MISSING = "exit missing"
    EXIT_WRONG = "exit wrong"
    REBOOT = "reboot"
    TOOL_KILLED = "tool killed"
    SCRIPT_KILLED = "script killed"
    HUB_HANGS = "hub hangs"
    HUB_DIES = "hub dies"


_ODDS: Mapping[Fault, int] = {
    Fault.PUSH_DROP: 10,
    Fault.PULL_DROP: 12,
    Fault.SHELL_DROP: 12,
    Fault.UNPLUGGED: 16,
    Fault.OFFLINE: 6,
    Fault.UNAUTHORIZED: 4,
    Fault.FULL: 5,
    Fault.HOSTILE_NAMES: 4,
    Fault.WRONG_SIZES: 4,
    Fault.CUT_FILES: 4,
    Fault.ENDLESS_OUTPUT: 3,
    Fault.EXIT_MISSING: 4,
    Fault.EXIT_WRONG: 4,
    Fault.REBOOT: 8,
    Fault.TOOL_KILLED: 8,
    Fault.SCRIPT_KILLED: 4,
    Fault.HUB_HANGS: 1,
    Fault.HUB_DIES: 1,
}
"""How often each is drawn. The last two are of all phones behind one hub (one daemon)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much a soak has of everything. `hubs` are the phones behind each (one process each); a story lasts
    `story_s` seconds; a trial sleeps `sleep_s`."""

    name: str
    hubs: tuple[int, ...]
    rounds: int
    sleep_s: float
    story_s: float
    faults: int
    early_kills: int
    host_kills: int
    server_kills: int
    least: tuple[int, int, int]
    """So many faults, kills of the host and of the server must really have been: a kill may find nobody.

    `early_kills` are in the beginning of a run, before it is planned.
    """

    @property
    def phones(self) -> int:
        """How many phones there are."""
        return sum(self.hubs)


FULL = Size(
    name="soak", hubs=(5, 5, 5, 5), rounds=14, sleep_s=1.2, story_s=330.0,
    faults=520, early_kills=6, host_kills=56, server_kills=8, least=(500, 50, 5),
)  # fmt: skip
SHORT = Size(
    name="soak-short", hubs=(4, 4), rounds=4, sleep_s=0.4, story_s=25.0,
    faults=55, early_kills=2, host_kills=6, server_kills=2, least=(50, 5, 1),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneFault:
    """From `at_s` on, for `lasts_s` seconds (of those that happen once: no matter), with a figure of its own."""

    at_s: float
    phone: int
    fault: Fault
    lasts_s: float
    figure: int

    def line(self) -> str:
        """The event in a line."""
        return f"{self.at_s:7.2f} s  phone {self.phone}: {self.fault.value}, {self.lasts_s:.1f} s, {self.figure}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKilled:
    """SIGKILL of the process that runs the farm."""

    at_s: float

    def line(self) -> str:
        """The event in a line."""
        return f"{self.at_s:7.2f} s  the host's process is killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerKilled:
    """SIGKILL of the adb server."""

    at_s: float

    def line(self) -> str:
        """The event in a line."""
        return f"{self.at_s:7.2f} s  the adb server is killed"


Event = PhoneFault | HostKilled | ServerKilled


def story(size: Size, seed: int) -> list[Event]:
    """Everything that happens, in its order; the same seed tells the same story."""
    rng = random.Random(seed)
    events: list[Event] = [_fault(size, rng) for _ in range(size.faults)]
    events += [HostKilled(at_s=rng.uniform(0.5, size.story_s)) for _ in range(size.host_kills)]
    events += [ServerKilled(at_s=rng.uniform(1.0, size.story_s)) for _ in range(size.server_kills)]
    return sorted(events, key=lambda event: event.at_s)


def _fault(size: Size, rng: random.Random) -> PhoneFault:
    return PhoneFault(
        at_s=rng.uniform(0.0, size.story_s),
        phone=rng.randrange(size.phones),
        fault=rng.choices(list(_ODDS), list(_ODDS.values()))[0],
        lasts_s=min(20.0, 0.3 + rng.expovariate(1 / 3.0)),
        figure=int(10 ** rng.uniform(0.0, 4.5)),
    )
