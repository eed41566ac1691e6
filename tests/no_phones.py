"""An adb server of the tests' own that looks for no phone anywhere, in place of the one for real phones.

Whatever a test has `orch` ask about real phones goes here (`ORCH_ADB_PORT`): never to the server of whoever sits at
this computer, whose phones are no business of the tests, and which they must not start either.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

from android_runner.adb.server import AdbServer, adb_binary, running
from android_runner.deadline import Deadline

PORT_VARIABLE = "ORCH_ADB_PORT"
_SESSION = "ORCH_TEST_SESSION"
"""In the environment of everything that a session of tests starts: which one."""
_BLIND = {name: "0" for name in ("ADB_USB", "ADB_MDNS", "ADB_EMU", "ADB_LIBUSB")}


@cache
def empty_server_port() -> int:
    """The port of this process's own server, which ends with this process."""
    port = _free_port()
    os.environ[PORT_VARIABLE] = str(port)
    home = tempfile.mkdtemp(prefix="orch-no-phones-")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ADB_", "ANDROID_"))}
    process = subprocess.Popen(
        [adb_binary(), "-P", str(port), "nodaemon", "server"],
        env={**kept, **_BLIND, "HOME": home},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a Ctrl-C that ends the tests ends it afterwards
    )
    atexit.register(_end, process, home)
    until = time.monotonic() + 20
    while not running(AdbServer(port=port), Deadline.after(5)):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    return port


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _end(process: subprocess.Popen[bytes], home: str) -> None:
    process.terminate()
    process.wait(10)
    shutil.rmtree(home, ignore_errors=True)


def mark_session() -> None:
    """Let everything that this process starts be known, and look for real phones where nobody is."""
    os.environ.setdefault(_SESSION, f"{os.getpid()}-{time.time_ns()}")
    os.environ[PORT_VARIABLE] = str(_free_port())


def servers_for_real_phones(proc: Path = Path("/proc")) -> list[int]:
    """The processes of adb servers for real phones that this session has started, which it must not.

    The tests' own and those of virtual phones are started with `nodaemon`.
    """
    mark, found = f"{_SESSION}={os.environ.get(_SESSION)}".encode(), []
    for entry in proc.iterdir():
        try:
            words = (entry / "cmdline").read_bytes()
            if b"adb" in words and b"fork-server" in words:
                found += [int(entry.name)] if mark in (entry / "environ").read_bytes().split(b"\0") else []
        except (OSError, ValueError):
            continue
    return found
