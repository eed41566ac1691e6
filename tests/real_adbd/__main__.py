"""Runs a command beside a true adbd: `python -m tests.real_adbd [--] COMMAND…`, with `{serial}` put into its words.

A network of its own (loopback only), an adb server of its own on the usual port of that network, with a key of its own;
all of it ends with the command. The exit code is the command's, and 1 when it left something on the target.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from android_runner.adb.discovery import connect, open_device
from android_runner.adb.server import AdbServer, real_server
from android_runner.deadline import Deadline
from android_runner.errors import LinkError
from tests.real_adbd.fetch import DAEMON
from tests.real_adbd.phone import SHELL_UID, dress

HERE = Path(__file__).resolve().parents[2]
ROOT = HERE / "build/adbd-root"
PORT = 6520
"""Outside of 5554 to 5585, where an adb server looks for emulators: it would list the target twice."""
ADDRESS = f"127.0.0.1:{PORT}"
TOOLS = ("unshare", "mount")
_INSIDE = "--inside"
_START_S = 20.0


def lacking() -> str:
    """What this machine lacks for it; empty when nothing."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"no {', '.join(missing)} (util-linux)"
    if not (ROOT / DAEMON).is_file():
        return f"no adbd in {ROOT.relative_to(HERE)}: `make system-deps` fetches it on Debian"
    done = subprocess.run([*namespaces(), "true"], capture_output=True, text=True, check=False)
    return f"no namespaces: {done.stderr.strip()}" if done.returncode else ""


def namespaces() -> list[str]:
    """The words in front of a command that runs on a network of its own, and whose processes end with it."""
    root = os.getuid() == 0
    user = [] if root else ["-U", f"--map-user={SHELL_UID}", f"--map-group={SHELL_UID}", "--keep-caps"]
    return ["unshare", *user, "-n", "-m", "-p", "-f", "--kill-child", "--mount-proc"]


def main() -> int:
    """From outside: into the namespaces, or a word why not. Inside: the target, then the command."""
    words = sys.argv[1:]
    inside = words[:1] == [_INSIDE]
    command = [word for word in words[inside:] if word != "--" or "--" not in words]
    if not command:
        print("usage: python -m tests.real_adbd COMMAND…", file=sys.stderr)
        return 2
    if inside:
        return run_beside(command)
    if problem := lacking():
        print(f"SKIPPED test-adbd: this machine has {problem}", file=sys.stderr)
        return 1 if os.environ.get("ORCH_CI") else 0
    dress(ROOT)
    python = [sys.executable, "-m", "tests.real_adbd", _INSIDE]
    return subprocess.run([*namespaces(), *python, *command], check=False, cwd=HERE).returncode


def run_beside(command: Sequence[str]) -> int:
    """Start daemon and server, connect, run; see that the target is left as it was."""
    _loopback_up()
    with tempfile.TemporaryDirectory() as home, _no_vsock(), _daemon(Path(home) / "adbd.log"):
        os.environ["HOME"] = home  # the key that adb makes there
        server = real_server()
        deadline = Deadline.after(_START_S)
        connect(server, ADDRESS, deadline)
        before = _standing(server)
        words = [word.replace("{serial}", ADDRESS) for word in command]
        code = subprocess.run(words, check=False).returncode
        try:
            after = _standing(server)
        except LinkError as error:  # some services end this build's daemon: `framebuffer:`, `track-app`
            said = (Path(home) / "adbd.log").read_text(errors="replace")[-2000:]
            print(f"the target is gone: {error}\n{said}", file=sys.stderr)
            return code or 1
        if before != after:
            print(f"left on the target:\n{after}\nwas:\n{before}", file=sys.stderr)
            return code or 1
        print(f"the target is as it was ({len(before.splitlines())} lines of files and processes)")
        return code


def _standing(server: AdbServer) -> str:
    """All files of the target that can be written, and all its processes but the one that asks."""
    files = "cd /data/local && find . -exec stat -c '%A %u %n' {} + | sort"
    command = f"{files}; ps -A -o USER,ARGS | grep -v -w -e ps -e grep -e sort -e find | sort"
    device = open_device(server, ADDRESS)
    until = time.monotonic() + _START_S
    seen = ""
    while time.monotonic() < until:  # what was just ended may take a moment
        seen, last = device.shell(command, deadline=Deadline.after(_START_S)).text(), seen
        if seen == last:
            break
        time.sleep(0.3)
    device.close()
    return seen


@contextmanager
def _daemon(log: Path) -> Iterator[None]:
    """A target in namespaces of its own, until it answers at its port; ended with all that runs there."""
    inner = ["unshare", "-m", "-p", "-i", "-u", "-f", "--kill-child", sys.executable, "-m", "tests.real_adbd.phone"]
    with log.open("wb") as file:
        process = subprocess.Popen([*inner, str(ROOT), str(PORT)], stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        until = time.monotonic() + _START_S
        while not _answers():
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"adbd does not listen: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def _answers() -> bool:
    try:
        socket.create_connection(("127.0.0.1", PORT), 1).close()
    except OSError:
        return False
    return True


def _loopback_up() -> None:
    up, flags, request = 0x1, 0x8913, 0x8914  # IFF_UP, SIOCGIFFLAGS, SIOCSIFFLAGS
    with socket.socket() as any_socket:
        name = b"lo".ljust(16, b"\0")
        answer = fcntl.ioctl(any_socket, flags, name + bytes(16))
        (now,) = struct.unpack_from("<H", answer, 16)
        fcntl.ioctl(any_socket, request, name + struct.pack("<H", now | up) + bytes(14))


@contextmanager
def _no_vsock() -> Iterator[None]:
    """The daemon also listens on vsock, which no network namespace holds back: keep that port from it."""
    held = None
    with suppress(OSError, AttributeError):  # a kernel without vsock has nothing to keep
        held = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
        held.bind((socket.VMADDR_CID_ANY, PORT))
    try:
        yield
    finally:
        if held is not None:
            held.close()


if __name__ == "__main__":
    sys.exit(main())
