"""A block: the trials that one phone gets at once, what the phone is told, and what comes back of each.

Pure types, shared by the phone script's two ends (`android_runner.phone` writes the list and reads the journal,
`android_runner.run` carries it out) and by the farm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from android_runner.device import PhonePath
from android_runner.facts import ProcessFacts, Vitals
from android_runner.validity import Limits

ORCH_DIR = PhonePath("/data/local/tmp/orch")
"""The only folder on a phone that is ours."""

LOG_FILE = "logcat"
"""Name of the phone's log in a trial's folder; `android_runner.phone_log` reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialTask:
    """One process to run on the phone.

    `task_id` matches `[a-z0-9][a-z0-9-]{0,63}`. A `PhonePath` in `argv` or `env` is written behind the phone's root
    prefix. The process starts with its own result folder as working directory, so that relative names in `argv`
    (result file, trace prefix) land there. `deadline_s` is whole seconds from the start of the process.
    `log_tags`: what the phone's log says under these tags meanwhile is kept in the folder's file `LOG_FILE`; that
    starts processes beside the trial, so never for one that is timed. `cpu_mask` are the cores that it may use, bit n
    for core n, set by the phone's `taskset`; a phone without one refuses the trial. None: as the phone has it.
    """

    task_id: str
    argv: tuple[str, ...]
    deadline_s: int
    env: Mapping[str, str] = field(default_factory=dict)
    log_tags: tuple[str, ...] = ()
    cpu_mask: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Trials in the order in which the phone runs them, under one epoch of the phone's lease.

    `block_id` as `TrialTask.task_id`; its folder on the phone is `ORCH_DIR/blocks/<block_id>`.
    `task_profile`: Android's task profile (a plain word) that all its processes have; empty: none. With `limits` the
    phone waits before each trial until it meets them (the gate); None: each trial starts at once.
    """

    block_id: str
    epoch: int
    tasks: tuple[TrialTask, ...]
    task_profile: str = ""
    limits: Limits | None = None
    gate_once: bool = False
    """The phone waits before the first trial only: what the others make of it is what is measured."""

    @property
    def directory(self) -> PhonePath:
        """Where the block lies on the phone."""
        return ORCH_DIR / "blocks" / self.block_id


class GateOutcome(StrEnum):
    """How a wait at the gate ended: within the limits, no longer getting cooler, or out of patience."""

    READY = "ready"
    FLAT = "flat"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateWait:
    """A wait before a trial, in whole seconds that are not the trial's; `cause` is what was waited for last.

    `cause` is one of battery, zone, level, load, status.
    """

    waited_s: int
    outcome: GateOutcome
    cause: str


class Ending(StrEnum):
    """How a task's process ended, as the phone's journal tells it."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFolder:
    """What came back of one task: raw files by name, as pulled and checked, and the vitals around it.

    `exit_code` is the shell's (128 + n for signal n), None when nobody was left to see it. `files` holds
    `stdout`, `stderr` and whatever the process wrote (result file, trace) as local paths; a name the phone gave is
    used only after the checks of `DirEntry`. Times are the phone's uptime in seconds. `slot_wait_s` is the time a
    virtual phone's process waited for a computing slot, 0.0 elsewhere. `gate` is None where the trial did not have to
    wait for the phone; `process` is None where nothing could be read of how it was placed.
    """

    task_id: str
    ending: Ending
    exit_code: int | None
    started_uptime_s: float | None
    ended_uptime_s: float | None
    slot_wait_s: float
    files: Mapping[str, Path]
    before: Vitals | None
    after: Vitals | None
    process: ProcessFacts | None = None
    gate: GateWait | None = None


class BlockEnding(StrEnum):
    """Why the phone script stopped."""

    DONE = "done"
    STOPPED = "stopped"
    LEASE_LOST = "lease_lost"
    VANISHED = "vanished"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockReport:
    """All that came back of one block; every task is in `folders` or in `not_started`, once.

    `folders` is in the order of the block. `problems` are sentences about what could not be used (a damaged journal, a
    file over its bound, a result that contradicts the journal), for the log of the run.
    """

    ending: BlockEnding
    folders: tuple[TrialFolder, ...]
    not_started: tuple[str, ...]
    problems: tuple[str, ...] = ()
