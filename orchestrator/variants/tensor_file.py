"""Pure: write `input_<k>.pb`, a serialized TensorProto, without onnx.

Field numbers and wire types are those of `onnx.proto`: dims 1 (varint), data_type 2 (varint), string_data 6, name 8,
raw_data 9 (all length-delimited). Elements go little-endian into raw_data, strings into string_data.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.variants.graph import ELEMENT_TYPES

_DIMS, _DATA_TYPE, _STRING_DATA, _NAME, _RAW_DATA = 1, 2, 6, 8, 9
_VARINT, _BYTES = 0, 2
_NUMBERS = {name: number for number, name in ELEMENT_TYPES.items()}


def tensor_file(name: str, element_type: str, shape: Sequence[int], elements: bytes | Sequence[bytes]) -> bytes:
    """A TensorProto's bytes; `elements` are raw bytes, or one bytes object per string. Raises KeyError for an element
    type that ONNX does not have."""
    parts = [_tag(_DIMS, _VARINT) + _varint(dim) for dim in shape]
    parts.append(_tag(_DATA_TYPE, _VARINT) + _varint(_NUMBERS[element_type]))
    if not isinstance(elements, bytes):
        parts.extend(_block(_STRING_DATA, text) for text in elements)
    parts.append(_block(_NAME, name.encode()))
    if isinstance(elements, bytes):
        parts.append(_block(_RAW_DATA, elements))
    return b"".join(parts)


def _tag(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _block(field: int, data: bytes) -> bytes:
    return _tag(field, _BYTES) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    groups = bytearray()
    while True:
        number, low = number >> 7, number & 0x7F
        groups.append(low | (0x80 if number else 0))
        if not number:
            return bytes(groups)
