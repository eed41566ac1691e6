"""Files from the phone: requests pipelined, each file under a temporary name until it is whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence

from android_runner.adb.sync import AHEAD, SyncFailed, SyncSession, staging_error
from android_runner.deadline import Deadline
from android_runner.device import PhonePath, PullItem


def pull_some(session: SyncSession, *, serial: str, items: Sequence[PullItem], deadline: Deadline) -> list[bool]:
    """Pull until the end of `items` or the first missing file, which ends the session and the list with False.

    Raises `PhoneRefused` for a file that is there but cannot be read, OSError when a local file cannot be written.
    """
    found: list[bool] = []
    asked = 0
    for number, item in enumerate(items):
        if asked - number <= AHEAD // 2:
            more = items[asked : number + AHEAD]
            session.ask_for([one.source for one in more], deadline)
            asked += len(more)
        try:
            _pull_one(session, item, deadline)
        except SyncFailed as error:
            if not error.failed.missing():
                raise staging_error(serial, f"pull {item.source}", error.failed.text) from error
            return [*found, False]
        found.append(True)
    return found


def _pull_one(session: SyncSession, item: PullItem, deadline: Deadline) -> None:
    temporary = item.target.with_name(f".part-{secrets.token_hex(6)}")
    try:
        with temporary.open("xb") as sink:
            session.receive(item.source, item.max_bytes, sink.write, deadline)
        os.replace(temporary, item.target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_one(session: SyncSession, *, serial: str, path: PhonePath, max_bytes: int, deadline: Deadline) -> bytes | None:
    """The bytes of one file; None where there is none."""
    whole = bytearray()
    session.ask_for([path], deadline)
    try:
        session.receive(path, max_bytes, whole.extend, deadline)
    except SyncFailed as error:
        if not error.failed.missing():
            raise staging_error(serial, f"read {path}", error.failed.text) from error
        return None
    return bytes(whole)
