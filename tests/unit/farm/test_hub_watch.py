"""The watch over an adb server's list: siblings that go are told, a server that goes is not."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue

import pytest

from android_runner.adb.server import AdbServer
from android_runner.deadline import SystemClock
from orchestrator.farm.hub_watch import HubWatch
from orchestrator.farm.siblings import HubIncident, Siblings

PATHS = {"B3": "1-1.3", "B4": "1-1.4", "C1": "1-3"}
SERIALS = {f"s-{phone}": phone for phone in PATHS}


class ByHand(SystemClock):
    """The machine's clock, which a test puts forward."""

    at_s = 0.0

    def monotonic_s(self) -> float:
        """Seconds."""
        return super().monotonic_s() + self.at_s


def until(holds: Callable[[], bool]) -> bool:
    """Wait for something; whether it came."""
    end_s = time.monotonic() + 10.0
    while not holds() and time.monotonic() < end_s:
        time.sleep(0.002)
    return holds()


class TellingServer:
    """Answers `host:track-devices-l` with the lists that it is given."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.server = AdbServer(port=self._listener.getsockname()[1])
        self._streams: SimpleQueue[socket.socket] = SimpleQueue()
        self._stream: socket.socket | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            length = int(stream.recv(4, socket.MSG_WAITALL), 16)
            assert stream.recv(length, socket.MSG_WAITALL) == b"host:track-devices-l"
            stream.sendall(b"OKAY")
            self._streams.put(stream)

    def tell(self, *phones: str, state: str = "device") -> None:
        """The list is now this."""
        if self._stream is None:
            self._stream = self._streams.get(timeout=10)
        text = "".join(f"s-{one}  {state} usb:{PATHS[one]} transport_id:1\n" for one in phones).encode()
        self._stream.sendall(b"%04x" % len(text) + text)

    def drop(self) -> None:
        """The server dies; what comes next is a new one."""
        assert self._stream is not None
        self._stream.close()
        self._stream = None

    def close(self) -> None:
        self._listener.close()
        if self._stream is not None:
            self._stream.close()


@pytest.fixture
def adb() -> Iterator[TellingServer]:
    made = TellingServer()
    yield made
    made.close()


def test_siblings_that_go_are_told_and_a_servers_death_is_not(adb: TellingServer) -> None:
    told: SimpleQueue[HubIncident] = SimpleQueue()
    clock = ByHand()
    with HubWatch(adb.server, SERIALS, Siblings(PATHS), told.put, clock) as watch:
        adb.tell("B3", "B4", "C1")
        adb.drop()
        adb.tell()
        adb.tell("B3", "B4", "C1")
        adb.tell("B3", "B4")
        adb.tell("B3", "B4", "C1")
        adb.tell("C1")
        assert until(lambda: watch.blames_hub("B3"))
        assert not watch.blames_hub("C1")
        adb.tell("B3", "B4", "C1")
        assert until(lambda: not watch.blames_hub("B4"))
        clock.at_s += 60.0
        adb.tell("B3", "B4", "C1", state="offline")
        assert until(lambda: watch.blames_hub("C1"))
    first, second = told.get(timeout=10), told.get(timeout=10)
    assert (first.hub, first.phones) == ("1-1", ("B3", "B4"))
    assert (second.hub, second.phones) == ("usb1", ("B3", "B4", "C1"))
    assert told.empty()


def test_where_nobody_shares_a_hub_the_server_is_not_asked() -> None:
    told: SimpleQueue[HubIncident] = SimpleQueue()
    nobody = AdbServer(port=9)
    with HubWatch(nobody, SERIALS, Siblings({"B3": "1-1.3"}), told.put, SystemClock()):
        pass
    assert told.empty()
