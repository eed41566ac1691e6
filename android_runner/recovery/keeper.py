"""One adb server, kept: started again when it died, its network phones connected again, never killed unless our own.

adb servers die (one packet of a rogue phone is enough), and the next adb command of anybody starts an empty one. Both
are normal events here. A server that we started bears a mark in its environment; any other is somebody else's.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from threading import Condition, RLock

from android_runner.adb.discovery import ADDRESS_SHAPE, attached, connect
from android_runner.adb.server import OURS, PINNED, AdbServer, running
from android_runner.deadline import Clock, Deadline, SystemClock
from android_runner.errors import LinkError, RunnerError
from android_runner.host.listeners import listeners
from android_runner.host.processes import HostProcess, listening_on, lives, processes

ASK_S = 5.0
CONNECT_S = 10.0
REVIVE_S = 30.0
DRAIN_S = 120.0
"""How long transfers may take to end before the server is restarted under them all the same."""
STUCK_PHONES = 2
"""So many phones that hang at once behind one server make it the likelier cause."""
_END_S = 10.0
_POLL_S = 0.1


class ServerNews(StrEnum):
    """What happened to a server."""

    STARTED = "started again"
    REPLACED = "another one answers"
    RESTARTED = "restarted"
    LOST = "can't be started"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One of its events, in words for people; `phones`: network phones that were connected again."""

    news: ServerNews
    words: str
    phones: tuple[str, ...] = ()


def serving_on(port: int, root: Path) -> HostProcess | None:
    """The process behind a loopback port, as far as it may be seen."""
    found = listening_on(port, listeners(root), processes(root))
    return next((process for _, process in found if process is not None), None)


class Keeper:
    """The server of a run's phones; safe to use from several threads.

    `revive` brings a server up (on the same port, or another) and connects what only it knows; it raises `LinkError`.
    """

    def __init__(
        self,
        server: AdbServer,
        revive: Callable[[], AdbServer],
        clock: Clock | None = None,
        root: Path = Path("/"),
    ) -> None:
        self.clock = clock if clock is not None else SystemClock()
        self._server = server
        self._revive = revive
        self._root = root
        self._told: list[Callable[[ServerEvent], object]] = []
        self._addresses: set[str] = set()
        self._stuck: set[str] = set()
        self._process: HostProcess | None = None
        self._turn = RLock()
        self._traffic = Condition()
        self._transfers = 0
        self._draining = False
        self._lost = False

    @property
    def server(self) -> AdbServer:
        """The server as it is now: one that was started again may have another port."""
        return self._server

    def watch(
        self, serials: Collection[str], told: Callable[[ServerEvent], object], known: HostProcess | None = None
    ) -> None:
        """Remember who serves now, `known` or looked for; `told` hears of events, and network phones among `serials`
        are connected again."""
        self._told.append(told)
        self._addresses |= {one for one in serials if ADDRESS_SHAPE.fullmatch(one)}
        with self._turn:
            if self._process is None:
                self._process = known or serving_on(self._server.port, self._root)

    def own(self) -> bool:
        """Whether we started the server that answers now, with the environment that it needs; never another host's."""
        if self._server.of:
            return False
        serving = serving_on(self._server.port, self._root)
        env = serving.environ if serving is not None else None
        return env is not None and all(env.get(name) == value for name, value in {**PINNED, OURS: "1"}.items())

    def whose(self) -> str:
        """Who serves, for people: `pid 812 (nina), /usr/bin/adb`."""
        serving = serving_on(self._server.port, self._root)
        return serving.words() if serving is not None else "a process that this user may not see"

    def look_after(self) -> bool:
        """See that a server answers, after something went wrong; whether anything had to be done.

        Raises `LinkError` when none can be had: one that hangs, speaks another protocol, or does not start.
        """
        with self._turn:
            if self._process is not None and lives(self._process, self._root):
                return False  # it is not the server, or it hangs: that is for the ladder
            if running(self._server, Deadline.after(ASK_S, self.clock)):
                if self._process is None:
                    return False
                serving = serving_on(self._server.port, self._root)
                if serving is None:
                    self._process = None
                    return False
                self._tell(ServerNews.REPLACED, f"the adb server was {self._process.words()}; now {serving.words()}")
                return True
            self._start(ServerNews.STARTED, "the adb server had died")
            return True

    def _start(self, news: ServerNews, words: str) -> None:
        try:
            self._server = self._revive()
        except LinkError as error:
            self._process = None
            if not self._lost:  # it is looked for several times a second, for as long as it is away
                self._lost = True
                for told in self._told:
                    told(ServerEvent(ServerNews.LOST, f"{words}; {error}"))
            raise
        self._tell(news, words)

    def _tell(self, news: ServerNews, words: str) -> None:
        """A server is there: remember it, connect network phones again, tell."""
        self._lost = False
        self._process = serving_on(self._server.port, self._root)
        back = tuple(self._reconnected())
        for told in self._told:
            told(ServerEvent(news, f"{words}; port {self._server.port}", back))

    def _reconnected(self) -> Iterator[str]:
        """The network phones that a server has been told of again; each has its time, and fails alone."""
        with suppress(RunnerError):
            known = {str(one.serial) for one in attached(self._server, Deadline.after(ASK_S, self.clock))}
            for address in sorted(self._addresses - known):
                with suppress(RunnerError):
                    yield str(connect(self._server, address, Deadline.after(CONNECT_S, self.clock)))

    # --- a restart: our own server only, and only after draining ----------------------------------------------------

    @contextmanager
    def transfer(self) -> Iterator[None]:
        """Files go to or from a phone: a restart waits for this, and this for a restart."""
        with self._traffic:
            self._traffic.wait_for(lambda: not self._draining, DRAIN_S + REVIVE_S)
            self._transfers += 1
        try:
            yield
        finally:
            with self._traffic:
                self._transfers -= 1
                self._traffic.notify_all()

    @contextmanager
    def stuck(self, phone: str) -> Iterator[None]:
        """A phone hangs behind this server."""
        with self._turn:
            self._stuck.add(phone)
        try:
            yield
        finally:
            with self._turn:
                self._stuck.discard(phone)

    def to_blame(self, *, silent: bool) -> bool:
        """Whether a restart may help and is ours to do: our own server, silent or with several phones stuck behind."""
        return (silent or len(self._stuck) >= STUCK_PHONES) and self.own()

    def restart(self) -> str:
        """End our own server once no file is on its way, and start it again; what was done, in words.

        Raises `LinkError` when none comes up, ValueError when the server is not ours: it is left alone.
        """
        with self._traffic:
            self._draining = True
            self._traffic.wait_for(lambda: self._transfers == 0, DRAIN_S)
        try:
            with self._turn:
                serving = serving_on(self._server.port, self._root)
                if serving is None or not self.own():
                    raise ValueError("the adb server is not ours")
                self._end(serving)
                self._start(ServerNews.RESTARTED, f"{serving.words()} was ended")
                return f"the adb server was restarted (it was pid {serving.pid})"
        finally:
            with self._traffic:
                self._draining = False
                self._traffic.notify_all()

    def _end(self, serving: HostProcess) -> None:
        """End a server by signals, as it takes no `kill-server`."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if lives(serving, self._root):
                with suppress(ProcessLookupError):
                    os.kill(serving.pid, number)
            limit = Deadline.after(_END_S, self.clock)
            while lives(serving, self._root) and not limit.passed():
                self.clock.sleep(_POLL_S)
