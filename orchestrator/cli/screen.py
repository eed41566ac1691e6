"""The terminal: colour or not, and a few lines at its end that are drawn again and again below all other text."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Sequence
from typing import TextIO

UNKNOWN_SIZE = (80, 24)
_ERASE_BELOW = "\x1b[J"


def wants_colour() -> bool:
    """Colour on stdout: on a terminal, unless `NO_COLOR` says otherwise (no-color.org: set and not empty)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


class Screen:
    """Lines below all else on the terminal behind a descriptor. Whatever is written meanwhile must come through `say`.

    Signal handlers may call it while it draws: what they say comes after what is being drawn.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._shown: tuple[str, ...] = ()
        self._waiting: deque[str | None] = deque()
        self._wanted: tuple[str, ...] = ()
        self._drawing = False

    def size(self) -> tuple[int, int]:
        """Columns and rows as they are now; 80 by 24 where the terminal doesn't know."""
        try:
            columns, rows = os.get_terminal_size(self._descriptor)
        except OSError:
            return UNKNOWN_SIZE
        return (columns, rows) if columns > 0 and rows > 0 else UNKNOWN_SIZE

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines instead of the present ones. None may be wider than the terminal."""
        self._wanted = tuple(lines)
        self._waiting.append(None)
        self._work()

    def say(self, text: str) -> None:
        """Write text, whole lines, above the lines."""
        self._waiting.append(text)
        self._work()

    def _work(self) -> None:
        if self._drawing:
            return
        self._drawing = True
        try:
            while self._waiting:
                text = self._waiting.popleft() or ""
                up = f"\x1b[{len(self._shown)}A\r{_ERASE_BELOW}" if self._shown else ""
                self._shown = self._wanted
                self._write(up + text + "".join(f"{line}\n" for line in self._shown))
        finally:
            self._drawing = False

    def _write(self, text: str) -> None:
        left = text.encode("utf-8", errors="backslashreplace")
        while left:
            left = left[os.write(self._descriptor, left) :]


class Above:
    """Stands in for `sys.stderr` while a screen is up: whole lines go above the screen's."""

    def __init__(self, screen: Screen, stream: TextIO) -> None:
        self._screen = screen
        self._stream = stream
        self._begun = ""

    def write(self, text: str) -> int:
        """Take text; what has no line's end yet is kept until it has one."""
        whole, end, rest = (self._begun + text).rpartition("\n")
        self._begun = rest
        if end:
            self._screen.say(whole + end)
        return len(text)

    def flush(self) -> None:
        """Nothing is kept back but the beginning of a line."""

    def finish(self) -> TextIO:
        """Write what was kept back; the stream that this stood in for."""
        if self._begun:
            self._screen.say(self._begun + "\n")
        self._begun = ""
        return self._stream

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
