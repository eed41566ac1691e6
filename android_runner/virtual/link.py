"""One host's connection to one phone: handshake, authentication, and the routing of packets to streams."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from android_runner.virtual.auth import BadKey, PublicKey, new_token, read_public_key, signature_fits
from android_runner.virtual.faults import ConnectFault, FaultPlan
from android_runner.virtual.packets import (
    HEADER,
    MAX_PAYLOAD_BYTES,
    VERSION,
    AuthKind,
    BrokenPacket,
    Command,
    Header,
    decode_header,
    encode,
    features_of,
)
from android_runner.virtual.stream import Stream, StreamClosed

FEATURES = ("shell_v2", "stat_v2", "ls_v2", "sendrecv_v2", "delayed_ack")
_MAX_STREAMS = 512


class Host(Protocol):
    """What a link asks of the phone that it belongs to."""

    def banner_properties(self) -> str:
        """`ro.product.name=…;ro.product.model=…;ro.product.device=…`."""
        ...

    def connecting(self) -> FaultPlan:
        """A host says CNXN: what goes wrong with that."""
        ...

    def start_service(self, name: str, stream: Stream, link: Link) -> bool:
        """Start the service in a task of its own; False where there is no such service."""
        ...


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A packet whose payload is still arriving."""

    header: Header
    stream: Stream | None


