"""One adb stream between the host and a service on the phone, with the protocol's flow control.

Without `delayed_ack` one WRTE may be on its way in each direction until its OKAY; with it each side may send while its
window is above zero, and every OKAY carries the number of bytes it takes back (AOSP `sockets.cpp`).
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Callable
from typing import Protocol

from android_runner.virtual.packets import (
    DELAYED_ACK_WINDOW_BYTES,
    MAX_PAYLOAD_BYTES,
    Command,
    encode,
    header_bytes,
)

_ACK = struct.Struct("<i")
_ACK_BATCH_BYTES = 256 * 1024


class StreamClosed(Exception):
    """The host closed the stream, or the transport is gone."""


class Wire(Protocol):
    """What a stream needs of its link."""

    delayed_ack: bool

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Hand bytes to the socket."""
        ...

    async def drained(self) -> None:
        """Wait until the socket takes more; raise `StreamClosed` when it is gone."""
        ...


class Stream:
    """A service's end of one stream. `remote_id` is the host's number, `local_id` ours."""

    def __init__(self, wire: Wire, local_id: int, remote_id: int, send_window_bytes: int) -> None:
        self.local_id = local_id
        self.remote_id = remote_id
        self._wire = wire
        self._window = send_window_bytes if wire.delayed_ack else 1
        self._incoming: deque[tuple[bytes | memoryview, int]] = deque()
        self._unacked = 0
        self._changed = asyncio.Event()
        self._closed = False
        self.on_close: Callable[[], None] | None = None

    # --- from the link -----------------------------------------------------------------------------------------

    def accept(self) -> None:
        """Answer the host's OPEN."""
        self._wire.write(self._okay(DELAYED_ACK_WINDOW_BYTES))

    def feed(self, fragment: memoryview, ack_bytes: int) -> None:
        """Take a part of a WRTE's payload; `ack_bytes` is the whole payload's size with the last part, else 0."""
        self._incoming.append((fragment, ack_bytes))
        self._changed.set()

    def acknowledged(self, payload: bytes) -> None:
        """Take the host's OKAY."""
        if not self._wire.delayed_ack:
            self._window = 1
        elif len(payload) == _ACK.size:
            self._window += _ACK.unpack(payload)[0]
        self._changed.set()

    def closed_by_host(self) -> None:
        """Take the host's CLSE, or the end of the transport."""
        self._closed = True
        self._changed.set()
        if self.on_close is not None:
            self.on_close()

    # --- for the service ---------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Whether the host has gone away."""
        return self._closed

    def has_data(self) -> bool:
        """Whether `receive` needs no waiting."""
        return bool(self._incoming)

    async def receive(self) -> bytes | memoryview:
        """The next bytes from the host; raise `StreamClosed` at the end."""
        while not self._incoming:
            self._flush_ack()
            if self._closed:
                raise StreamClosed
            await self._wait()
        fragment, ack_bytes = self._incoming.popleft()
        self._unacked += ack_bytes
        if ack_bytes and (not self._wire.delayed_ack or self._unacked >= _ACK_BATCH_BYTES):
            self._flush_ack()
        return fragment

    async def send(self, data: bytes | bytearray | memoryview) -> None:
        """Send all of `data`, as few packets as the peer's bound allows; raise `StreamClosed`."""
        view = memoryview(data)
        while len(view) > 0:
            part = view[:MAX_PAYLOAD_BYTES]
            await self.may_send()
            self._wire.write(self._header(len(part)))
            self._wire.write(part)
            self._sent(len(part))
            view = view[MAX_PAYLOAD_BYTES:]

    async def send_framed(self, packet: bytearray, used: int) -> None:
        """Send `packet[24:24+used]`, its first 24 bytes being room for the header: no copy is made."""
        await self.may_send()
        packet[:24] = self._header(used)
        self._wire.write(memoryview(packet)[: 24 + used])
        self._sent(used)

    async def gone(self) -> None:
        """Wait until the host has closed the stream, whatever it sends meanwhile."""
        while not self._closed:
            await self._wait()

    async def may_send(self) -> None:
        """Wait until the window is open."""
        while self._window <= 0:
            if self._closed:
                raise StreamClosed
            await self._wait()
        await self._wire.drained()
        if self._closed:
            raise StreamClosed

    def finish(self) -> None:
        """Tell the host that this end is done (nothing if the host was first)."""
        if not self._closed:
            self._closed = True
            self._wire.write(encode(Command.CLSE, self.local_id, self.remote_id))

    def _header(self, length: int) -> bytes:
        return header_bytes(Command.WRTE, self.local_id, self.remote_id, length)

    def _sent(self, length: int) -> None:
        self._window -= length if self._wire.delayed_ack else 1

    def _okay(self, acked_bytes: int) -> bytes:
        payload = _ACK.pack(acked_bytes) if self._wire.delayed_ack else b""
        return encode(Command.OKAY, self.local_id, self.remote_id, payload)

    def _flush_ack(self) -> None:
        if self._unacked and not self._closed:
            self._wire.write(self._okay(self._unacked))
        self._unacked = 0

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()


class StreamReader:
    """Exact reads over a stream's fragments."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._rest: memoryview = memoryview(b"")

    def has_data(self) -> bool:
        """Whether the next read needs no waiting."""
        return bool(self._rest) or self._stream.has_data()

    async def some(self, limit: int) -> memoryview:
        """Between 1 and `limit` bytes."""
        if not self._rest:
            self._rest = memoryview(await self._stream.receive())
        part, self._rest = self._rest[:limit], self._rest[limit:]
        return part

    async def exactly(self, count: int) -> bytes:
        """Exactly `count` bytes."""
        parts = []
        while count > 0:
            part = await self.some(count)
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
