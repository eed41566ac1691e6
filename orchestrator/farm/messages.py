"""Pure: what the loop tells a lane, and what a lane reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from android_runner.block import Block
from android_runner.recovery.keeper import ServerEvent
from android_runner.recovery.rungs import Step
from orchestrator.farm.protocol import BlockEnded, PhoneGone, PhoneTaken, PhoneUp, Work
from orchestrator.farm.siblings import HubIncident
from orchestrator.plan.case import Trial
from orchestrator.store.records import AttemptRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockOrder:
    """A block as the ledger knows it, to be started `pause_s` seconds from now. `adopted`: it was started before, by an
    earlier process, or by this one before the phone was lost."""

    block_id: str
    epoch: int
    works: tuple[Work, ...]
    next_cases: tuple[str, ...] = ()
    adopted: bool = False
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class BlockStored:
    """What a block brought is in the ledger: its folder on the phone has done its duty. `over`: nothing of it runs."""

    block: Block
    over: bool = True


@dataclass(frozen=True, slots=True)
class BlockTidied:
    """Nothing of a block lies on its phone any more."""

    phone: str
    block_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockOutcome:
    """What the loop writes down of a block, and the event that the state gets."""

    block_id: str
    ending: str
    attempts: tuple[AttemptRecord, ...]
    event: BlockEnded


@dataclass(frozen=True, slots=True)
class Staged:
    """Bytes that went to a phone."""

    phone: str
    pushed_bytes: int


@dataclass(frozen=True, slots=True)
class TrialSeen:
    """A process of a running block started or ended on the phone; its results are not here yet."""

    phone: str
    task_id: str


@dataclass(frozen=True, slots=True)
class LaneBroken:
    """A bug in the lane: the run goes on without it."""

    phone: str
    error: BaseException


@dataclass(frozen=True, slots=True)
class HubLost:
    """A hub lost several phones at once, or one more: an incident of the hub, none of theirs."""

    incident: HubIncident


@dataclass(frozen=True, slots=True)
class RungTried:
    """One rung of the recovery ladder was tried for a phone."""

    phone: str
    step: Step


@dataclass(frozen=True, slots=True)
class ServerSeen:
    """Something happened to the adb server of a run's phones."""

    event: ServerEvent


@dataclass(frozen=True, slots=True)
class PutAside:
    """A phone is to go into quarantine: why, what was seen and tried, and for how long (None: until it is released)."""

    phone: str
    reason: str
    evidence: str
    lasts_s: float | None


@dataclass(frozen=True, slots=True)
class TurnTaken:
    """A phone that another run had is ours again; `epoch` is the last under which it was held."""

    phone: str
    epoch: int


@dataclass(frozen=True, slots=True)
class TurnMissed:
    """The run was told to stop before its turn on a phone came."""

    phone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRound:
    """What a phone's searches ask of it next, after `rest_s` seconds of rest; `ended` says by model which are over, and
    why. Without trials nothing more is asked."""

    phone: str
    trials: tuple[Trial, ...]
    rest_s: float
    ended: Mapping[str, str]


Report = (
    NextRound
    | TurnTaken
    | TurnMissed
    | BlockTidied
    | RungTried
    | ServerSeen
    | PutAside
    | HubLost
    | BlockOutcome
    | Staged
    | TrialSeen
    | LaneBroken
    | PhoneUp
    | PhoneGone
    | PhoneTaken
)
