"""Tells people through apprise (extra `[notify]`): Slack, mail, webhooks and whatever else it knows by a URL.

A URL holds secrets: it is taken from the environment, by the name of its variable, and stands in nothing that is said.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from android_runner.facts import cleaned
from orchestrator.report.morning.message import Message

TELL_S = 60.0
"""What telling everybody may take; a night does not wait longer for a server that does not answer."""
INSTALL = "pip install 'orch[notify]'"
_SECRET = 4
"""Parts of a URL of so many characters are not repeated."""


def notify(variables: Sequence[str], message: Message, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Tell everybody whose URLs stand in these environment variables (several in one are separated by spaces).

    What could not be told is said, one line a variable and reason; nothing is raised, and no URL is repeated.
    """
    found = os.environ if environment is None else environment
    said: list[str] = [f"{name}: is not set in the environment" for name in variables if not found.get(name)]
    wanted = [(name, url) for name in variables for url in found.get(name, "").split()]
    if not wanted:
        return tuple(said)
    try:
        import apprise  # noqa: PLC0415 - an extra; only who notifies needs it
    except ImportError:
        return (*said, f"nobody was told: apprise is not installed ({INSTALL})")
    done: list[str] = []

    def tell() -> None:
        for name, url in wanted:
            said.extend(f"{name}: {words}" for words in _told(apprise, url, message))
            done.append(name)

    thread = threading.Thread(target=tell, name="notify", daemon=True)
    thread.start()
    thread.join(TELL_S)
    late = [name for name, _ in wanted[len(done) :]]
    return (*said, *(f"{name}: no answer within {TELL_S:.0f} s" for name in late))


def _told(apprise: Any, url: str, message: Message) -> list[str]:
    """Why one could not be told; empty when it was."""
    try:
        with _heard() as heard:
            sender = apprise.Apprise()
            if not sender.add(url):
                return ["is no URL that apprise knows"]
            if sender.notify(title=message.title, body=message.text, body_format=apprise.NotifyFormat.TEXT):
                return []
    except Exception as error:  # noqa: BLE001 - a plugin of another's; a night is not lost for it
        return [f"{type(error).__name__}: {without_secrets(str(error), url)}"]
    reasons = dict.fromkeys(without_secrets(words, url) for words in heard)
    return [f"was not told: {'; '.join(reasons) or 'apprise does not say why'}"]


@contextmanager
def _heard() -> Iterator[list[str]]:
    """What apprise warns of; it goes nowhere else, since it may hold an address."""
    heard: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record.getMessage())

    logger, ear = logging.getLogger("apprise"), Ear(logging.WARNING)
    logger.addHandler(ear)
    went_on, logger.propagate = logger.propagate, False
    try:
        yield heard
    finally:
        logger.propagate = went_on
        logger.removeHandler(ear)


def without_secrets(words: str, url: str) -> str:
    """Words on one line, without any part of the URL but its scheme."""
    scheme, _, rest = url.partition("://")
    for text in (rest, unquote(rest)):
        for part in sorted(re.split(r"[/:@?&=#]+", text), key=len, reverse=True):
            if len(part) >= _SECRET and part != scheme:
                words = words.replace(part, "…")
    return cleaned(words)
