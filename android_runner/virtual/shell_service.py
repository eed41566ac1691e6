"""`shell:` v1, `shell,v2…:` and `exec:`: a command in the phone's shell, its streams carried as adbd carries them.

The stream lasts until both outputs are at their end (a child left behind can hold it). Source: AOSP
`daemon/shell_service.cpp`.
"""

from __future__ import annotations

import asyncio

from android_runner.virtual.child import Child, Spawn
from android_runner.virtual.fault_steps import Medium, step_of_shell
from android_runner.virtual.faults import DropKind, ShellExit
from android_runner.virtual.gathering import Output
from android_runner.virtual.session import Session
from android_runner.virtual.shell_packets import (
    CLOSE_STDIN,
    EXIT,
    MAX_PACKET_BYTES,
    PACKET,
    STDIN,
    STDOUT,
    WINDOW_SIZE,
    ShellRequest,
    frame,
    shortened,
)
from android_runner.virtual.stream import Stream, StreamClosed, StreamReader

_NOISE = b"\x1b]0;orch\x07\x1b[2J\xff\xfe\xc3\x28WARNING: linker: unused DT entry\r\n"
"""What hostile or merely talkative phones put around a command's output."""


class ShellService:
    """One command, from its start to its exit code."""

    def __init__(self, session: Session, request: ShellRequest, spawn: Spawn) -> None:
        self._session = session
        self._stream: Stream = session.stream
        self._request = request
        self._spawn = spawn
        self._left_bytes: int | None = None

    async def run(self) -> None:
        """Run the command; return when its end has been told, or raise `StreamClosed`."""
        await self._session.begin(step_of_shell(self._request.command), Medium.SHELL)
        self._left_bytes = self._session.plan.output_bytes
        if self._session.plan.endless_output:
            await self._endless()
        output = Output()
        child = Child(self._request, self._spawn, output)

        def hang_up() -> None:
            child.hang_up()
            output.abandon()

        self._stream.on_close = hang_up
        feeder = asyncio.ensure_future(self._feed_stdin(child))
        try:
            last = await self._pump(output)
            await self._send_end(last, await child.exit_code())
        finally:
            self._stream.on_close = None
            feeder.cancel()
            await asyncio.wait([feeder])
            output.abandon()
            child.close()
            await child.exit_code()

    # --- output ----------------------------------------------------------------------------------------------

    async def _pump(self, output: Output) -> bytearray:
        """Send all output but the last, which goes with the exit code."""
        await self._noise()
        while True:
            data = await output.next(self._request.v2)
            if self._stream.is_closed:
                raise StreamClosed
            if self._left_bytes is not None:
                data, self._left_bytes = shortened(data, self._left_bytes, framed=self._request.v2)
            if output.at_end:
                return data
            await self._send(data)

    async def _noise(self) -> None:
        if self._session.plan.noise:
            await self._send(frame(STDOUT, _NOISE) if self._request.v2 else _NOISE)

    async def _send(self, data: bytes | bytearray) -> None:
        await self._session.send(DropKind.SHELL, data)

    async def _send_end(self, last: bytearray, code: int) -> None:
        if last and self._session.plan.noise:
            await self._send(last)
            await self._noise()
            last = bytearray()
        fault = self._session.plan.shell_exit
        if self._request.v2 and fault is not ShellExit.MISSING:
            shown = {ShellExit.WRONG: (code + 1) % 256, ShellExit.LOST: 255, None: code}[fault]
            last += frame(EXIT, bytes([shown]))
        if last:
            await self._send(last)

    async def _endless(self) -> None:
        block = b"y\n" * 32768
        packet = frame(STDOUT, block) if self._request.v2 else block
        while True:
            await self._stream.send(packet)
            await asyncio.sleep(0)

    # --- input -----------------------------------------------------------------------------------------------

    async def _feed_stdin(self, child: Child) -> None:
        try:
            if self._request.v2:
                await self._feed_packets(child)
            else:
                while True:
                    await child.write(memoryview(await self._stream.receive()))
        except (StreamClosed, OSError):
            return

    async def _feed_packets(self, child: Child) -> None:
        reader = StreamReader(self._stream)
        while True:
            kind, length = PACKET.unpack(await reader.exactly(PACKET.size))
            if length > MAX_PACKET_BYTES:
                self._session.drop_transport()
                return
            data = await reader.exactly(length)
            if kind == STDIN:
                await child.write(memoryview(data))
            elif kind == CLOSE_STDIN:
                child.close_stdin()
            elif kind == WINDOW_SIZE:
                child.resize(data)
