"""Pure: lines of text measured in terminal cells, with styles that add no character; untrusted text made harmless.

Every word that is shown goes through `shown`, whoever wrote it: a device model, a model's file name and a driver's
message are all text that somebody else chose.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

MAX_SHOWN = 2000
"""No single piece of text is shown longer than this, in characters."""

ELLIPSIS = "…"
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_SGR = {"bold": "1", "dim": "2", "good": "32", "bad": "31", "warn": "33"}


def shown(text: str) -> str:
    """`text` with everything that could move the cursor, hide, or turn the reading direction written as an escape.

    Control and format characters (ESC, CR, LF, bidirectional marks, zero width), surrogates and unassigned code points
    become `\\x1b`-like escapes; a combining mark without a base is kept with what stands before it.
    """
    cut = text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + ELLIPSIS
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(_escaped(char) if unicodedata.category(char) in _INVISIBLE else char for char in cut)


def _escaped(char: str) -> str:
    known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char)
    if known:
        return known
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line in one style; the style adds nothing that can be counted or copied."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


def line(*parts: Span | str) -> Line:
    """A line of pieces, each made harmless."""
    spans = (part if isinstance(part, Span) else Span(part) for part in parts)
    return tuple(Span(shown(span.text), span.style) for span in spans)


def rendered(lines: Iterable[Line], *, colour: bool) -> str:
    """Lines as text that ends with a newline; without colour the same characters in the same places."""
    return "".join(_one(spans, colour) + "\n" for spans in lines)


def _one(spans: Line, colour: bool) -> str:
    last = len(spans) - 1
    texts = [span.text.rstrip() if at == last else span.text for at, span in enumerate(spans)]
    if not colour:
        return "".join(texts).rstrip()
    styled = (
        f"\x1b[{_SGR[span.style]}m{text}\x1b[0m" if span.style and text.strip() else text
        for span, text in zip(spans, texts, strict=True)
    )
    return "".join(styled).rstrip()


def fit(text: str, width: int) -> str:
    """`text` made harmless and cut to `width` cells, with an ellipsis where something was cut."""
    clean = shown(text)
    if cell_len(clean) <= width:
        return clean
    kept, used = "", 0
    for char in clean:
        used += cell_len(char)
        if used > width - 1:
            break
        kept += char
    return kept + ELLIPSIS if width > 0 else ""


def middle(text: str, width: int) -> str:
    """`text` made harmless and cut to `width` cells in its middle: of a serial or a port the end tells most."""
    clean = shown(text)
    if cell_len(clean) <= width:
        return clean
    tail = ""
    for char in reversed(clean):
        if cell_len(tail) + cell_len(char) > (width - 1) * 2 // 3:
            break
        tail = char + tail
    head = fit(clean, width - cell_len(tail))
    return head + tail


def left(text: str, width: int) -> str:
    """`text` in exactly `width` cells, at the left; cut where it is longer."""
    clean = fit(text, width)
    return clean + " " * (width - cell_len(clean))


def right(text: str, width: int) -> str:
    """`text` in exactly `width` cells, at the right; cut where it is longer."""
    clean = fit(text, width)
    return " " * (width - cell_len(clean)) + clean


def wrap(text: str, width: int, *, hang: int = 0) -> list[str]:
    """`text` in lines of at most `width` cells, broken at spaces where there are some, the later ones `hang` deeper.

    Runs of spaces become one. Always at least one line.
    """
    result: list[str] = []
    current = ""
    words = deque(shown(text).split())
    while words:
        word = words.popleft()
        room = width - (hang if result else 0)
        if current and cell_len(current) + 1 + cell_len(word) <= room:
            current += f" {word}"
        elif current:
            result.append(" " * (hang if result else 0) + current)
            current = ""
            words.appendleft(word)
        else:
            current = _head(word, room)
            if current != word:
                words.appendleft(word[len(current) :])
                result.append(" " * (hang if result else 0) + current)
                current = ""
    if current or not result:
        result.append(" " * (hang if result else 0) + current)
    return result


def _head(word: str, width: int) -> str:
    """As many characters as fit, and at least one, so that a break always gets on."""
    used = 0
    for at, char in enumerate(word):
        used += cell_len(char)
        if used > width:
            return word[: max(at, 1)]
    return word


def as_listed(text: str) -> list[tuple[int, int, str]]:
    """A key under which texts stand as a person lists them: `phone-9` before `phone-10`."""
    parts = re.findall(r"(\d{1,18})|(\D+|\d+)", text)
    return [(0, int(number), "") if number else (1, 0, word) for number, word in parts]


def widest(texts: Iterable[str], *, least: int = 0, most: int) -> int:
    """The width of the widest text, within bounds."""
    return min(most, max([least, *(cell_len(shown(text)) for text in texts)]))


def paragraph(text: str, width: int, *, indent: int = 0, style: str = "", hang: int = 0) -> list[Line]:
    """A wrapped text as lines."""
    return [(Span(" " * indent + part, style),) for part in wrap(text, width - indent, hang=hang)]


def joined(parts: Sequence[str], separator: str = " · ") -> str:
    """The parts that say something, separated."""
    return separator.join(part for part in parts if part)
