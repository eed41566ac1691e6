"""One shell command over an open stream: shell protocol v2, and a marked form of v1 for phones without it.

v2 packets are `u8 id, u32le length, data`; ids 0 stdin, 1 stdout, 2 stderr, 3 exit (one byte), 4 close stdin
(shell_protocol.h). v1 has one stream and no exit code: the command's end is a line with a random marker and `$?`.
"""

from __future__ import annotations

import re
import secrets
import shlex
import struct

from android_runner.adb.wire import Stream
from android_runner.deadline import Deadline
from android_runner.errors import HostileAnswer, LinkLost

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)
_HEADER = struct.Struct("<BI")
_STDIN_CHUNK_BYTES = 32 * 1024
_DIRECT_BYTES = 64 * 1024
"""Input up to this size is sent before output is read: it fits the buffers on the way."""


def stdin_packets(data: bytes) -> bytes:
    """`data` as v2 packets, with the packet that closes the command's stdin."""
    parts = [
        _HEADER.pack(STDIN, len(chunk)) + chunk
        for start in range(0, len(data), _STDIN_CHUNK_BYTES)
        if (chunk := data[start : start + _STDIN_CHUNK_BYTES])
    ]
    return b"".join([*parts, _HEADER.pack(CLOSE_STDIN, 0)])


class Packets:
    """Takes the v2 stream apart, in pieces of any size; pure.

    Raises `HostileAnswer` for an unknown id, a wrong exit packet, or more output than allowed.
    """

    def __init__(self, serial: str, max_output_bytes: int) -> None:
        self._serial = serial
        self._left_bytes = max_output_bytes
        self._pending = bytearray()
        self._data_left = 0
        self._id = -1
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.exit_code: int | None = None

    def feed(self, data: bytes) -> None:
        """Take what arrived; `exit_code` is set once the command's end was told."""
        view = memoryview(data)
        while view and self.exit_code is None:
            if self._data_left:
                view = self._take_data(view)
                continue
            missing = _HEADER.size - len(self._pending)
            self._pending += view[:missing]
            view = view[missing:]
            if len(self._pending) == _HEADER.size:
                self._open_packet()

    def _open_packet(self) -> None:
        self._id, length = _HEADER.unpack(bytes(self._pending))
        self._pending.clear()
        if self._id not in (STDOUT, STDERR, EXIT) or (self._id == EXIT and length != 1):
            raise HostileAnswer(f"{self._serial}: shell packet {self._id} of {length} bytes is none of the protocol")
        if self._id != EXIT:
            self._left_bytes -= length
            if self._left_bytes < 0:
                raise HostileAnswer(f"{self._serial}: the command prints more than it may")
        self._data_left = length

    def _take_data(self, view: memoryview) -> memoryview:
        taken = view[: self._data_left]
        self._data_left -= len(taken)
        if self._id == EXIT:
            self.exit_code = taken[0]
        else:
            into = self.stdout if self._id == STDOUT else self.stderr
            into += taken
        return view[len(taken) :]


def run_v2(
    stream: Stream, serial: str, stdin: bytes, max_output_bytes: int, deadline: Deadline
) -> tuple[int, bytes, bytes]:
    """Carry one command to its exit packet; exit code, stdout, stderr. An end without one is `LinkLost`."""
    packets = Packets(serial, max_output_bytes)
    outgoing = memoryview(stdin_packets(stdin))
    if len(outgoing) <= _DIRECT_BYTES:
        stream.send(outgoing, deadline)
        outgoing = outgoing[:0]
    while packets.exit_code is None:
        if len(outgoing):
            stream.wait(deadline, write=True)
            if not stream.readable():
                outgoing = outgoing[stream.send_available(outgoing) :]
                continue
        data = stream.some(deadline)
        if not data:
            raise LinkLost(f"{serial}: the shell's stream ended before the command did")
        packets.feed(data)
    return packets.exit_code, bytes(packets.stdout), bytes(packets.stderr)


def marked(command: str, marker: str, stdin_bytes: int) -> str:
    """`command` for a v1 shell: its output, stderr included, then a line of `marker` and the exit code.

    The command is one quoted word, so that nothing in it can swallow the marker's line.
    """
    inner = f"sh -c {shlex.quote(command)}"
    fed = f"head -c {stdin_bytes} | {inner}" if stdin_bytes else f"{inner} </dev/null"
    return f"{{ {fed}; }} 2>&1; r=$?; echo; echo {marker}$r"


def run_v1(stream: Stream, serial: str, marker: str, max_output_bytes: int, deadline: Deadline) -> tuple[int, bytes]:
    """Carry one `marked` command to its marker; exit code and output."""
    output = bytearray()
    bound = max_output_bytes + len(marker) + 8
    while data := stream.some(deadline):
        output += data
        if len(output) > bound:
            raise HostileAnswer(f"{serial}: the command prints more than it may")
    found = re.search(rb"\r?\n" + marker.encode() + rb"([^\r\n]{0,20})(?:\r?\n|\Z)", bytes(output))
    if found is None:
        raise LinkLost(f"{serial}: the shell's stream ended before the command did")
    code = found.group(1)
    if not re.fullmatch(rb"\d{1,3}", code) or int(code) > 255:
        raise HostileAnswer(f"{serial}: the shell's end marker carries no exit code")
    return int(code), bytes(output[: found.start()] + output[found.end() :])  # a background job may print later


def new_marker() -> str:
    """A word that no output holds by chance."""
    return f"end-{secrets.token_hex(12)}-"
