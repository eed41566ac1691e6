"""The lines that are drawn again and again stay whole, and last, whatever is said above them."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import sys
import termios
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.cli.screen import Above, Screen

WORDS = st.text("abc ×°", max_size=20)
STEPS = st.lists(st.tuples(st.sampled_from(["draw", "say"]), st.lists(WORDS, max_size=5)), max_size=12)


class Terminal:
    """A terminal of our own behind a pair of descriptors, that knows the few controls a screen uses."""

    def __init__(self) -> None:
        self.outer, self.inner = os.openpty()
        modes = termios.tcgetattr(self.inner)
        modes[1] &= ~termios.OPOST
        termios.tcsetattr(self.inner, termios.TCSANOW, modes)
        os.set_blocking(self.outer, False)
        self.rows = [""]
        self.at = 0

    def seen(self) -> list[str]:
        """What stands on it, after all that was written so far."""
        raw = b""
        while True:
            try:
                raw += os.read(self.outer, 1 << 16)
            except BlockingIOError:
                break
        for control, text in re.findall(r"(\x1b\[\d*[A-Z]|\r|\n)|([^\x1b\r\n]+)", raw.decode()):
            self._take(control, text)
        return self.rows[:-1] if not self.rows[-1] else self.rows

    def _take(self, control: str, text: str) -> None:
        if control == "\n":
            self.at += 1
            self.rows += [""] * (self.at - len(self.rows) + 1)
        elif control.endswith("A"):
            self.at -= int(control[2:-1])
            assert self.at >= 0, "above the first line"
        elif control == "\x1b[J":
            del self.rows[self.at + 1 :]
            self.rows[self.at] = ""
        else:
            assert control in ("", "\r")
            self.rows[self.at] += text

    def close(self) -> None:
        os.close(self.outer)
        os.close(self.inner)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_what_is_said_stays_and_what_is_drawn_stands_below_it(steps: list[tuple[str, list[str]]]) -> None:
    terminal = Terminal()
    screen = Screen(terminal.inner)
    said: list[str] = []
    drawn: list[str] = []
    for what, lines in steps:
        if what == "draw":
            drawn = lines
            screen.draw(lines)
        else:
            said += lines
            screen.say("".join(f"{line}\n" for line in lines))
        assert [line for line in terminal.seen() if line] == [line for line in [*said, *drawn] if line]
    screen.draw([])
    assert [line for line in terminal.seen() if line] == [line for line in said if line]
    terminal.close()


def test_the_size_is_the_terminal_s_and_80_by_24_where_it_has_none(terminal: Terminal) -> None:
    screen = Screen(terminal.inner)
    assert screen.size() == (80, 24)
    fcntl.ioctl(terminal.inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 132, 0, 0))
    assert screen.size() == (132, 40)
    reading, writing = os.pipe()
    assert Screen(writing).size() == (80, 24)
    os.close(reading)
    os.close(writing)


def test_a_stream_above_keeps_the_beginning_of_a_line_until_it_ends(terminal: Terminal) -> None:
    screen = Screen(terminal.inner)
    screen.draw(["head", "lane"])
    above = Above(screen, sys.stderr)
    assert above.write("one\ntw") == 6
    assert terminal.seen() == ["one", "head", "lane"]
    above.write("o\n")
    assert terminal.seen() == ["one", "two", "head", "lane"]
    above.write("no end")
    screen.draw([])
    assert above.finish() is sys.stderr
    assert terminal.seen() == ["one", "two", "no end"]
