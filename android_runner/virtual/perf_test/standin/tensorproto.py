"""Reads a serialized `TensorProto`, the content of `input_<k>.pb`.

Field numbers and the rules for typed data are those of onnx.proto; sizes are checked as onnxruntime's test code does.
"""

from __future__ import annotations

from android_runner.virtual.perf_test.standin.dialect import Dialect
from android_runner.virtual.perf_test.standin.failure import PerfTestError
from android_runner.virtual.perf_test.standin.model_file import Malformed, fields, read_varint

STRING = 8
_DIMS, _DATA_TYPE, _FLOAT_DATA, _INT32_DATA, _STRING_DATA = 1, 2, 4, 5, 6
_INT64_DATA, _NAME, _RAW_DATA, _DOUBLE_DATA, _UINT64_DATA, _DATA_LOCATION = 7, 8, 9, 10, 11, 14
_EXTERNAL = 1
_VARINT, _BYTES = 0, 2

# ONNX element type -> (bytes of one element, field that holds typed data, bytes of one item there; 0 = varint)
_ELEMENTS = {
    1: (4, _FLOAT_DATA, 4),
    2: (1, _INT32_DATA, 0),
    3: (1, _INT32_DATA, 0),
    4: (2, _INT32_DATA, 0),
    5: (2, _INT32_DATA, 0),
    6: (4, _INT32_DATA, 0),
    7: (8, _INT64_DATA, 0),
    9: (1, _INT32_DATA, 0),
    10: (2, _INT32_DATA, 0),
    11: (8, _DOUBLE_DATA, 8),
    12: (4, _UINT64_DATA, 0),
    13: (8, _UINT64_DATA, 0),
    16: (2, _INT32_DATA, 0),
}


class TensorProto:
    """A tensor as stored: name (may be empty), ONNX element type, dimensions, and elements as bytes or as strings."""

    def __init__(self, name: str, element: int, dims: list[int], data: bytes, strings: list[bytes]) -> None:
        self.name = name
        self.element = element
        self.dims = dims
        self.data = data
        self.strings = strings


class _Fields:
    """The fields of the message, repeated ones joined."""

    def __init__(self, data: memoryview) -> None:
        self.name = ""
        self.element = 0
        self.location = 0
        self.dims: list[int] = []
        self.raw: memoryview | None = None
        self.strings: list[bytes] = []
        self.typed: dict[int, list[memoryview]] = {}
        self.numbers: dict[int, list[int]] = {}
        for number, wire, start, end in fields(data):
            if wire == _VARINT:
                self._number(number, end)
            elif wire == _BYTES:
                self._bytes(number, data[start:end])
            else:
                self.typed.setdefault(number, []).append(data[start:end])

    def _number(self, number: int, value: int) -> None:
        if number == _DIMS:
            self.dims.append(_signed(value))
        elif number == _DATA_TYPE:
            self.element = value & 0xFFFFFFFF
        elif number == _DATA_LOCATION:
            self.location = value
        else:
            self.numbers.setdefault(number, []).append(value)

    def _bytes(self, number: int, data: memoryview) -> None:
        if number == _DIMS:
            self.dims += [_signed(value) for value in _varints(data)]
        elif number == _NAME:
            self.name = bytes(data).decode("utf-8", "surrogateescape")
        elif number == _RAW_DATA:
            self.raw = data
        elif number == _STRING_DATA:
            self.strings.append(bytes(data))
        elif number in (_INT32_DATA, _INT64_DATA, _UINT64_DATA):
            self.numbers.setdefault(number, []).extend(_varints(data))
        else:
            self.typed.setdefault(number, []).append(data)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _varints(data: memoryview) -> list[int]:
    found = []
    at = 0
    while at < len(data):
        value, at = read_varint(data, at)
        found.append(value)
    return found


def _mismatch(expected: int, got: int) -> PerfTestError:
    return PerfTestError(
        f"corrupted protobuf data: tensor shape size({expected}) does not match the data size({got}) in proto"
    )


def _typed_bytes(found: _Fields, count: int) -> bytes:
    """Elements from `float_data` and its like; raises `PerfTestError` when their number is not `count`."""
    size, field, item_bytes = _ELEMENTS[found.element]
    if item_bytes:
        data = b"".join(found.typed.get(field, []))
        if len(data) != count * item_bytes:
            raise _mismatch(count, len(data) // item_bytes)
        return data
    numbers = found.numbers.get(field, [])
    if len(numbers) != count:
        raise _mismatch(count, len(numbers))
    mask = (1 << (8 * size)) - 1
    return b"".join([(value & mask).to_bytes(size, "little") for value in numbers])


def read_tensor(path: str, dialect: Dialect) -> TensorProto:
    """The tensor in a file; raises `PerfTestError` with the true program's words."""
    with open(path, "rb", buffering=0) as file:
        data = file.readall()
    try:
        found = _Fields(memoryview(data))
    except Malformed:
        raise PerfTestError(f"{dialect.where['tensor_parse']}parse file '{path}' failed\n") from None
    return _checked(found, dialect)


def _checked(found: _Fields, dialect: Dialect) -> TensorProto:
    size_where = dialect.where["tensor_size"]
    if found.element != STRING and found.element not in _ELEMENTS:
        raise PerfTestError(f"{size_where}[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : \n")
    count = 1
    for dim in found.dims:
        if dim < 0:
            raise PerfTestError(f"{size_where}[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid TensorProto\n")
        count *= dim
    if found.location == _EXTERNAL:
        raise PerfTestError(
            dialect.where["tensor_value"]
            + "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Server doesn't support external data.\n"
        )
    if found.element == STRING:
        if len(found.strings) != count:
            raise PerfTestError("UnpackTensor: the pre-allocate size does not match the size in proto")
        return TensorProto(found.name, STRING, found.dims, b"", found.strings)
    if found.raw is None:
        elements = _typed_bytes(found, count)
    else:
        elements = bytes(found.raw)
        expected = count * _ELEMENTS[found.element][0]
        if len(elements) != expected:
            raise PerfTestError(
                "UnpackTensor: the pre-allocated size does not match the raw data size, "
                f"expected {expected}, got {len(elements)}"
            )
    return TensorProto(found.name, found.element, found.dims, elements, [])
