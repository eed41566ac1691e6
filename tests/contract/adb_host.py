"""A host that speaks the adb transport protocol straight to a phone, packet by packet, with a key that adb made."""

from __future__ import annotations

import base64
import re
import socket
import struct
from pathlib import Path

from android_runner.virtual.packets import HEADER, AuthKind, Command, Header, decode_header, encode

BANNER = b"host::features=shell_v2,stat_v2,ls_v2,sendrecv_v2"


class RsaKey:
    """The numbers of a PKCS#8 `adbkey`."""

    def __init__(self, path: Path) -> None:
        text = re.sub(r"-----[^-]+-----", "", path.read_text())
        _tag, outer, _ = _der(base64.b64decode("".join(text.split())))
        _version, rest = _next(outer)
        _algorithm, rest = _next(rest)
        octets, _ = _next(rest)
        _tag, inner, _ = _der(octets)
        numbers = []
        while inner:
            body, inner = _next(inner)
            numbers.append(int.from_bytes(body, "big"))
        self._modulus, self._private = numbers[1], numbers[3]

    def sign(self, token: bytes) -> bytes:
        """PKCS#1 v1.5 with the token in place of a SHA-1 digest."""
        tail = b"\x00" + bytes.fromhex("3021300906052b0e03021a05000414") + token
        padded = b"\x00\x01" + b"\xff" * (254 - len(tail)) + tail
        return pow(int.from_bytes(padded, "big"), self._private, self._modulus).to_bytes(256, "big")


def _der(data: bytes) -> tuple[int, bytes, bytes]:
    tag, length, start = data[0], data[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[2:start], "big")
    return tag, data[start : start + length], data[start + length :]


def _next(data: bytes) -> tuple[bytes, bytes]:
    _tag, body, rest = _der(data)
    return body, rest


class RawHost:
    """One connection to a phone's port."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), 5)

    def __enter__(self) -> RawHost:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.sock.close()

    def send(self, command: Command, arg0: int, arg1: int, payload: bytes = b"") -> None:
        """Send one packet."""
        self.sock.sendall(encode(command, arg0, arg1, payload))

    def receive(self) -> tuple[Header, bytes]:
        """The next packet; raise EOFError when the phone has closed."""
        header = decode_header(self._exactly(HEADER.size))
        return header, self._exactly(header.length)

    def closed(self) -> bool:
        """Whether the phone ends the connection without another word."""
        try:
            return self.sock.recv(1) == b""
        except ConnectionResetError:
            return True

    def challenge(self) -> bytes:
        """Say CNXN and return the token that comes back."""
        self.send(Command.CNXN, 0x01000001, 1024 * 1024, BANNER)
        header, token = self.receive()
        assert (header.command, header.arg0) == (Command.AUTH, AuthKind.TOKEN)
        return token

    def connect(self, key: RsaKey) -> bytes:
        """The whole handshake; return the phone's banner."""
        self.send(Command.AUTH, AuthKind.SIGNATURE, 0, key.sign(self.challenge()))
        header, banner = self.receive()
        assert header.command is Command.CNXN
        return banner

    def open(self, service: str, local_id: int = 1) -> int:
        """Open a stream; return the phone's number for it."""
        self.send(Command.OPEN, local_id, 0, service.encode() + b"\0")
        header, _payload = self.receive()
        assert header.command is Command.OKAY, header
        return header.arg0

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.sock.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data


class SyncHost:
    """A sync session through the adb server, written by hand."""

    def __init__(self, server_port: int, serial: str) -> None:
        self.sock = socket.create_connection(("127.0.0.1", server_port), 10)
        for service in (f"host:transport:{serial}", "sync:"):
            self.sock.sendall(b"%04x%b" % (len(service), service.encode()))
            assert self.exactly(4) == b"OKAY"

    def __enter__(self) -> SyncHost:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.sock.close()

    def send(self, name: bytes, data: bytes) -> None:
        """One request or chunk."""
        self.sock.sendall(struct.pack("<4sI", name, len(data)) + data)

    def exactly(self, count: int) -> bytes:
        """So many bytes of the answer."""
        data = b""
        while len(data) < count:
            part = self.sock.recv(count - len(data))
            assert part, data
            data += part
        return data
