"""A night's end: its digest written down, people told of what opened or closed, the disk's bound kept.

Nothing of this loses a night: what goes wrong is said, and the figures are in the ledger.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from orchestrator.app.alerting import LossWatch, end_night
from orchestrator.app.amounts import bytes_of
from orchestrator.app.cleaning import keep_bound
from orchestrator.app.nightly.record import night_folder, write_text
from orchestrator.app.nightly.suites import Nightly
from orchestrator.app.notifying import notify
from orchestrator.errors import ExitCode, FarmError, StoreError
from orchestrator.nights.alerts import Alert
from orchestrator.report.morning.message import Message, morning_message, sudden_message
from orchestrator.report.morning.nouns import Digest
from orchestrator.report.morning.written import digest_files
from orchestrator.store.ledger import Ledger

Say = Callable[[str], object]


def digested(nightly: Nightly, night: str, ledger: Ledger, problem: str, code: ExitCode, say: Say) -> Digest:
    """Make the digest, write it into the night's folder, and tell people what is new; `problem` is why the night did
    not run as asked, `code` what its runs came to. Raises StoreError where the ledger or the folder can't be had."""
    found, folded = end_night(nightly.home, ledger, nightly.name, night, problem=problem, code=code)
    folder = night_folder(nightly, night)
    for name, text in digest_files(found).items():
        write_text(folder / name, text)
    _point(nightly.folder / "latest", night)
    message = morning_message(found, folded)
    if message is None and problem:
        message = Message(f"{nightly.name}, night {night}: could not run as asked", f"{problem}\n")
    if message is not None:
        tell(nightly, message, say)
    return found


def tell(nightly: Nightly, message: Message, say: Say) -> None:
    """Tell everybody whom the nightly's file names; who could not be told is said."""
    for words in notify(nightly.suite.notify, message):
        say(f"warning  {words}")


def watch_of(nightly: Nightly, night: str, say: Say) -> Callable[[str], Sequence[LossWatch]]:
    """Who looks, while a run goes on, whether a hub or much of the lab is gone, and tells people at once."""

    def tell_at_once(alerts: Sequence[Alert]) -> None:
        for one in alerts:
            say(f"alert  {one.words}")
        tell(nightly, sudden_message(nightly.name, night, alerts), say)

    return lambda run_id: [LossWatch(nightly.home, nightly.name, night, run_id, tell_at_once)]


def bounded(nightly: Nightly, say: Say) -> None:
    """Keep the disk's bound, where the nightly has one."""
    bound_bytes = bytes_of(nightly.suite.disk_bound)
    if bound_bytes is None:
        return
    try:
        done = keep_bound(nightly.home, bound_bytes)
    except FarmError as error:
        say(f"warning  disk: {error}")
        return
    if done.runs:
        freed = (done.size_before_bytes - done.size_after_bytes) / 1e9
        say(f"disk  {freed:.1f} GB of raw files of {len(done.runs)} old runs removed")
    if not done.holds:
        mend = "orch disk shows what takes it"
        say(f"warning  disk: {done.size_after_bytes / 1e9:.1f} GB, over {nightly.suite.disk_bound}; {mend}")


def _point(link: Path, night: str) -> None:
    """Have `latest` name the newest night."""
    with suppress(OSError):
        if os.readlink(link) > night:
            return
    part = link.with_name(f".{link.name}.{os.getpid()}")
    try:
        part.unlink(missing_ok=True)
        part.symlink_to(night)
        part.replace(link)
    except OSError as error:
        raise StoreError(f"{link}: can't be written: {error.strerror or error}") from error
