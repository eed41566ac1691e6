"""Watches the adb server's list for phones of one hub that go together; its thread says so to the loop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping

from android_runner.adb.discovery import SeenPhone, track
from android_runner.adb.server import AdbServer
from android_runner.deadline import Clock, Deadline
from android_runner.errors import RunnerError
from orchestrator.farm.siblings import TOGETHER_S, HubIncident, Siblings

AGAIN_S = 0.5
"""How long after the server went away it is asked again; it is not started for this."""
END_S = 5.0
_LOOK_S = 3600.0


class HubWatch:
    """Watches inside its block, where there is something to be seen. `phones` are those of the run by their serials at
    `server`. `tell` hears of each incident once, when no further phone can join it or the watch ends; it must be safe
    to call from any thread. What the list says while the server comes and goes is no loss."""

    def __init__(
        self,
        server: AdbServer,
        phones: Mapping[str, str],
        siblings: Siblings,
        tell: Callable[[HubIncident], object],
        clock: Clock,
    ) -> None:
        self._server = server
        self._phones = phones
        self._siblings = siblings
        self._tell = tell
        self._clock = clock
        self._there: Collection[str] = frozenset()
        self._lock = threading.Lock()
        self._timers: list[threading.Timer] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, name="hubs", daemon=True)

    def __enter__(self) -> HubWatch:
        if self._siblings.worth_watching():
            self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stop.set()
        for timer in self._timers:
            timer.cancel()
        if self._thread.ident is not None:
            self._thread.join(END_S)
        self._tell_over(float("inf"))

    def blames_hub(self, phone: str) -> bool:
        """Whether this phone is gone, and that is its hub's doing."""
        with self._lock:
            return self._siblings.blamed(phone)

    def _live(self) -> None:
        while not self._stop.is_set():
            self._there = frozenset()  # a server that comes back has an empty list first: that is no loss
            try:
                track(self._server, self._seen, self._stop, Deadline.after(_LOOK_S, self._clock))
            except RunnerError:
                self._stop.wait(AGAIN_S)

    def _seen(self, listed: list[SeenPhone]) -> None:
        now = {self._phones[one.serial] for one in listed if one.state == "device" and one.serial in self._phones}
        gone = sorted(set(self._there) - now)
        self._there = now
        with self._lock:
            for phone in now:
                self._siblings.back(phone)
            incidents = [self._siblings.lost(phone, self._clock.monotonic_s()) for phone in gone]
        if any(incidents):
            timer = threading.Timer(TOGETHER_S + 0.1, lambda: self._tell_over(self._clock.monotonic_s()))
            timer.daemon = True
            self._timers = [*(one for one in self._timers if one.is_alive()), timer]
            timer.start()

    def _tell_over(self, now_s: float) -> None:
        with self._lock:
            over = self._siblings.over(now_s)
        for incident in over:
            self._tell(incident)
