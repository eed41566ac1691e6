"""Damages recorded evidence as a bad link, a killed process, a full disk or a hostile phone would."""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import strategies as st

_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")
NUMBERS = (
    b"nan",
    b"-nan",
    b"inf",
    b"-1",
    b"0",
    b"1e999",
    b"1e-320",
    b"9" * 400,
    b"0x10",
    b"1_0",
    b"1,5",
    b"",
)
FOREIGN = (
    b"\xff\xfe",
    b"\x00",
    b"\r",
    b"\n",
    b"\xed\xa0\x80",
    b"\x1b[31m",
    b"{",
    b'"',
    b",",
    b"\\",
    "٣".encode(),
    b" " * 5000,
)

Draw = Callable[[st.SearchStrategy[int]], int]


def _truncated(draw: Draw, text: bytes) -> bytes:
    return text[: draw(st.integers(0, len(text)))]


def _beheaded(draw: Draw, text: bytes) -> bytes:
    return text[draw(st.integers(0, len(text))) :]


def _flipped(draw: Draw, text: bytes) -> bytes:
    at = draw(st.integers(0, max(0, len(text) - 1)))
    return text[:at] + bytes([draw(st.integers(0, 255))]) + text[at + 1 :]


def _foreign(draw: Draw, text: bytes) -> bytes:
    at = draw(st.integers(0, len(text)))
    return text[:at] + FOREIGN[draw(st.integers(0, len(FOREIGN) - 1))] + text[at:]


def _renumbered(draw: Draw, text: bytes) -> bytes:
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    place = found[draw(st.integers(0, len(found) - 1))]
    return text[: place.start()] + NUMBERS[draw(st.integers(0, len(NUMBERS) - 1))] + text[place.end() :]


def _lines(draw: Draw, text: bytes) -> bytes:
    """A line dropped, doubled, or moved to another place."""
    lines = text.split(b"\n")
    at, to = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
    how = draw(st.integers(0, 3))
    line = lines[at]
    if how != 1:
        del lines[at]
    if how == 1:
        lines.insert(at, line)
    elif how >= 2:
        lines.insert(to, line)
    return b"\n".join(lines)


def _zeroed(draw: Draw, text: bytes) -> bytes:
    """Blocks that a file system lost."""
    at = draw(st.integers(0, len(text)))
    size = draw(st.integers(1, 4096))
    return text[:at] + b"\0" * len(text[at : at + size]) + text[at + size :]


_WAYS = (_truncated, _beheaded, _flipped, _flipped, _foreign, _renumbered, _renumbered, _lines, _lines, _zeroed)


@st.composite
def damaged(draw: Callable[[st.SearchStrategy[int]], int], original: bytes) -> bytes:
    """`original` with one to four damages."""
    text = original
    for _ in range(draw(st.integers(1, 4))):
        text = _WAYS[draw(st.integers(0, len(_WAYS) - 1))](draw, text)
    return text
