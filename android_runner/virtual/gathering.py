"""Gathers what a command prints on one or two descriptors, so that last output and exit code can leave together."""

from __future__ import annotations

import asyncio
import os

from android_runner.virtual.shell_packets import frame

_READ_BYTES = 256 * 1024
_HOLD_S = 0.0015
"""How long output waits for the command's end: a host pays 40 ms for a second packet (delayed acknowledgement)."""


class Output:
    """What the command prints, gathered from one or two descriptors."""

    def __init__(self) -> None:
        self._kinds: dict[int, int] = {}
        self._wake: asyncio.Future[bool] | None = None
        self._abandoned = False

    @property
    def at_end(self) -> bool:
        """Whether every output is at its end."""
        return not self._kinds

    def watch(self, fd: int, kind: int) -> None:
        """Read `fd`, which does not block, as the stream of that packet kind."""
        self._kinds[fd] = kind

    def abandon(self) -> None:
        """Read no more; who waits is let go."""
        self._abandoned = True
        self._kinds.clear()
        resolve(self._wake)

    async def next(self, framed: bool) -> bytearray:
        """What there is now and within a moment; empty only at the end."""
        data = bytearray()
        await self._readable(None)
        let_go = asyncio.get_running_loop().time() + _HOLD_S
        while self._kinds:
            self._read_all(data, framed)
            if self.at_end or len(data) >= _READ_BYTES or not await self._readable(let_go):
                break
        return data

    def _read_all(self, data: bytearray, framed: bool) -> None:
        for fd, kind in list(self._kinds.items()):
            try:
                part = os.read(fd, _READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                part = b""  # a terminal whose last holder is gone answers EIO
            if not part:
                del self._kinds[fd]
            elif framed:
                data += frame(kind, part)
            else:
                data += part

    async def _readable(self, until_s: float | None) -> bool:
        """Wait for output, at most until that loop time; False when there is none."""
        if self.at_end:
            return False
        loop = asyncio.get_running_loop()
        wake: asyncio.Future[bool] = loop.create_future()
        self._wake = wake
        watched = list(self._kinds)
        for fd in watched:
            loop.add_reader(fd, resolve, wake)
        timer = loop.call_at(until_s, resolve, wake, False) if until_s is not None else None
        try:
            return await wake
        finally:
            if timer is not None:
                timer.cancel()
            for fd in watched:
                loop.remove_reader(fd)


def resolve(future: asyncio.Future[bool] | None, value: bool = True) -> None:
    """Let go who waits, unless that has happened."""
    if future is not None and not future.done():
        future.set_result(value)