class Link(asyncio.Protocol):
    """The device end of one transport."""

    def __init__(self, host: Host, key_file: Path, on_lost: Callable[[Link], None]) -> None:
        self._host = host
        self._key_file = key_file
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._header = bytearray()
        self._payload = bytearray()
        self._waiting: _Waiting | None = None
        self._missing = 0
        self._token = b""
        self._authenticated = False
        self._refuses_key = False
        self._state = "device"
        self._streams: dict[int, Stream] = {}
        self._last_id = 0
        self._drain = asyncio.Event()
        self._drain.set()
        self.delayed_ack = False

    # --- asyncio ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.max_size = 1024 * 1024  # type: ignore[attr-defined] # bytes a recv may bring
        transport.set_write_buffer_limits(high=MAX_PAYLOAD_BYTES)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def connection_lost(self, exc: Exception | None) -> None:
        """The host, the network or we ended it."""
        self._transport = None
        self._drain.set()
        for stream in list(self._streams.values()):
            stream.closed_by_host()
        self._streams.clear()
        self._on_lost(self)

    def pause_writing(self) -> None:
        """The socket's buffer is full."""
        self._drain.clear()

    def resume_writing(self) -> None:
        """The socket takes more."""
        self._drain.set()

    def data_received(self, data: bytes) -> None:
        """Cut what arrived into packets; a stream's data is handed on in the pieces in which it came."""
        view = memoryview(data)
        try:
            while len(view) > 0 and self._transport is not None:
                view = self._take_payload(view) if self._waiting else self._take_header(view)
        except BrokenPacket:
            self.drop()

    # --- for streams and the phone ---------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether a stream is open."""
        return bool(self._streams)

    @property
    def is_in(self) -> bool:
        """Whether it is a transport: connected and authenticated."""
        return self._authenticated and self._transport is not None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Hand bytes to the socket, if there still is one."""
        if self._transport is not None:
            self._transport.write(data)

    async def drained(self) -> None:
        """Wait until the socket takes more; raise `StreamClosed` when it is gone."""
        if not self._drain.is_set():
            await self._drain.wait()
        if self._transport is None:
            raise StreamClosed

    def drop(self) -> None:
        """End the transport at once, whatever is still unsent."""
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
            self._drain.set()

    def forget(self, stream: Stream) -> None:
        """The service of `stream` has ended."""
        self._streams.pop(stream.local_id, None)
        stream.finish()

    # --- packets ---------------------------------------------------------------------------------------------

    def _take_header(self, view: memoryview) -> memoryview:
        if self._header or len(view) < HEADER.size:
            need = HEADER.size - len(self._header)
            self._header += view[:need]
            view = view[need:]
            if len(self._header) < HEADER.size:
                return view
            header = decode_header(bytes(self._header))
            self._header.clear()
        else:
            header = decode_header(view[: HEADER.size])
            view = view[HEADER.size :]
        self._begin(header)
        return view

    def _begin(self, header: Header) -> None:
        if not self._authenticated and header.command not in (Command.CNXN, Command.AUTH):
            raise BrokenPacket(f"{header.command.name} before authentication")
        if header.length == 0:
            if header.command is not Command.WRTE:
                self._handle(header, b"")
            return
        stream = self._streams.get(header.arg1) if header.command is Command.WRTE else None
        self._waiting = _Waiting(header, stream)
        self._missing = header.length

    def _take_payload(self, view: memoryview) -> memoryview:
        waiting = self._waiting
        assert waiting is not None
        part, rest = view[: self._missing], view[self._missing :]
        self._missing -= len(part)
        whole = self._missing == 0
        if whole:
            self._waiting = None
        if waiting.header.command is Command.WRTE:
            if waiting.stream is not None:
                waiting.stream.feed(part, waiting.header.length if whole else 0)
            return rest
        self._payload += part
        if whole:
            payload = bytes(self._payload)
            self._payload.clear()
            self._handle(waiting.header, payload)
        return rest

    def _handle(self, header: Header, payload: bytes) -> None:
        match header.command:
            case Command.CNXN:
                self._connect(payload)
            case Command.AUTH:
                self._check_signature(header, payload)
            case Command.OPEN:
                self._open(header, payload)
            case Command.OKAY:
                stream = self._streams.get(header.arg1)
                if stream is not None:
                    stream.acknowledged(payload)
            case Command.CLSE:
                stream = self._streams.pop(header.arg1, None)
                if stream is not None:
                    stream.closed_by_host()
            case Command.WRTE:
                pass

    # --- handshake -------------------------------------------------------------------------------------------

    def _connect(self, banner: bytes) -> None:
        self._authenticated = False
        plan = self._host.connecting()
        if plan.cut_after_bytes is not None:
            self.drop()
        if plan.connect is ConnectFault.OFFLINE:
            self.write(b"\xff" * HEADER.size)
        if self._transport is None or plan.connect in (ConnectFault.OFFLINE, ConnectFault.SILENT):
            return
        self._refuses_key = plan.connect is ConnectFault.UNAUTHORIZED
        self._state = plan.banner.value if plan.banner is not None else "device"
        self.delayed_ack = "delayed_ack" in features_of(banner)
        self._challenge()

    def _challenge(self) -> None:
        self._token = new_token()
        self.write(encode(Command.AUTH, AuthKind.TOKEN, 0, self._token))

    def _check_signature(self, header: Header, payload: bytes) -> None:
        if header.arg0 != AuthKind.SIGNATURE or not self._token:
            return
        token, self._token = self._token, b""
        key = self._allowed_key()
        if key is None or not signature_fits(key, token, payload):
            self._challenge()
            return
        self._authenticated = True
        banner = f"{self._state}::{self._host.banner_properties()};features={','.join(FEATURES)}"
        self.write(encode(Command.CNXN, VERSION, MAX_PAYLOAD_BYTES, banner.encode()))

    def _allowed_key(self) -> PublicKey | None:
        if self._refuses_key:
            return None
        try:
            return read_public_key(self._key_file.read_text(encoding="utf-8"))
        except (OSError, BadKey):
            return None

    # --- streams ---------------------------------------------------------------------------------------------

    def _open(self, header: Header, payload: bytes) -> None:
        name = payload.partition(b"\0")[0].decode("utf-8", errors="surrogateescape")
        if header.arg0 == 0:
            return
        self._last_id += 1
        stream = Stream(self, self._last_id, header.arg0, header.arg1)
        self._streams[stream.local_id] = stream
        if len(self._streams) > _MAX_STREAMS or not self._host.start_service(name, stream, self):
            del self._streams[stream.local_id]
            self.write(encode(Command.CLSE, 0, header.arg0))
