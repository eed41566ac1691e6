"""The one composition: start a block on a phone, follow it, pull what it left.

    start_block(device, block, script, deadline=…)              detached; the prompt is back in milliseconds
    standing(device, block, deadline=…) -> Standing             for resume: what became of a block started earlier
    follow_block(source, block, collect_dir=…, …) -> BlockReport  waits for its end, survives lost links, pulls
    clean_block(device, block, deadline=…)                      when the results are safe on the host
    sweep(device, deadline=…) -> list[str]                      ends what is left of a dead run, and says what that was

`follow_block` may be called for a block in any standing. `source` gives the phone as it can be reached now, or raises
`LinkError`; between losing the link and giving up pass `Pace.lost_after_s` seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from android_runner.device import Device

DeviceSource = Callable[[], Device]
"""The phone as it can be reached now; raises `LinkError` while it can't."""


class Standing(StrEnum):
    """What became of a block that was started at some time."""

    RUNNING = "running"
    ENDED = "ended"
    NEVER_STARTED = "never_started"
    TORN = "torn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often the phone is asked, how long one answer may take, how long a lost phone is waited for (seconds)."""

    poll_s: float = 0.2
    answer_s: float = 10.0
    pull_s: float = 300.0
    silence_s: float = 5.0
    lost_after_s: float = 600.0


class BlockControl:
    """Asks a followed block to end; safe to use from any thread, also before the block is followed."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._kill = threading.Event()

    def stop(self) -> None:
        """End after the trial that runs."""
        self._stop.set()

    def kill(self) -> None:
        """End the trial that runs, too."""
        self._stop.set()
        self._kill.set()

    @property
    def stop_asked(self) -> bool:
        """Whether `stop` or `kill` was called."""
        return self._stop.is_set()

    @property
    def kill_asked(self) -> bool:
        """Whether `kill` was called."""
        return self._kill.is_set()
