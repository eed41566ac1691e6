"""Pure: which step of a trial's way an operation on a virtual phone belongs to, told from what the host asks for.

The eight steps are those of `orch run`: the transport comes up (connect), the phone is asked what it is and whether it
answers (probe), files are put there (stage), a block is written down and started (launch), a trial's process runs
(run), the journal is followed (journal), results are taken (pull), the phone is tidied up (release).
"""

from __future__ import annotations

import re
from enum import StrEnum

from android_runner.block import ORCH_DIR
from android_runner.lease import LEASE
from android_runner.receipts import STAGED_DIR


class Step(StrEnum):
    """A step of a trial's way over a phone, in the order in which they come."""

    CONNECT = "connect"
    PROBE = "probe"
    STAGE = "stage"
    LAUNCH = "launch"
    RUN = "run"
    JOURNAL = "journal"
    PULL = "pull"
    RELEASE = "release"


class Medium(StrEnum):
    """What carries an operation."""

    CONNECTION = "connection"
    SHELL = "shell"
    SEND = "send"
    RECV = "recv"
    STAT = "stat"
    LIST = "list"


def medium_of_file(request: bytes) -> Medium:
    """What a request to the file service is."""
    if request in (b"SEND", b"SND2"):
        return Medium.SEND
    if request in (b"RECV", b"RCV2"):
        return Medium.RECV
    return Medium.LIST if request in (b"LIST", b"LIS2") else Medium.STAT


_BLOCKS = ORCH_DIR / "blocks"
_REMOVES_BLOCK = re.compile(rf"rm -rf \S*{_BLOCKS}/")
_LAUNCHES = ("setsid sh ", str(LEASE), "only='*'", "/list")
_FOLLOWED = ("journal", "beat", "pid", "stop", "kill")
_ANSWERS = ("list", "started", "refused")


def step_of_shell(command: str) -> Step:
    """The step of a shell command; what belongs to no other is a probe."""
    if _REMOVES_BLOCK.search(command):
        return Step.RELEASE
    if any(word in command for word in _LAUNCHES):
        return Step.LAUNCH
    if str(_BLOCKS) in command:
        return Step.JOURNAL
    return Step.STAGE if str(STAGED_DIR) in command else Step.PROBE


def step_of_file(request: bytes, path: str) -> Step:
    """The step of a request (`SEND`, `RECV`, `STAT`, …) to the file service for a path on the phone."""
    if path.startswith(f"{STAGED_DIR}"):
        return Step.STAGE
    if not path.startswith(f"{_BLOCKS}/"):
        return Step.PROBE
    name = path.split("/")[len(_BLOCKS.split("/")) + 1 :][:1]
    if request in (b"SEND", b"SND2") or name in [[one] for one in _ANSWERS]:
        return Step.LAUNCH
    if name in [[one] for one in _FOLLOWED] and (name != ["pid"] or request not in (b"RECV", b"RCV2")):
        return Step.JOURNAL
    return Step.PULL
