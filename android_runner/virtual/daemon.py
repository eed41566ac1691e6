"""The process that is one or many virtual phones: `python -m android_runner.virtual.daemon SPEC.json`.

SPEC is what `lifecycle.up` writes: `home`, `idle_exit_s`, and `phones` (`spec.spec_as_json`).
When all phones listen, one line `{"ready": …}` goes to stdout and the log takes its place. SIGTERM ends it; SIGUSR1
makes it look at the `down` and `faults.json` files of its phones at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

from android_runner.virtual.confinement import NoNamespaces
from android_runner.virtual.host_tools import find_host_tools
from android_runner.virtual.phone import Phone
from android_runner.virtual.processes import KEPT
from android_runner.virtual.server import locked, stop_server_if_unused
from android_runner.virtual.spec import PhoneSpec, spec_from_json
from android_runner.virtual.state import Places

_TICK_S = 0.2
_BOOTS_AT_ONCE = 4
DOWN_NAME = "down"


class Daemon:
    """All phones of this process."""

    def __init__(self, places: Places, specs: list[PhoneSpec], idle_exit_s: float) -> None:
        self._places = places
        self._idle_exit_s = idle_exit_s
        tools = find_host_tools()
        self._phones = [Phone(places, spec, tools) for spec in specs]
        self._poked = asyncio.Event()
        self._stopping = False
        self._last_use = 0.0

    async def start(self) -> dict[str, int]:
        """Switch all phones on; return their ports."""
        gate = asyncio.Semaphore(_BOOTS_AT_ONCE)

        async def one(phone: Phone) -> None:
            async with gate:
                await phone.power_on()

        await asyncio.gather(*(one(phone) for phone in self._phones))
        return {phone.spec.serialno: phone.port for phone in self._phones}

    def stop(self) -> None:
        """Ask for the end."""
        self._stopping = True
        self._poked.set()

    def poke(self) -> None:
        """Ask for a look at the files."""
        self._poked.set()

    async def live(self) -> bool:
        """Serve until told to stop, no phone is left, or all have idled; True in that last case."""
        self._last_use = last_check = time.monotonic()
        check_every_s = min(5.0, max(0.2, self._idle_exit_s / 4))
        while not self._stopping and self._phones:
            try:
                await asyncio.wait_for(self._poked.wait(), _TICK_S)
                self._last_use = time.monotonic()
            except TimeoutError:
                pass
            self._poked.clear()
            await self._look_around()
            if time.monotonic() - last_check >= check_every_s:
                last_check = time.monotonic()
                if self._idle():
                    return True
        return False

    def _idle(self) -> bool:
        now = time.monotonic()
        if any(phone.busy() for phone in self._phones):
            self._last_use = now
        return 0 < self._idle_exit_s <= now - self._last_use

    async def still_idle(self) -> bool:
        """Whether nobody has asked for a phone since `live` returned."""
        await asyncio.sleep(0)
        return not self._poked.is_set() and self._idle()

    async def end(self) -> None:
        """Switch all phones off."""
        await asyncio.gather(*(phone.power_off() for phone in self._phones))

    async def _look_around(self) -> None:
        for phone in list(self._phones):
            if (phone.dir / DOWN_NAME).exists():
                self._phones.remove(phone)
                await phone.power_off()
                phone.record_off()
                (phone.dir / DOWN_NAME).unlink(missing_ok=True)
                continue
            try:
                await phone.look_around()
            except (OSError, NoNamespaces):
                # One phone that cannot boot again (a full disk, no namespace) costs only itself.
                traceback.print_exc()
                self._phones.remove(phone)
                await phone.power_off()
                phone.record_off()


async def _main(spec_path: Path) -> None:
    spec = json.loads(spec_path.read_text(encoding="utf-8"))
    places = Places(Path(spec["home"]))
    phones = [spec_from_json(item) for item in spec["phones"]]
    os.set_inheritable(KEPT, False)  # the lock of who starts us: ours until all phones have said where they are
    daemon = Daemon(places, phones, spec["idle_exit_s"])
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, daemon.stop)
    loop.add_signal_handler(signal.SIGUSR1, daemon.poke)
    loop.add_signal_handler(signal.SIGHUP, daemon.poke)
    loop.add_signal_handler(signal.SIGINT, daemon.stop)
    try:
        ports = await daemon.start()
        os.close(KEPT)
        _announce(ports, spec_path.with_suffix(".log"))
        while await daemon.live():
            if await _leave_idle(places, daemon):
                break
    finally:
        await daemon.end()
        spec_path.unlink(missing_ok=True)


async def _leave_idle(places: Places, daemon: Daemon) -> bool:
    """End phones and, with the last of the home, the server, under the lock that `up` takes too; False if in use again.

    Waiting for the lock happens in a thread: the phones go on meanwhile.
    """
    lock = locked(places)
    await asyncio.to_thread(lock.__enter__)
    try:
        if not await daemon.still_idle():
            return False
        await daemon.end()
        stop_server_if_unused(places)
        return True
    finally:
        lock.__exit__(None, None, None)


def _announce(ports: dict[str, int], log: Path) -> None:
    # Who asked for the phones may be dead by now; they live on, and whoever asks next finds them.
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps({"ready": ports}).encode() + b"\n")
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)


def main() -> None:
    """Entry point of the process."""
    if sys.version_info < (3, 12):
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
    asyncio.run(_main(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
