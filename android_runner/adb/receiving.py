"""Files from the phone: requests pipelined, each file under a temporary name until it is whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass

from android_runner.adb.sync import SyncFailed, SyncSession, staging_error
from android_runner.deadline import Deadline
from android_runner.device import PhonePath, PullItem
from android_runner.errors import LinkLost


@dataclass(frozen=True, slots=True)
class Pulled:
    """What one session gave, in the order of the items; `cut` when it ended before it said anything of the next."""

    found: list[bool]
    cut: bool = False


def pull_some(
    session: SyncSession, *, serial: str, items: Sequence[PullItem], ahead: int, deadline: Deadline
) -> Pulled:
    """Pull until the end of `items` or the first missing file, with up to `ahead` requests under way.

    A missing file's FAIL ends the session, and the requests queued behind it can make the server's socket be reset
    before the FAIL is here: such an end is `cut`, and the next item must be asked for alone to know. Raises `LinkLost`
    when nothing was queued, `PhoneRefused` for a file that is there but cannot be read, OSError when a local file
    cannot be written.
    """
    found: list[bool] = []
    asked = 0
    for number, item in enumerate(items):
        if asked < len(items) and asked - number <= ahead // 2:
            more = items[asked : number + ahead]
            _ask_ahead(session, more, asked > number, deadline)
            asked += len(more)
        try:
            _pull_one(session, item, deadline)
        except SyncFailed as error:
            if not error.failed.missing():
                raise staging_error(serial, f"pull {item.source}", error.failed.text) from error
            return Pulled([*found, False])
        except LinkLost:
            if asked == number + 1:
                raise
            session.spent = True
            return Pulled(found, cut=True)
        found.append(True)
    return Pulled(found)


def _ask_ahead(session: SyncSession, items: Sequence[PullItem], under_way: bool, deadline: Deadline) -> None:
    """Request more; with answers still to come, an end of the session is left to be seen where they are read."""
    with suppress(LinkLost) if under_way else nullcontext():
        session.ask_for([one.source for one in items], deadline)


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
