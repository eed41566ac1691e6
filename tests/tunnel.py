"""A port that leads to another one, as `ssh -L` makes it: a process of its own that can fall and come back.

Run as `python -m tests.tunnel FROM TO`.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path


class Tunnel:
    """From a free loopback port to another; `port` stays the same over falls."""

    def __init__(self, to: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._to = to
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Tunnel:
        self.rise()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.fall()

    def rise(self) -> None:
        """Listen."""
        words = [sys.executable, "-m", "tests.tunnel", str(self.port), str(self._to)]
        self._process = subprocess.Popen(words, cwd=Path(__file__).parent.parent, stdin=subprocess.DEVNULL)
        until = time.monotonic() + 20
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert time.monotonic() < until
            time.sleep(0.02)

    def fall(self) -> None:
        """End, with every connection."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None


async def _pipe(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    with suppress(OSError):
        target.write_eof()


async def _lead(source: int, to: int) -> None:
    async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", to)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pipe(reader, back), _pipe(there, writer))
        back.close()
        writer.close()

    server = await asyncio.start_server(joined, "127.0.0.1", source)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_lead(int(sys.argv[1]), int(sys.argv[2])))
