"""An adb server with one phone behind it, on loopback, in this process: for what a real phone never does.

It answers as adb does; shell commands run in a shell of this host with `ORCH_ROOT` set, files lie under `root`. A
`script` for a service (by its first letters) takes its stream over and may answer anything. Good behaviour is proven
by the contract tests over virtual phones, not here.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from android_runner.adb.link import AdbDevice
from android_runner.adb.server import AdbServer
from android_runner.device import Serial

SERIAL = Serial("SCRIPTED1")
V2 = "shell_v2,stat_v2,ls_v2,sendrecv_v2"


class Wire:
    """The phone's end of a stream."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection

    def take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def give(self, data: bytes) -> None:
        self.socket.sendall(data)

    def block(self) -> str:
        return self.take(int(self.take(4), 16)).decode()

    def hang_up(self) -> None:
        """Say nothing more, and take what is still on its way: a reset would overtake what was said."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
            self.socket.settimeout(0.3)
            while self.socket.recv(65536):
                pass
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)


Script = Callable[[Wire, str], None]


def packet(ident: int, data: bytes) -> bytes:
    return struct.pack("<BI", ident, len(data)) + data


@dataclass
class ScriptedPhone:
    root: Path
    features: str = V2
    shell: tuple[str, ...] = ("sh", "-c")
    path: str = os.environ["PATH"]
    devices: str = f"{SERIAL:22} device usb:1-1 product:x model:y device:z transport_id:7\n"
    scripts: dict[str, Script] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.root / "data/local/tmp").mkdir(parents=True, exist_ok=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.server = AdbServer(port=self.listener.getsockname()[1])
        self.closing = False
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def device(self) -> AdbDevice:
        return AdbDevice(self.server, SERIAL)

    def local(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def close(self) -> None:
        self.closing = True
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(5)

    def commands(self) -> list[str]:
        return [service.partition(":")[2] for service in self.seen if service.startswith("shell")]

    def _accept(self) -> None:
        while not self.closing:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, EOFError):
            wire = Wire(connection)
            service = wire.block()
            while service.startswith("host:tport:"):
                self.seen.append(service)
                if not self._scripted(wire, service):
                    wire.give(b"OKAY" + struct.pack("<Q", 7))
                service = wire.block()
            self.seen.append(service)
            if not self._scripted(wire, service):
                self._answer(wire, service)

    def _scripted(self, wire: Wire, service: str) -> bool:
        for start, script in self.scripts.items():
            if service.startswith(start):
                script(wire, service)
                return True
        return False

    def _answer(self, wire: Wire, service: str) -> None:
        texts = {
            "host:version": "0029",
            f"host-serial:{SERIAL}:features": self.features,
            "host:devices-l": self.devices,
        }
        if service in texts:
            encoded = texts[service].encode()
            wire.give(b"OKAY" + b"%04x" % len(encoded) + encoded)
        elif service == "sync:":
            wire.give(b"OKAY")
            Files(self, wire).serve()
        elif service.startswith("shell"):
            wire.give(b"OKAY")
            self._shell(wire, service)
        else:
            wire.give(b"FAIL0007unknown")

    def _shell(self, wire: Wire, service: str) -> None:
        kind, _, command = service.partition(":")
        environment = {"PATH": self.path, "ORCH_ROOT": str(self.root)}
        if kind == "shell":  # v1
            done = subprocess.run(
                [*self.shell, command], stdin=wire.socket, capture_output=True, env=environment, check=False
            )
            wire.give(done.stdout + done.stderr)
            return
        stdin = b""
        while True:
            ident, length = struct.unpack("<BI", wire.take(5))
            data = wire.take(length)
            if ident == 4:
                break
            stdin += data
        done = subprocess.run([*self.shell, command], input=stdin, capture_output=True, env=environment, check=False)
        code = done.returncode if done.returncode >= 0 else 128 - done.returncode
        wire.give(packet(1, done.stdout) + packet(2, done.stderr) + packet(3, bytes([code])))


class Files:
    """The file service, as adbd has it."""

    def __init__(self, phone: ScriptedPhone, wire: Wire) -> None:
        self.phone, self.wire = phone, wire

    def serve(self) -> None:
        while True:
            kind, length = struct.unpack("<4sI", self.wire.take(8))
            path = self.wire.take(length).decode()
            if self.phone._scripted(self.wire, f"sync-{kind.decode()}:{path}"):
                continue
            if not getattr(self, kind.decode().lower())(path):
                return

    def stat(self, path: str) -> bool:
        try:
            found = self.phone.local(path).lstat()
            self.wire.give(struct.pack("<4sIII", b"STAT", found.st_mode, found.st_size, int(found.st_mtime)))
        except OSError:
            self.wire.give(struct.pack("<4sIII", b"STAT", 0, 0, 0))
        return True

    def sta2(self, path: str) -> bool:
        self.wire.give(b"STA2" + self._stat2(self.phone.local(path)))
        return True

    def _stat2(self, path: Path) -> bytes:
        try:
            found = path.stat()
        except OSError as error:
            return struct.pack("<IQQIIIIQqqq", error.errno or 5, *[0] * 10)
        times = [int(found.st_atime), int(found.st_mtime), int(found.st_ctime)]
        return struct.pack("<IQQIIIIQqqq", 0, 1, found.st_ino, found.st_mode, 1, 0, 0, found.st_size, *times)

    def list(self, path: str) -> bool:
        folder = self.phone.local(path)
        for name in [".", "..", *sorted(os.listdir(folder) if folder.is_dir() else [])]:
            found, raw = (folder / name).lstat() if folder.is_dir() else os.lstat("/"), os.fsencode(name)
            self.wire.give(
                struct.pack("<4sIIII", b"DENT", found.st_mode, found.st_size, int(found.st_mtime), len(raw)) + raw
            )
        self.wire.give(b"DONE" + bytes(16))
        return True

    def lis2(self, path: str) -> bool:
        folder = self.phone.local(path)
        for name in sorted(os.listdir(folder) if folder.is_dir() else []):
            raw = os.fsencode(name)
            self.wire.give(b"DNT2" + self._stat2(folder / name) + struct.pack("<I", len(raw)) + raw)
        self.wire.give(b"DONE" + bytes(72))
        return True

    def recv(self, path: str) -> bool:
        try:
            data = self.phone.local(path).read_bytes()
        except OSError as error:
            return self._fail(f"open failed: {os.strerror(error.errno or 5)}")
        for start in range(0, len(data), 65536):
            piece = data[start : start + 65536]
            self.wire.give(struct.pack("<4sI", b"DATA", len(piece)) + piece)
        self.wire.give(struct.pack("<4sI", b"DONE", 0))
        return True

    def send(self, path: str) -> bool:
        name, _, mode = path.rpartition(",")
        data = b""
        while True:
            kind, length = struct.unpack("<4sI", self.wire.take(8))
            if kind == b"DONE":
                break
            data += self.wire.take(length)
        try:
            target = self.phone.local(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            target.chmod(int(mode) & 0o777)
        except OSError as error:
            return self._fail(f"couldn't create file: {os.strerror(error.errno or 5)}")
        self.wire.give(struct.pack("<4sI", b"OKAY", 0))
        return True

    def _fail(self, text: str) -> bool:
        self.wire.give(struct.pack("<4sI", b"FAIL", len(text)) + text.encode())
        return False
