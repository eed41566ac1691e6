"""The pace of a hot virtual phone: what runs here takes as much longer as its clocks are lower and others busy.

The phone's daemon keeps the share of its full speed that a perf_test has in a file, in ten-thousandths. It is looked at
anew when it is `_LOOK_EVERY_NS` old: much oftener than it changes. A phone without a scenario has no such file, and
nothing here happens on it.
"""

from __future__ import annotations

import ctypes
import os
from time import perf_counter_ns, sleep

_LOOK_EVERY_NS = 5_000_000
_FULL = 10_000
_SPIN_NS = 2_000_000
"""What is left of a wait is spun through: a sleep ends tens of microseconds late, and threads of the session that had
gone to sleep meanwhile would make the next inference slower than clocks do."""


class Pace:
    """The phone's pace from its file; raises `OSError` where it can't be read."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._parts = _FULL
        self._looked_ns = -_LOOK_EVERY_NS

    def stretch(self, start_ns: int) -> None:
        """Wait until what has begun at `start_ns` and is done now has taken its time at this pace."""
        now_ns = perf_counter_ns()
        if now_ns - self._looked_ns >= _LOOK_EVERY_NS:
            self._looked_ns = now_ns
            text = os.pread(self._descriptor, 16, 0).strip()
            if text.isdigit():
                self._parts = min(_FULL, max(1, int(text)))
        if self._parts == _FULL:
            return
        until_ns = start_ns + (now_ns - start_ns) * _FULL // self._parts
        while (left_ns := until_ns - now_ns) > 0:
            if left_ns > _SPIN_NS:
                sleep((left_ns - _SPIN_NS) / 1e9)
            now_ns = perf_counter_ns()


class Slowed:
    """A function of onnxruntime's that takes as long as the phone's pace makes it take."""

    def __init__(self, function: ctypes._CFunctionType | Slowed, pace: Pace) -> None:
        self._function = function
        self._pace = pace

    def __call__(self, *arguments: object) -> int:
        """As the function itself."""
        start_ns = perf_counter_ns()
        status: int = self._function(*arguments)
        self._pace.stretch(start_ns)
        return status
