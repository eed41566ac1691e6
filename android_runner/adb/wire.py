"""A byte stream to the adb server with wall-clock deadlines.

Socket timeouts in Python are per call, so each call gets what is left of the deadline. `TCP_QUICKACK` does not
stick and is set before every receive: without it the second packet of an answer waits 40 ms for our delayed ACK.
"""

from __future__ import annotations

import select
import socket

from android_runner.adb.translate import translated
from android_runner.deadline import Deadline
from android_runner.errors import LinkLost

RECV_BYTES = 256 * 1024
_COMPACT_BYTES = 1024 * 1024
_QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)


class Stream:
    """One connection to the adb server, buffered for reading; every call ends by its deadline.

    Raises `LinkLost` when the peer closes or resets, `DeadlinePassed` when time is up.
    """

    def __init__(self, connection: socket.socket, serial: str) -> None:
        self._socket = connection
        self._serial = serial
        self._buffer = bytearray()
        self._taken = 0
        self.received_bytes = 0
        with translated(serial, "set up the connection"):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        """Close at once, whatever was not yet read."""
        self._socket.close()

    def send(self, data: bytes | bytearray | memoryview, deadline: Deadline) -> None:
        """Send all of `data`."""
        deadline.check(f"{self._serial}: send")
        with translated(self._serial, "send"):
            self._socket.settimeout(deadline.remaining_s())
            self._socket.sendall(data)

    def send_available(self, data: memoryview) -> int:
        """Send what fits without waiting; the number of bytes sent."""
        with translated(self._serial, "send"):
            self._socket.settimeout(0.0)
            try:
                return self._socket.send(data)
            except BlockingIOError:
                return 0

    def wait(self, deadline: Deadline, *, write: bool) -> None:
        """Wait until something can be read (or written, if asked for)."""
        deadline.check(f"{self._serial}: wait")
        with translated(self._serial, "wait"):
            poll = select.poll()
            poll.register(self._socket, select.POLLIN | (select.POLLOUT if write else 0))
            poll.poll(deadline.remaining_s() * 1000 + 1)

    def readable(self) -> bool:
        """Whether something can be read now, the end included."""
        if len(self._buffer) > self._taken:
            return True
        with translated(self._serial, "look"):
            poll = select.poll()
            poll.register(self._socket, select.POLLIN)
            return bool(poll.poll(0))

    def some(self, deadline: Deadline) -> bytes:
        """What has arrived, at least one byte; empty at the end of the stream."""
        if len(self._buffer) > self._taken:
            data = bytes(memoryview(self._buffer)[self._taken :])
            self._buffer.clear()
            self._taken = 0
            return data
        return self._receive(deadline)

    def exactly(self, count_bytes: int, deadline: Deadline) -> bytes:
        """The next `count_bytes` bytes; `LinkLost` when the stream ends before."""
        while len(self._buffer) - self._taken < count_bytes:
            if self._taken > _COMPACT_BYTES:
                del self._buffer[: self._taken]
                self._taken = 0
            data = self._receive(deadline)
            if not data:
                raise LinkLost(f"{self._serial}: the stream ended before its answer did")
            self._buffer += data
        with memoryview(self._buffer) as view:
            wanted = bytes(view[self._taken : self._taken + count_bytes])
        self._taken += count_bytes
        if self._taken == len(self._buffer):
            self._buffer.clear()
            self._taken = 0
        return wanted

    def _receive(self, deadline: Deadline) -> bytes:
        deadline.check(f"{self._serial}: receive")
        with translated(self._serial, "receive"):
            if _QUICKACK is not None:
                self._socket.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)
            self._socket.settimeout(deadline.remaining_s())
            data = self._socket.recv(RECV_BYTES)
        self.received_bytes += len(data)
        return data
