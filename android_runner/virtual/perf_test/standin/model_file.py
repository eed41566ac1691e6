"""What `onnxruntime_perf_test` reads of a model before onnxruntime does.

It parses the file itself: an `.onnx` as a protobuf, an `.ort` as a flatbuffer whose offsets it does not check, so a
broken one may kill it. Only the structure is walked here, enough to end in the same way.
"""

from __future__ import annotations

from mmap import ACCESS_READ, mmap
from os import fstat, strerror

from android_runner.virtual.perf_test.standin.dialect import Dialect
from android_runner.virtual.perf_test.standin.failure import DiesBySegfault, PerfTestError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10
_MAX_FIELD_BYTES = (1 << 31) - 1


class Malformed(Exception):
    """Bytes that are not a protobuf message."""


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A base-128 number and the place after it; raises `Malformed`."""
    value = 0
    for index in range(_MAX_VARINT_BYTES):
        if at + index >= len(data):
            raise Malformed
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & ((1 << 64) - 1), at + index + 1
    raise Malformed


def fields(data: bytes | memoryview) -> list[tuple[int, int, int, int]]:
    """Each field of a message as (number, wire type, start, end or value); raises `Malformed`.

    For length-delimited and fixed fields the payload is `data[start:end]`; for a varint the last item is its value.
    """
    found = []
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0 or tag >> 32:
            raise Malformed
        if wire == _VARINT:
            start = at
            value, at = read_varint(data, at)
            found.append((number, wire, start, value))
            continue
        if wire == _BYTES:
            size, at = read_varint(data, at)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise Malformed
        if size > _MAX_FIELD_BYTES or at + size > len(data):
            raise Malformed
        found.append((number, wire, at, at + size))
        at += size
    return found


def check_model(path: str, dialect: Dialect) -> None:
    """Read a model as perf_test does before it makes a session; raises `PerfTestError` or `DiesBySegfault`."""
    if path.endswith(".onnx"):
        _check_onnx(path, dialect)
    elif path.endswith(".ort"):
        _check_ort(path, dialect)
    else:
        raise PerfTestError(f"{path} is not supported")


def parse_failure(path: str, dialect: Dialect) -> PerfTestError:
    """What perf_test says of an `.onnx` that is no protobuf."""
    where = dialect.where["onnx_parse"]
    return PerfTestError(f'{where}Failed to load model from "{path}" because protobuf parsing failed.\n')


def _check_onnx(path: str, dialect: Dialect) -> None:
    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115 - only its end differs between success and failure
    except IsADirectoryError:
        raise parse_failure(path, dialect) from None
    except OSError as error:
        words = strerror(error.errno or 0)
        raise PerfTestError(f'{dialect.where["onnx_open"]}open file "{path}" failed: {words}\n') from error
    with file:
        try:
            fields(memoryview(_mapped(file.fileno())))
        except Malformed:
            raise parse_failure(path, dialect) from None


def _mapped(descriptor: int) -> bytes | memoryview:
    if fstat(descriptor).st_size == 0:
        return b""
    return memoryview(mmap(descriptor, 0, access=ACCESS_READ))


class _Flatbuffer:
    """Reads as generated flatbuffers code does; where that would leave the buffer, so does the process."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def number(self, at: int, size: int, *, signed: bool = False) -> int:
        """A little-endian number; `DiesBySegfault` outside the file."""
        if at < 0 or at + size > len(self._data):
            raise DiesBySegfault
        return int.from_bytes(self._data[at : at + size], "little", signed=signed)

    def child(self, table: int, slot: int) -> int | None:
        """The place that field number `slot` of a table points to; None when the field is absent."""
        vtable = table - self.number(table, 4, signed=True)
        entry = 4 + 2 * slot
        if entry >= self.number(vtable, 2):
            return None
        offset = self.number(vtable + entry, 2)
        if offset == 0:
            return None
        place = table + offset
        return place + self.number(place, 4)

    def walk_tables(self, vector: int | None) -> None:
        """Touch each table of a vector."""
        if vector is None:
            return
        for index in range(self.number(vector, 4)):
            place = vector + 4 + 4 * index
            self.child(place + self.number(place, 4), 0)

    def walk_strings(self, vector: int | None) -> None:
        """Touch each string of a vector."""
        if vector is None:
            return
        for index in range(self.number(vector, 4)):
            place = vector + 4 + 4 * index
            start = place + self.number(place, 4)
            self.number(start + 3 + self.number(start, 4), 1)


def _check_ort(path: str, dialect: Dialect) -> None:
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.readall()
    except IsADirectoryError:
        raise PerfTestError(dialect.where["ort_model"] + "Missing Model. Invalid ORT format model.\n") from None
    except OSError:
        raise PerfTestError(
            dialect.where["ort_length"] + "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid fd was supplied: -1\n"
        ) from None
    if not data:
        raise PerfTestError(dialect.where["ort_session"] + "InferenceSession is null. Invalid ORT format model.\n")
    buffer = _Flatbuffer(data)
    session = buffer.number(0, 4)
    model = buffer.child(session, 1)
    if model is None:
        raise PerfTestError(dialect.where["ort_model"] + "Missing Model. Invalid ORT format model.\n")
    graph = buffer.child(model, 7)
    if graph is None:
        raise PerfTestError(dialect.where["ort_graph"] + "Missing Graph. Invalid ORT format model.\n")
    buffer.walk_tables(buffer.child(graph, 1))
    buffer.walk_strings(buffer.child(graph, 5))
    buffer.walk_strings(buffer.child(graph, 6))
