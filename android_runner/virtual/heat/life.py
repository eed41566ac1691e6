"""Heat in a living virtual phone: its daemon ticks the model several times a second and writes what the phone shows.

A phone without a scenario is at its top clock for ever; then only what its kernel counts goes on (`time_in_state`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Protocol

from android_runner.profile import DeviceProfile
from android_runner.virtual.heat.body import Body
from android_runner.virtual.heat.computing import computing_threads
from android_runner.virtual.heat.model import clock_steps
from android_runner.virtual.heat.nature import draw_nature
from android_runner.virtual.heat.scenario import Scenario
from android_runner.virtual.heat.sysfs import (
    LOADAVG,
    PACE,
    hot_files,
    load_text,
    pace_text,
    time_in_state,
)
from android_runner.virtual.identity import clocks_khz, policies

_LONGEST_TICK_S = 5.0
"""A daemon that was stopped for longer (a suspended host) does not make up for it."""


class Files:
    """Files that are written again and again: kept open, one write each, so that no reader finds one empty."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._kept: dict[str, tuple[int, str]] = {}

    def put(self, name: str, text: str | None) -> None:
        """Make a file have this text; None: make it go. Raises `OSError`."""
        found = self._kept.get(name)
        if text is None:
            if found is not None:
                os.close(self._kept.pop(name)[0])
            (self._root / name).unlink(missing_ok=True)
            return
        if found is not None and found[1] == text:
            return
        descriptor = self._open(name) if found is None else found[0]
        data = text.encode()
        os.pwrite(descriptor, data, 0)
        if found is None or len(data) < len(found[1]):
            os.ftruncate(descriptor, len(data))
        self._kept[name] = (descriptor, text)

    def close(self) -> None:
        """Let all of them go, as they are."""
        for descriptor, _ in self._kept.values():
            os.close(descriptor)
        self._kept.clear()

    def _open(self, name: str) -> int:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)


class Life(Protocol):
    """What a phone's daemon does for its heat; `now_s` is the daemon's monotonic clock."""

    def boot(self, now_s: float) -> None:
        """The kernel starts anew; what it says is there before anybody can ask. Raises `OSError`."""

    def tick(self, now_s: float, proc: Path, mark: str) -> None:
        """Show what has come of the time since the last tick. Raises `OSError`.

        `proc` is a `/proc` that lists the phone's processes, `mark` as in `computing_threads`.
        """

    def close(self) -> None:
        """The phone goes off."""


def life_of(phone_dir: Path, profile: DeviceProfile, scenario: Scenario | None, seed: str) -> Life:
    """A phone's life; `seed` is its own, also among phones of one scenario."""
    if scenario is None:
        return CoolLife(phone_dir / "root", profile)
    return HotLife(phone_dir, profile, scenario, seed)


class CoolLife:
    """A phone whose clocks stand still: its kernel counts the time since the boot at the top clock."""

    def __init__(self, root: Path, profile: DeviceProfile) -> None:
        self._files = Files(root)
        self._clocks = [(f"{folder}/stats/time_in_state", clocks_khz(cluster)) for folder, cluster in policies(profile)]
        self._booted_s = 0.0

    def boot(self, now_s: float) -> None:
        """As in `Life`."""
        self._booted_s = now_s
        self._show(now_s)

    def tick(self, now_s: float, proc: Path, mark: str) -> None:
        """As in `Life`."""
        self._show(now_s)

    def close(self) -> None:
        """As in `Life`."""
        self._files.close()

    def _show(self, now_s: float) -> None:
        for name, clocks in self._clocks:
            self._files.put(name, time_in_state(clocks, {clocks[-1]: now_s - self._booted_s}))


class HotLife:
    """A phone of a scenario. Its heat goes on over a reboot."""

    def __init__(self, phone_dir: Path, profile: DeviceProfile, scenario: Scenario, seed: str) -> None:
        root = phone_dir / "root"
        self._profile = profile
        self._scale = scenario.time_scale
        self._body = Body(draw_nature(scenario, seed), seed)
        self._hop = Random(f"{seed}/clocks")
        self._files = Files(root)
        self._overlay = Files(phone_dir / "boot")
        folder, self._fastest = list(policies(profile))[-1]
        self._limit = root / folder / "scaling_max_freq"
        self._now_s: float | None = None

    def boot(self, now_s: float) -> None:
        """As in `Life`."""
        self.close()  # a boot has written into them: what they hold is not what was put last
        self._body.reboot()
        self._pass(now_s, 0)

    def tick(self, now_s: float, proc: Path, mark: str) -> None:
        """As in `Life`."""
        self._pass(now_s, computing_threads(proc, mark, self._profile.cores))

    def close(self) -> None:
        """As in `Life`."""
        self._files.close()
        self._overlay.close()

    def _pass(self, now_s: float, threads: int) -> None:
        before_s = now_s if self._now_s is None else self._now_s
        self._now_s = now_s
        if self._profile.rooted:
            self._body.limit(self._top_speed())
        self._body.hold(threads, min(now_s - before_s, _LONGEST_TICK_S) * self._scale)
        for name, text in self._texts(threads):
            self._files.put(name, text)
        # What runs now leaves out our own threads: until the tick after their end they would look like somebody else's.
        load = load_text(self._body.load_1m, 1 + round(self._body.others))
        self._files.put(LOADAVG, load)
        self._overlay.put(Path(LOADAVG).name, load)

    def _texts(self, threads: int) -> Iterator[tuple[str, str | None]]:
        body = self._body
        said = body.readings(threads, clock=self._clock_now())
        yield from hot_files(self._profile, said, body.nature.heat.clock_step, 1.0 / self._scale)
        yield PACE, pace_text(body.speed * body.free)

    def _clock_now(self) -> float:
        """One of the two clocks that the governor hops between, as a reader would meet it."""
        drawn = self._hop.random()
        steps = clock_steps(self._body.speed, self._body.nature.heat)
        return steps[0][0] if drawn < steps[0][1] else steps[-1][0]

    def _top_speed(self) -> float:
        """The share of its top clock that root leaves to the fastest cluster; 1 where that can't be read."""
        with suppress(OSError, ValueError):
            return min(1.0, max(0.05, int(self._limit.read_text(encoding="ascii")) / self._fastest.max_khz))
        return 1.0
