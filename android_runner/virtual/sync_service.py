"""The `sync:` service: files, by the phone's own paths.

A request is four letters, a u32 length and that many bytes (for most: a path of at most 1024). Replies to requests that
came together leave together, so that a small file's DATA and DONE share a packet. Source: AOSP
`daemon/file_sync_service.cpp`, `file_sync_protocol.h`.
"""

from __future__ import annotations

import os
import stat
import struct

from android_runner.virtual.fault_steps import medium_of_file, step_of_file
from android_runner.virtual.phone_fs import PhoneFs
from android_runner.virtual.session import Session
from android_runner.virtual.stream import Stream, StreamReader
from android_runner.virtual.sync_transfer import (
    SyncFailure,
    TransferSource,
    receive_file,
    send_file,
)

_REQUEST = struct.Struct("<4sI")
_STAT_V1 = struct.Struct("<4sIII")
_STAT_V2 = struct.Struct("<4sIQQIIIIQqqq")
_DENT_V1 = struct.Struct("<4sIIII")
_DENT_V2 = struct.Struct("<4sIQQIIIIQqqqI")
_SEND_V2 = struct.Struct("<4sII")
_MAX_PATH_BYTES = 1024
_FLUSH_BYTES = 512 * 1024
_SHELL_UID = 2000
_NO_STAT = os.stat_result((0,) * 10)


class SyncService:
    """One sync session; it ends with the stream, a QUIT or the first failed transfer, as adbd's does."""

    def __init__(self, session: Session, fs: PhoneFs) -> None:
        self._session = session
        self._stream: Stream = session.stream
        self._fs = fs
        self._reader = StreamReader(session.stream)
        self._out = bytearray()

    async def run(self) -> None:
        """Serve requests until the session ends."""
        while True:
            if not self._reader.has_data() or len(self._out) > _FLUSH_BYTES:
                await self.flush()
            name, length = _REQUEST.unpack(await self._reader.exactly(_REQUEST.size))
            if name == b"QUIT":
                await self.flush()
                return
            try:
                path = await self._path(length)
                await self._session.begin(step_of_file(name, path), medium_of_file(name))
                await self._serve(name, path)
            except SyncFailure as failure:
                message = str(failure).encode()
                self._out += _REQUEST.pack(b"FAIL", len(message)) + message
                await self.flush()
                return

    async def flush(self) -> None:
        """Send the replies that wait."""
        if self._out:
            # The same object stays: whoever builds a reply holds on to it across a flush.
            out = bytes(self._out)
            self._out.clear()
            await self._session.send(None, out)

    async def _path(self, length: int) -> str:
        if length > _MAX_PATH_BYTES:
            raise SyncFailure("path too long")
        return os.fsdecode(await self._reader.exactly(length))

    async def _serve(self, name: bytes, path: str) -> None:
        source = TransferSource(self._session, self._fs, self._reader)
        match name:
            case b"STAT":
                self._stat_v1(path)
            case b"LST2" | b"STA2":
                self._stat_v2(name, path)
            case b"LIST" | b"LIS2":
                await self._list(path, v2=name == b"LIS2")
            case b"SEND":
                target, comma, mode = path.rpartition(",")
                if not comma or not mode.isdecimal():
                    raise SyncFailure("missing , in ID_SEND_V1")
                self._out += await receive_file(source, target, int(mode), dry_run=False)
            case b"SND2":
                _id, mode_bits, flags = _SEND_V2.unpack(await self._reader.exactly(_SEND_V2.size))
                self._refuse_compression(flags & 0x7FFFFFFF)
                self._out += await receive_file(source, path, mode_bits, dry_run=bool(flags & 0x80000000))
            case b"RECV" | b"RCV2":
                if name == b"RCV2":
                    _id, flags = _REQUEST.unpack(await self._reader.exactly(_REQUEST.size))
                    self._refuse_compression(flags)
                await send_file(source, path, self._out, self.flush)
            case _:
                raise SyncFailure(f"unknown command {name.hex()}")

    def _refuse_compression(self, flags: int) -> None:
        if flags:
            raise SyncFailure(f"unknown flags: {flags}")

    def _stat_of(self, path: str, *, follow: bool) -> tuple[int, os.stat_result]:
        try:
            return 0, self._fs.stat(path, follow=follow)
        except OSError as error:
            return error.errno or 5, _NO_STAT

    def _size(self, found: os.stat_result) -> int:
        lie = self._session.plan.stat_size_bytes
        return lie if lie is not None and stat.S_ISREG(found.st_mode) else found.st_size

    def _mtime_s(self, found: os.stat_result) -> int:
        return int(found.st_mtime) + (self._session.plan.clock_ahead_s if found.st_mode else 0)

    def _stat_v1(self, path: str) -> None:
        _error, found = self._stat_of(path, follow=False)
        self._out += _STAT_V1.pack(b"STAT", found.st_mode, self._size(found) & 0xFFFFFFFF, _u32(self._mtime_s(found)))

    def _stat_v2(self, name: bytes, path: str) -> None:
        error, found = self._stat_of(path, follow=name == b"STA2")
        self._out += _STAT_V2.pack(name, error, *self._numbers(found))

    def _numbers(self, found: os.stat_result) -> tuple[int, ...]:
        owner = _SHELL_UID if found.st_mode else 0
        return (
            found.st_dev,
            found.st_ino,
            found.st_mode,
            found.st_nlink,
            owner,
            owner,
            self._size(found),
            int(found.st_atime),
            self._mtime_s(found),
            int(found.st_ctime),
        )

    async def _list(self, path: str, *, v2: bool) -> None:
        try:
            entries = self._fs.listing(path)
        except OSError:
            entries = []
        for name, found in entries:
            self._entry(os.fsencode(name), found, v2=v2)
            if len(self._out) > _FLUSH_BYTES:
                await self.flush()
        if entries:
            for extra in self._session.plan.extra_names:
                self._entry(extra.encode(), entries[0][1], v2=v2)
        self._out += b"DONE" + bytes((_DENT_V2 if v2 else _DENT_V1).size - 4)

    def _entry(self, name: bytes, found: os.stat_result, *, v2: bool) -> None:
        if v2:
            self._out += _DENT_V2.pack(b"DNT2", 0, *self._numbers(found), len(name)) + name
        else:
            size = self._size(found) & 0xFFFFFFFF
            self._out += _DENT_V1.pack(b"DENT", found.st_mode, size, _u32(self._mtime_s(found)), len(name)) + name


def _u32(seconds: float) -> int:
    return int(seconds) & 0xFFFFFFFF
