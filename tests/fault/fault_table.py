"""The fault table: what becomes of a trial when a fault of each kind shows at each of the eight steps.

A cell says how the trial ends, who must act, which attempts its rows tell of; or why there can be none. Every cell is
tried by `test_fault_table` on a living virtual phone, but for those that say why not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from android_runner.virtual.fault_kinds import CATALOGUE, Effect, FaultKind, Traits
from android_runner.virtual.fault_steps import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """How a trial ends that meets the fault once, and what its attempts' rows say (`ENDING` or `ENDING EXIT`).

    `kind` is its row's error and `blame` who must act, both empty for one that is measured.
    """

    outcome: str
    attempts: tuple[str, ...]
    kind: str = ""
    blame: str = ""

    @property
    def retries(self) -> int:
        """How often it was tried again."""
        return max(0, len(self.attempts) - 1)


@dataclass(frozen=True, slots=True)
class Cannot:
    """Why a kind can't show at a step."""

    why: str


HARMLESS = Cell(outcome="measured", attempts=("exited 0",))
"""The link is waited for, the question asked again, the file sent again, the adb server started again: no attempt is
lost, nobody must act."""
LOST_ONCE = Cell(outcome="measured", attempts=("lost", "exited 0"))
"""The phone can't say how it ended: tried again there, with its row."""
REJECTED_ONCE = Cell(outcome="measured", attempts=("exited 0", "exited 0"))
"""Measured under conditions that don't count: tried again there."""


def _failed(kind: str, blame: str, *attempts: str) -> Cell:
    return Cell(outcome="failed", kind=kind, blame=blame, attempts=attempts)


_HOSTILE = _failed("hostile_answer", "lab")
_REFUSED = _failed("phone_refused", "lab")
_FULL = _failed("phone_full", "lab")
_CRASHED = _failed("crashed", "runtime", "exited 139")
_UNREADABLE = _failed("unreadable", "us", "exited 0")

SPECIAL: Mapping[FaultKind, Mapping[Step, Cell]] = {
    FaultKind.FULL: {Step.STAGE: _FULL, Step.LAUNCH: _FULL},
    FaultKind.PUSH_REFUSED: {Step.STAGE: _REFUSED, Step.LAUNCH: _REFUSED},
    FaultKind.HOSTILE_NAMES: {Step.PULL: LOST_ONCE},
    FaultKind.EXIT_255: {Step.LAUNCH: _REFUSED},
    FaultKind.ENDLESS: {
        Step.STAGE: _HOSTILE,
        Step.LAUNCH: _HOSTILE,
        Step.JOURNAL: _HOSTILE,
    },
    FaultKind.NOISE: {Step.LAUNCH: _HOSTILE, Step.JOURNAL: _HOSTILE},
    FaultKind.CUT_OUTPUT: {Step.LAUNCH: _HOSTILE, Step.JOURNAL: _HOSTILE},
    FaultKind.LOST_TOOLS: {Step.STAGE: _REFUSED, Step.LAUNCH: _REFUSED},
    FaultKind.STAT_LIES: {Step.PULL: LOST_ONCE},
    FaultKind.REBOOT: {Step.RUN: LOST_ONCE, Step.JOURNAL: LOST_ONCE},
    FaultKind.POWER_OFF: {Step.RUN: LOST_ONCE, Step.JOURNAL: LOST_ONCE},
    FaultKind.DRIVER_REBOOT: {Step.RUN: LOST_ONCE},
    FaultKind.SCRIPT_KILLED: {Step.RUN: LOST_ONCE, Step.JOURNAL: LOST_ONCE},
    FaultKind.ALL_KILLED: {Step.RUN: LOST_ONCE, Step.JOURNAL: LOST_ONCE},
    FaultKind.FOLDER_LOST: {Step.PULL: LOST_ONCE},
    FaultKind.HOT: {Step.RUN: REJECTED_ONCE, Step.JOURNAL: REJECTED_ONCE},
    FaultKind.BATTERY_LOW: {Step.RUN: REJECTED_ONCE, Step.JOURNAL: REJECTED_ONCE},
    FaultKind.TOOL_KILLED: {Step.RUN: Cell(outcome="measured", attempts=("exited 137", "exited 0"))},
    FaultKind.TOOL_CRASHED: {Step.RUN: _CRASHED},
    FaultKind.TOOL_HUNG: {Step.RUN: LOST_ONCE},
    FaultKind.TOOL_CRASHED_LATE: {Step.RUN: _CRASHED},
    FaultKind.RESULT_CUT: {Step.RUN: _UNREADABLE},
    FaultKind.TOOL_GARBLES: {Step.RUN: _UNREADABLE},
}
"""The cells that are not `HARMLESS`."""


def cell(kind: FaultKind, step: Step) -> Cell | Cannot:
    """One cell of the table."""
    traits = CATALOGUE[kind]
    if step not in traits.steps:
        return Cannot(_why_not(traits, step))
    return SPECIAL.get(kind, {}).get(step, HARMLESS)


_NO_FILE_OF_THE_KIND = {
    Step.CONNECT: "no file travels while a transport comes up",
    Step.PROBE: "a probe is a shell's answer: no file travels",
    Step.STAGE: "what is staged is looked at by the phone's shell: only pushes use the file service",
    Step.LAUNCH: "its only file is the list, which is pushed and asked for by name, not read or listed",
    Step.RUN: "the host is not asked while a trial runs; what it reads of it is the journal's step",
    Step.JOURNAL: "the journal is only read and asked for by name: nothing is pushed or listed",
    Step.PULL: "results are only read: nothing is pushed",
    Step.RELEASE: "a block is taken away by the phone's shell: no file travels",
}


def _why_not(traits: Traits, step: Step) -> str:
    match traits.effect:
        case Effect.TOOL:
            return "no perf_test of ours runs there at this step"
        case Effect.FILES:
            return _NO_FILE_OF_THE_KIND[step]
        case Effect.SHELL if step is Step.CONNECT:
            return "no command runs before the transport is up"
        case Effect.SHELL if step is Step.RUN:
            return "a trial runs without the host: its own output is that of the tool's kinds"
        case Effect.SHELL:
            return "results are pulled by the file service: no command runs"
        case Effect.LINK | Effect.SERVER:
            return "no stream is open yet: before that it is `drop`, `offline` or `silent`"
        case Effect.PHONE if step is Step.CONNECT:
            return "a phone that is not connected shows nothing of it: seen from here it is `unplug`"
        case Effect.PHONE:
            return (
                "needs a block of ours that is being carried out"
                if traits.steps != (Step.RUN,)
                else ("needs a process that uses NNAPI")
            )
