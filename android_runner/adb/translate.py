"""One place where foreign exceptions and the adb server's refusals become the program's own errors."""

from __future__ import annotations

import errno
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from adbutils import errors as adb_errors

from android_runner.errors import DeadlinePassed, HostileAnswer, LinkError, LinkLost, LinkRefused, RunnerError
from android_runner.facts import printable

FOREIGN: tuple[tuple[type[Exception], type[LinkError]], ...] = (
    (adb_errors.AdbTimeout, DeadlinePassed),
    (adb_errors.AdbConnectionError, LinkLost),
    (adb_errors.AdbInstallError, LinkRefused),
    (adb_errors.AdbSyncError, HostileAnswer),
    (adb_errors.AdbError, LinkLost),
    (TimeoutError, DeadlinePassed),
    (EOFError, LinkLost),
    (OSError, LinkLost),
    (struct.error, HostileAnswer),
    (UnicodeError, HostileAnswer),
    (ValueError, HostileAnswer),
    (AssertionError, HostileAnswer),
    (IndexError, HostileAnswer),
)
"""First match wins. Base classes come last, so that each of adbutils' classes is named."""

_REFUSED = re.compile(r"unauthorized|authorizing|more than one device|no permissions|insufficient permissions", re.I)
MAX_WORDS = 300


def words(text: str | bytes) -> str:
    """Text from outside made fit for a message: one line, printable, at most `MAX_WORDS` characters."""
    plain = text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text
    return printable(plain[: 4 * MAX_WORDS])[:MAX_WORDS].rstrip()


def refusal(serial: str, text: str | bytes) -> LinkError:
    """The error for a FAIL of the adb server: `LinkRefused` when a person must act, else `LinkLost`.

    `offline` and `not found` are what a phone looks like in the seconds after a cable moved, so they are `LinkLost`.
    """
    said = words(text)
    kind = LinkRefused if _REFUSED.search(said) else LinkLost
    return kind(f"{serial}: the adb server says: {said or 'nothing'}")


def own_error(error: Exception, serial: str, what: str) -> LinkError | None:
    """The error of our tree for a foreign one; None when it is not of the kinds that a link brings."""
    if isinstance(error, TimeoutError) and error.errno == errno.ETIMEDOUT:
        return LinkLost(f"{serial}: {what}: the connection timed out")
    for foreign, own in FOREIGN:
        if isinstance(error, foreign):
            if own is DeadlinePassed:
                return DeadlinePassed(f"{serial}: {what}: no answer within its deadline")
            return own(f"{serial}: {what}: {words(str(error)) or type(error).__name__}")
    return None


@contextmanager
def translated(serial: str, what: str) -> Iterator[None]:
    """Let only errors of our tree out; `what` says what was tried."""
    try:
        yield
    except RunnerError:
        raise
    except tuple(foreign for foreign, _ in FOREIGN) as error:
        own = own_error(error, serial, what)
        if own is None:
            raise
        raise own from error
