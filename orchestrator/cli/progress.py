"""What is seen while a run lasts: a head line and a line a phone on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from orchestrator.app.so_far import SoFar
from orchestrator.cli.screen import Above, Screen
from orchestrator.farm.messages import BlockOutcome
from orchestrator.farm.protocol import EndTrial, Planned, Work
from orchestrator.report.lines import shown
from orchestrator.report.numbers import plural
from orchestrator.report.progress import RunProgress, lane_lines, progress_line
from orchestrator.store.records import RunContents

DRAW_EVERY_S = 0.25
"""A terminal is drawn anew at most this often."""
TELL_EVERY_S = 1.0
"""How the run stands is told to others at most this often."""
SAID_ROWS = 3
"""Rows that the view leaves to what is said while it stands."""
LINE_EVERY_S = 10.0
"""Without a terminal, how far the run is is said at most this often; a first answer is said at once."""


class Progress:
    """A `Watcher` that shows the run on stderr, from `begin` to `end`."""

    def __init__(self) -> None:
        self._so_far = SoFar()
        self._pushed_bytes = 0
        self._screen: Screen | None = None
        self._above: Above | None = None
        self._next_s = 0.0
        self._said = ""
        self._answered = False
        self._tell: Callable[[RunProgress], None] = lambda _: None
        self._tell_next_s = 0.0

    def begin(self, contents: RunContents, tell: Callable[[RunProgress], None] | None = None) -> None:
        """The run is about to start. On a terminal, stderr goes above the view from now on.

        `tell` is told how it stands about once a second, for who looks from elsewhere.
        """
        self._so_far.expect(contents)
        self._tell = tell or self._tell
        if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
            self._screen = Screen(sys.stderr.fileno())
            self._above = Above(self._screen, sys.stderr)
            sys.stderr = self._above

    def end(self) -> None:
        """Leave the terminal to what comes next."""
        if self._screen is not None and self._above is not None:
            self._screen.draw([])
            sys.stderr = self._above.finish()
            self._screen = self._above = None
        self._say(f"staged {self._pushed_bytes} bytes in all")

    # --- what the farm tells --------------------------------------------------------------------------------------

    def begun(self, still_open: Sequence[Planned]) -> None:
        """The lanes start, with these trials."""
        self._so_far.begun(still_open)
        self._changed()

    def block_given(self, phone: str, tasks: Mapping[str, Work]) -> None:
        """A phone was given a block."""
        self._so_far.block_given(phone, tasks, time.monotonic())
        self._changed()

    def staged(self, phone: str, pushed_bytes: int) -> None:
        """Bytes went to a phone."""
        self._pushed_bytes += pushed_bytes
        if pushed_bytes:
            self._say(f"staged {pushed_bytes / 1e6:.1f} MB on {shown(phone)}")

    def trial_seen(self, phone: str, task_id: str) -> None:
        """A phone said something new of a process."""
        self._so_far.trial_seen(phone, task_id, time.monotonic())
        self._changed()

    def block_stored(self, outcome: BlockOutcome) -> None:
        """A block's attempts are in the ledger."""
        self._so_far.block_stored(outcome)
        self._changed()

    def trial_ended(self, command: EndTrial) -> None:
        """A planned trial has its row."""
        self._so_far.trial_ended(command.trial, command.outcome, time.monotonic())
        self._changed()

    def trial_moved(self, trial: Planned, left: str) -> None:
        """A planned trial is asked of another phone."""
        self._so_far.trial_moved(trial, left)
        self._changed()

    def phone_taken(self, phone: str, why: str) -> None:
        """Somebody takes a phone out of the run."""
        self._so_far.waits(phone, why)
        self._say(f"{shown(phone)} is {shown(why)}: its trial is finished, the others there are skipped")

    def phone_shared(self, phone: str, other: str) -> None:
        """Another run has its turn on a phone."""
        self._so_far.waits(phone, f"turn of {other or 'another run'}")
        self._say(f"{shown(phone)}: it is the turn of {shown(other) or 'another run'}, ours comes after it")

    def phone_joined(self, contents: RunContents) -> None:
        """A phone came while the run lasts."""
        self._so_far.joined(contents)
        for one in contents.phones:
            self._say(f"{shown(one.label)} joins: {plural(len(contents.trials), 'trial')}")
        self._changed()

    def round_added(self, trials: Sequence[Planned]) -> None:
        """A search asks a phone for another round."""
        self._so_far.round_added(trials)
        self._changed()

    def phone_gone(self, phone: str, why: str) -> None:
        """A phone is given up."""
        self._so_far.phone_gone(phone, why)
        self._say(f"{shown(phone)} is lost: {shown(why)}")
        self._changed()

    def trouble(self, words: str) -> None:
        """Something befell a phone, an adb server or a hub, or was tried about it."""
        self._say(shown(words))

    def idle(self) -> None:
        """Nothing was heard for a while."""
        self._changed()

    def refuse(self, variant_id: str) -> None:
        """A variant is out of tolerance: it answers nothing. Safe from any thread."""
        self._so_far.refuse(variant_id)

    # --- what is shown --------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        """Show how the run stands, unless that was done just now."""
        now_s = time.monotonic()
        if now_s >= self._tell_next_s:
            self._tell_next_s = now_s + TELL_EVERY_S
            self._tell(self._so_far.view(now_s))
        if self._screen is not None:
            if now_s >= self._next_s:
                self._next_s = now_s + DRAW_EVERY_S
                self._screen.draw(view_lines(self._so_far.view(now_s), *self._screen.size()))
            return
        news = not self._answered and self._so_far.answer() != ""
        if news or now_s >= self._next_s:
            self._next_s = now_s + LINE_EVERY_S
            self._answered |= news
            view = self._so_far.view(now_s)
            if view.total:  # a search has not asked for anything yet
                self._say_once(progress_line(view, width=200, hint=""))

    def _say_once(self, line: str) -> None:
        if line != self._said:
            self._say(line)
        self._said = line

    def _say(self, line: str) -> None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def view_lines(view: RunProgress, columns: int, rows: int) -> list[str]:
    """The head and as many phones as there is room for, with what is said above still in sight.

    A terminal may wrap a line that fills it, so none does.
    """
    width = columns - 1
    room = max(0, rows - SAID_ROWS - 3)
    lanes = lane_lines(view.lanes[:room], width=width)
    hidden = len(view.lanes) - room
    more = [f"and {plural(hidden, 'more phone')}"] if hidden > 0 else []
    return [progress_line(view, width=width), *lanes, *more]
