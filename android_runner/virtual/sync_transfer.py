"""File data in both directions of a sync session.

A file is `DATA length bytes` (at most 64 KiB each) and `DONE mtime`; a failure is `FAIL length text`, after which adbd
reads on to the sender's DONE and ends the session. The texts are adbd's.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from android_runner.virtual.faults import DropKind
from android_runner.virtual.packets import HEADER, MAX_PAYLOAD_BYTES
from android_runner.virtual.phone_fs import PhoneFs
from android_runner.virtual.session import Session
from android_runner.virtual.stream import StreamReader

_CHUNK = struct.Struct("<4sI")
CHUNK_BYTES = 64 * 1024
_CHUNKS_A_PACKET = MAX_PAYLOAD_BYTES // (_CHUNK.size + CHUNK_BYTES)
_DONE = _CHUNK.pack(b"DONE", 0)
_ENOSPC_TEXT = "write failed: No space left on device"


class SyncFailure(Exception):
    """Ends the session with FAIL and this text."""


@dataclass(frozen=True, slots=True)
class TransferSource:
    """What a transfer needs of its sync session."""

    session: Session
    fs: PhoneFs
    reader: StreamReader


# --- host to phone -------------------------------------------------------------------------------------------------


async def receive_file(source: TransferSource, path: str, mode: int, *, dry_run: bool) -> bytes:
    """Take a pushed file or link; return the OKAY reply, or raise `SyncFailure` when all of it has been read."""
    sink = _Sink(source, path, mode, dry_run=dry_run)
    try:
        while True:
            name, length = _CHUNK.unpack(await source.reader.exactly(_CHUNK.size))
            if name == b"DONE":
                sink.finish(length)
                return _CHUNK.pack(b"OKAY", 0)
            if name != b"DATA":
                raise SyncFailure("invalid data message")
            if length > CHUNK_BYTES:
                raise SyncFailure("oversize data message")
            await _take_chunk(source, sink, length)
    finally:
        sink.close()


async def _take_chunk(source: TransferSource, sink: _Sink, length: int) -> None:
    while length > 0:
        piece = await source.reader.some(length)
        length -= len(piece)
        allowed = source.session.allowance(DropKind.PUSH, len(piece))
        sink.write(piece[:allowed])
        await source.session.passed(DropKind.PUSH, allowed, len(piece))


class _Sink:
    """Where a push goes. A failure is kept until the sender is done: it would not read the reason before."""

    def __init__(self, source: TransferSource, path: str, mode: int, *, dry_run: bool) -> None:
        self._fs = source.fs
        self._path = path
        self._link = stat.S_ISLNK(mode)
        self._dry_run = dry_run
        self._plan = source.session.plan
        self._flips = self._plan.push_corrupt
        self._text = b""
        self._fd: int | None = None
        self._whole = False
        self._failure: str | None = None
        bounds = [source.session.plan.full_after_bytes, source.fs.free_bytes()]
        self._room = min((bound for bound in bounds if bound is not None), default=None)
        if self._plan.push_refused:
            self._failure = self._plan.push_refused
        elif not (self._link or dry_run):
            self._open(mode & 0o777)

    def _open(self, mode: int) -> None:
        mode |= (mode >> 3 & 0o070) | (mode >> 6 & 0o007)
        try:
            self._fd = self._fs.create(self._path, mode)
        except OSError as error:
            self._failure = f"couldn't create file: {error.strerror}"

    def write(self, piece: memoryview) -> None:
        if self._link:
            self._text = (self._text + piece)[:CHUNK_BYTES]
        if self._fd is None:
            return
        if self._flips and len(piece) > 0:
            self._flips = False
            piece = memoryview(bytes([piece[0] ^ 1]) + bytes(piece[1:]))
        if self._room is not None:
            self._room -= len(piece)
        try:
            if self._room is not None and self._room < 0:
                self._give_up(_ENOSPC_TEXT)
                return
            while len(piece) > 0:
                piece = piece[os.write(self._fd, piece) :]
        except OSError as error:
            self._give_up(f"write failed: {error.strerror}")

    def finish(self, mtime_s: int) -> None:
        if self._link and not self._dry_run:
            try:
                self._fs.symlink(self._path, os.fsdecode(self._text.rstrip(b"\0")))
            except OSError as error:
                self._failure = f"couldn't create symlink: {error.strerror}"
        if self._failure is not None:
            raise SyncFailure(self._failure)
        if self._fd is not None:
            if short := self._plan.push_short_bytes:
                os.ftruncate(self._fd, max(0, os.fstat(self._fd).st_size - short))
            os.utime(self._fd, (mtime_s, mtime_s))
            self._whole = True

    def close(self) -> None:
        """Close the file; one that did not come to its end is taken away, as adbd does."""
        if self._fd is None:
            return
        os.close(self._fd)
        self._fd = None
        if not self._whole:
            self._fs.remove(self._path)

    def _give_up(self, text: str) -> None:
        self._failure = text
        self.close()


# --- phone to host -------------------------------------------------------------------------------------------------


async def send_file(source: TransferSource, path: str, small: bytearray, flush: Callable[[], Awaitable[None]]) -> None:
    """Answer a RECV. What fits one chunk goes behind the waiting replies in `small`, larger files on their own."""
    try:
        fd = source.fs.open_for_reading(path)
    except OSError as error:
        raise SyncFailure(f"open failed: {error.strerror}") from error
    try:
        size = os.fstat(fd).st_size
        claimed = source.session.plan.recv_size_bytes
        if claimed is None and size <= CHUNK_BYTES and source.session.unhindered(DropKind.PULL):
            data = os.read(fd, CHUNK_BYTES)
            if data:
                small += _CHUNK.pack(b"DATA", len(data)) + data
            small += _DONE
            return
        await flush()
        await _send_packets(source.session, fd, claimed)
    finally:
        os.close(fd)
    small += _DONE


async def _send_packets(session: Session, fd: int, claimed: int | None) -> None:
    left = claimed
    while left is None or left > 0:
        packet, used, count = _fill(fd, left)
        if count == 0:
            return
        if session.unhindered(DropKind.PULL):
            await session.stream.send_framed(packet, used)
        else:
            await session.send(DropKind.PULL, memoryview(packet)[HEADER.size : HEADER.size + used])
        if left is not None:
            left -= count


def _fill(fd: int, left: int | None) -> tuple[bytearray, int, int]:
    """A packet with room for its header: the bytes used behind that, and how many of them are the file's.

    The file is read straight to where its chunks lie. With `left` the packet holds so many bytes whatever the file
    has: that is a fault's lie.
    """
    packet = bytearray(HEADER.size + _CHUNKS_A_PACKET * (_CHUNK.size + CHUNK_BYTES))
    view = memoryview(packet)
    step = _CHUNK.size + CHUNK_BYTES
    starts = [HEADER.size + index * step + _CHUNK.size for index in range(_CHUNKS_A_PACKET)]
    count = os.readv(fd, [view[start : start + CHUNK_BYTES] for start in starts])
    if left is not None:
        count = min(left, _CHUNKS_A_PACKET * CHUNK_BYTES)
    used = 0
    for index, start in enumerate(starts):
        length = min(CHUNK_BYTES, count - index * CHUNK_BYTES)
        if length <= 0:
            break
        _CHUNK.pack_into(packet, start - _CHUNK.size, b"DATA", length)
        used += _CHUNK.size + length
    return packet, used, count
