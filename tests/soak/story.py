"""Pure: what happens to a lab during a soak, and when, out of a seed alone."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum

from android_runner.virtual.fault_kinds import CATALOGUE, FaultKind
from android_runner.virtual.fault_schedule import Fault

NOT_DRAWN = frozenset({FaultKind.ROGUE_OPEN, FaultKind.SERVER_KILLED, FaultKind.DRIVER_REBOOT})
"""The adb server is killed by the story itself, so often and no oftener; no trial of a soak asks for a driver."""
SLOW = frozenset({FaultKind.TOOL_HUNG, FaultKind.TOOL_FLOODS, FaultKind.HOT, FaultKind.BATTERY_LOW})
"""What costs a minute: a watchdog, 48 MiB through a virtual phone, waiting for the phone. Drawn early, and seldom."""
SLOW_SHARE = 0.02
LINKS = (FaultKind.DROP, FaultKind.UNPLUG)
LINKS_SHARE = 0.3
"""The share of drops and pulled cables: they are what happens most in a farm."""


class HubFault(StrEnum):
    """What befalls all phones behind one hub: those of one process."""

    HANGS = "hub hangs"
    DIES = "hub dies"


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
    hub_faults: int
    early_kills: int
    host_kills: int
    server_kills: int
    least: tuple[int, int, int]
    """So many faults, kills of the host and of the server must really have been: a fault may wait in vain for its
    operation, a kill may find nobody. `early_kills` are in the beginning of a run, before it is planned.
    """

    @property
    def phones(self) -> int:
        """How many phones there are."""
        return sum(self.hubs)


FULL = Size(
    name="soak", hubs=(5, 5, 5, 5), rounds=14, sleep_s=1.2, story_s=300.0,
    faults=900, hub_faults=8, early_kills=6, host_kills=56, server_kills=8, least=(500, 50, 5),
)  # fmt: skip
SHORT = Size(
    name="soak-short", hubs=(4, 4), rounds=4, sleep_s=0.4, story_s=25.0,
    faults=170, hub_faults=1, early_kills=2, host_kills=6, server_kills=2, least=(50, 5, 1),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class HubEvent:
    """A hub hangs for `for_s` seconds, or dies."""

    at_s: float
    hub: int
    fault: HubFault
    for_s: float

    def line(self) -> str:
        """The event in a line."""
        return f"hub {self.hub}: {self.fault.value}, {self.for_s:.1f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKilled:
    """SIGKILL of the process that runs the farm."""

    at_s: float

    def line(self) -> str:
        """The event in a line."""
        return "the host's process is killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerKilled:
    """SIGKILL of the adb server."""

    at_s: float

    def line(self) -> str:
        """The event in a line."""
        return "the adb server is killed"


Event = HubEvent | HostKilled | ServerKilled


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The faults of each phone, by its number, and what else happens, in its order."""

    faults: tuple[tuple[Fault, ...], ...]
    events: tuple[Event, ...]


def story(size: Size, seed: int) -> Story:
    """Everything that happens; the same seed tells the same story."""
    rng = random.Random(seed)
    faults: list[list[Fault]] = [[] for _ in range(size.phones)]
    for _ in range(size.faults):
        faults[rng.randrange(size.phones)].append(_fault(size, rng))
    events: list[Event] = [_hub_event(size, rng) for _ in range(size.hub_faults)]
    events += [HostKilled(at_s=rng.uniform(0.5, size.story_s)) for _ in range(size.host_kills)]
    events += [ServerKilled(at_s=rng.uniform(1.0, size.story_s)) for _ in range(size.server_kills)]
    return Story(
        faults=tuple(tuple(sorted(one, key=lambda fault: fault.at_s)) for one in faults),
        events=tuple(sorted(events, key=lambda event: event.at_s)),
    )


def _fault(size: Size, rng: random.Random) -> Fault:
    share, slow_until_s = rng.random(), size.story_s - 120.0
    if share < LINKS_SHARE:
        kind = rng.choice(LINKS)
    elif share > 1.0 - SLOW_SHARE and slow_until_s > 0:
        kind = rng.choice(sorted(SLOW))
    else:
        kind = rng.choice(sorted(frozenset(CATALOGUE) - NOT_DRAWN - SLOW - frozenset(LINKS)))
    at_s = rng.uniform(0.0, slow_until_s if kind in SLOW else size.story_s * 0.95)
    steps = CATALOGUE[kind].steps
    step = rng.choice(steps) if rng.random() < 0.5 else None
    for_s = None if rng.random() < 0.6 else min(20.0, 0.3 + rng.expovariate(1 / 3.0))
    return Fault(kind=kind, step=step, at_s=at_s, for_s=for_s, after_bytes=int(10 ** rng.uniform(0.0, 4.5)))


def _hub_event(size: Size, rng: random.Random) -> HubEvent:
    return HubEvent(
        at_s=rng.uniform(2.0, size.story_s * 0.9),
        hub=rng.randrange(len(size.hubs)),
        fault=rng.choice(list(HubFault)),
        for_s=min(20.0, 0.5 + rng.expovariate(1 / 4.0)),
    )
