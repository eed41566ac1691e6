"""stdout as a C++ program has it when it is not a terminal: kept back until something flushes it.

Lines that were not flushed are lost with a process that is killed, as the true program's are.
"""

from __future__ import annotations

from os import write

STDOUT, STDERR = 1, 2


def write_all(descriptor: int, text: str) -> None:
    """Write text that may carry undecodable bytes of the command line."""
    data = text.encode("utf-8", "surrogateescape")
    while data:
        data = data[write(descriptor, data) :]


class Output:
    """The buffer of stdout."""

    def __init__(self) -> None:
        self._pending: list[str] = []

    def line(self, text: str) -> None:
        """A line that waits for a flush."""
        self._pending.append(f"{text}\n")

    def text(self, text: str) -> None:
        """Text as it is."""
        self._pending.append(text)

    def flush(self) -> None:
        """Write out what waits."""
        pending, self._pending = "".join(self._pending), []
        write_all(STDOUT, pending)

    def discard(self) -> None:
        """Forget what waits."""
        self._pending = []


def number(value: float) -> str:
    """A double as `std::ostream` prints it by default: six significant digits, an exponent where that is shorter."""
    return "%g" % value  # noqa: UP031 - an f-string would be the same, `%g` says what it is
