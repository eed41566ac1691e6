"""What faults do to a phone beyond its files: to its transports, processes and power, and to the host's adb server.

A virtual phone hangs on the server by TCP, where only whoever connects it brings it back. A cable does that by itself:
so does a phone with a schedule, a moment after it was lost.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Collection, Coroutine
from contextlib import suppress
from typing import Protocol

from android_runner.virtual.child import Spawn
from android_runner.virtual.link import Link
from android_runner.virtual.packets import DELAYED_ACK_WINDOW_BYTES, Command, encode
from android_runner.virtual.processes import kill_with_environment
from android_runner.virtual.server import living_server
from android_runner.virtual.state import Places

_PLUG_S = 0.15
_PLUG_TRIES = 40
_INSIDE_S = 20.0
_ANSWER_S = 5.0


class Switches(Protocol):
    """A phone, as seen from what goes wrong with it."""

    @property
    def links(self) -> Collection[Link]:
        """Its transports."""
        ...

    @property
    def port(self) -> int:
        """Where it listens."""
        ...

    @property
    def listens(self) -> bool:
        """Whether it takes connections now."""
        ...

    @property
    def mark(self) -> str:
        """What its processes have in their environment where it is not confined; empty where it is."""
        ...

    async def reboot(self, down_s: float = ...) -> None:
        """Restart it."""
        ...

    def spawn(self) -> Spawn:
        """How its shell is started."""
        ...


class PhoneBody:
    """`fault_life.Body` of a phone."""

    def __init__(self, places: Places, phone: Switches) -> None:
        self._places = places
        self._phone = phone
        self._tasks: set[asyncio.Task[None]] = set()
        self._plugging = False

    def drop_links(self) -> None:
        """End every transport."""
        for link in list(self._phone.links):
            link.drop()

    def plug_in(self) -> None:
        """Have the host's adb server see the phone again, soon; once for all who ask meanwhile."""
        if not self._plugging:
            self._plugging = True
            self._soon(self._plug_in())

    def send_rogue_open(self) -> None:
        """Open a stream to the host, which no phone may: the server ends with `LOG(FATAL)` (adb.cpp)."""
        for link in list(self._phone.links):
            window_bytes = DELAYED_ACK_WINDOW_BYTES if link.delayed_ack else 0
            link.write(encode(Command.OPEN, 1, window_bytes, b"tcp:1\0"))

    def kill_server(self) -> None:
        """End the home's adb server as by its own fault."""
        server = living_server(self._places)
        if server is not None:
            server.process.send(signal.SIGKILL)

    def restart(self, down_s: float, *, after_s: float = 0.0) -> None:
        """Go off `after_s` from now, and boot `down_s` after that."""

        async def soon() -> None:
            await asyncio.sleep(after_s)
            await self._phone.reboot(down_s)

        self._soon(soon())

    async def run_inside(self, command: str) -> None:
        """Run a command in the phone's shell, to its end; one that hangs is ended."""
        spawn = self._phone.spawn()
        process = await asyncio.create_subprocess_exec(
            *spawn.argv, "-c", command, env=dict(spawn.env), cwd=spawn.cwd, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            await asyncio.wait_for(process.wait(), _INSIDE_S)
        except TimeoutError:
            process.kill()
            await process.wait()

    async def kill_all(self) -> None:
        """End every process that the shell user has, but the phone's init."""
        if mark := self._phone.mark:
            await asyncio.to_thread(kill_with_environment, mark)
        else:
            await self.run_inside("kill -KILL -1")

    def _soon(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _plug_in(self) -> None:
        """Connect to the server that lives; a few times, since it may still hold the lost transport, or be gone."""
        try:
            for _ in range(_PLUG_TRIES):
                await asyncio.sleep(_PLUG_S)
                server = living_server(self._places)
                if server is None or not self._phone.listens or any(link.is_in for link in self._phone.links):
                    return
                with suppress(OSError, asyncio.IncompleteReadError, ValueError, TimeoutError):
                    await asyncio.wait_for(self._connect(server.port), _ANSWER_S)
                    return
        finally:
            self._plugging = False

    async def _connect(self, server_port: int) -> None:
        """As `server.connect_phone`, but so that a phone that goes off meanwhile waits for nobody."""
        address = f"127.0.0.1:{self._phone.port}"
        if f"{address}\t" in await _ask(server_port, "host:devices"):
            await _ask(server_port, f"host:disconnect:{address}")
        await _ask(server_port, f"host:connect:{address}")


async def _ask(port: int, request: str) -> str:
    """One `host:` request and its text, OKAY or not. Raises OSError, ValueError, IncompleteReadError."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"{len(request):04x}{request}".encode())
        await reader.readexactly(4)
        size = int(await reader.readexactly(4), 16)
        return (await reader.readexactly(size)).decode("utf-8", errors="replace")
    finally:
        writer.close()
