"""Pure: seeded values for a model's inputs, where nobody gave real ones.

Floats are normal with mean 0 and variance 1 (uniform in [0, 1) where a Log or Sqrt reads them); indices lie inside the
table they index; masks are ones, then zeros along the last axis, as padding is; 8-bit integers span their type, other
integers lie in [0, 10).
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

from orchestrator.variants.feeds import Feed, Role

if TYPE_CHECKING:
    import numpy as np

MAX_ELEMENTS = 1 << 28
_DTYPES = {
    "float32": "<f4", "float64": "<f8", "float16": "<f2", "bfloat16": "<u2", "bool": "?", "int8": "i1", "uint8": "u1",
    "int16": "<i2", "uint16": "<u2", "int32": "<i4", "uint32": "<u4", "int64": "<i8", "uint64": "<u8",
}  # fmt: skip
_FLOATS = frozenset(("float32", "float64", "float16", "bfloat16"))
_RANGES = {"int8": (-128, 128), "uint8": (0, 256)}
_OTHER_INTS = (0, 10)
_LETTERS = b"abcdefghijklmnopqrstuvwxyz"


def why_not_invented(feed: Feed, element_type: str, shape: tuple[int, ...]) -> str | None:
    """Why no value can be invented for an input; None where one can."""
    if feed.role is Role.STEERS:
        return "decides shapes inside the model: no value can be guessed"
    if element_type not in _DTYPES and element_type != "string":
        return f"values of type {element_type} can't be generated"
    if math.prod(shape) > MAX_ELEMENTS:
        return f"shape {'x'.join(map(str, shape))} is too large to be generated"
    return None


def invent(feed: Feed, element_type: str, shape: tuple[int, ...], seed: int) -> bytes | list[bytes]:
    """The elements of one input, little-endian (or a list of strings); the same for the same arguments."""
    import numpy as np  # noqa: PLC0415

    own = int.from_bytes(hashlib.sha256(feed.name.encode("utf-8", "surrogatepass")).digest()[:8], "little")
    rng = np.random.default_rng([seed, own])
    if element_type == "string":
        picked = rng.integers(0, len(_LETTERS), (math.prod(shape), 8))
        return [bytes(_LETTERS[letter] for letter in word) for word in picked.tolist()]
    values = _values(rng, feed, element_type, shape)
    if element_type == "bfloat16":
        values = values.astype("<f4").view("<u4") >> 16
    return values.astype(_DTYPES[element_type]).tobytes()


def _values(rng: np.random.Generator, feed: Feed, element_type: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if feed.role is Role.MASK:
        return _mask(rng, shape)
    if feed.role is Role.INDEX:
        return rng.integers(0, feed.limit or 1, shape)
    if element_type in _FLOATS:
        return rng.random(shape) if feed.role is Role.POSITIVE else rng.standard_normal(shape)
    if element_type == "bool":
        return rng.integers(0, 2, shape)
    low, high = _RANGES.get(element_type, _OTHER_INTS)
    return rng.integers(low, high, shape)


def _mask(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Along the last axis ones, at least half of it, then zeros."""
    import numpy as np  # noqa: PLC0415

    length = shape[-1] if shape else 1
    ones = rng.integers((length + 1) // 2, length + 1, (*shape[:-1], 1) if shape else ())
    return (np.arange(length) < ones).astype(np.int64).reshape(shape)
