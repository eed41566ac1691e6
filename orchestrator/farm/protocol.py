"""Pure: the events that come into the farm's state and the commands that go out of it."""

from __future__ import annotations

from dataclasses import dataclass

from android_runner.ort import ExecutionProvider
from orchestrator.outcome import Failed, Measured, Outcome
from orchestrator.plan.case import Purpose, Side
from orchestrator.plan.length import Calibration


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A trial that was asked for, as the state knows it. `trial_id` is unique in the run.

    `shows` is the provider for whose first step on its model it is a measurement, None where it is none. One with
    `where_pays` is of the second step: it is tried where the first shows that this provider pays. `twin_of` is the id
    of the case that it measures under a second name; `baseline`: what ratios on its model are against. `pool`: the
    phones, its own among them, between which it may move; empty: it is asked of its own phone alone. `side` and `pair`
    are those of its case, where A is held against B.
    """

    trial_id: str
    case_id: str
    phone: str
    purpose: Purpose
    round: int
    position: int
    model: str = ""
    shows: ExecutionProvider | None = None
    where_pays: ExecutionProvider | None = None
    twin_of: str = ""
    baseline: bool = False
    pool: tuple[str, ...] = ()
    side: Side | None = None
    pair: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """Its model on its phone, or on whichever phone of its pool: what a first step decides for."""
        return self.pool[0] if self.pool else self.phone, self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One process to run on a phone: a planned trial, or (`trial` None) a calibration of a case, or a canary."""

    case_id: str
    purpose: Purpose
    iterations: int
    round: int
    position: int
    trial: Planned | None = None


# --- events -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PhoneUp:
    """A phone can take work: for the first time, or again."""

    phone: str


@dataclass(frozen=True, slots=True)
class PhoneGone:
    """A phone does not answer any more; `why` in words. Unless that is `for_good`, its block may still end."""

    phone: str
    why: str
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class PhoneAdded:
    """A phone that came while the run lasts; its trials are planned already, and stand in the ledger."""

    phone: str
    trials: tuple[Planned, ...]


@dataclass(frozen=True, slots=True)
class RoundAdded:
    """What a search asks of a phone next, after it was left alone for `rest_s` seconds: planned, and in the ledger. No
    trials: it asks nothing more."""

    phone: str
    trials: tuple[Planned, ...]
    rest_s: float = 0.0


@dataclass(frozen=True, slots=True)
class PhoneTaken:
    """Somebody takes a phone out of the run (held, in quarantine, retired): a trial on it is finished, no further one
    begins. `why` in words."""

    phone: str
    why: str


@dataclass(frozen=True, slots=True)
class WorkEnded:
    """One process ended and its attempt is stored. `calibration` is there when it calibrated well."""

    work: Work
    outcome: Measured | Failed
    calibration: Calibration | None = None


@dataclass(frozen=True, slots=True)
class BlockEnded:
    """A block ended: what ran, and what the phone never started. `failure` says why nothing of it could run.

    `took_s`: seconds from its first start to its last end, on the phone's clock; 0 when that is unknown. `at_s`:
    seconds from the run's start to now.
    """

    phone: str
    ended: tuple[WorkEnded, ...]
    not_started: tuple[Work, ...] = ()
    failure: Failed | None = None
    took_s: float = 0.0
    at_s: float = 0.0


@dataclass(frozen=True, slots=True)
class StopAsked:
    """No further block is to be handed out. `kill` ends what runs on the phones too."""

    kill: bool = False


@dataclass(frozen=True, slots=True)
class SiblingsLost:
    """A hub took these phones along: what failed on them just now says nothing against any of them."""

    phones: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Heard:
    """A phone with a block gave a sign of life, `at_s` seconds from the run's start."""

    phone: str
    at_s: float


@dataclass(frozen=True, slots=True)
class Tick:
    """Time went by: `at_s` seconds from the run's start to now."""

    at_s: float


Event = (
    PhoneUp | PhoneGone | PhoneAdded | RoundAdded | PhoneTaken | BlockEnded | StopAsked | SiblingsLost | Heard | Tick
)

# --- commands ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunBlock:
    """Give a phone a block, `pause_s` seconds from now; stage what `next_cases` need while it runs."""

    phone: str
    works: tuple[Work, ...]
    next_cases: tuple[str, ...] = ()
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class AskRound:
    """A phone has nothing left to do: ask its searches for their next round, and answer with `RoundAdded`."""

    phone: str


@dataclass(frozen=True, slots=True)
class EndTrial:
    """A planned trial has its row: nothing more is tried for it."""

    trial: Planned
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class FixIterations:
    """A case's number of iterations on a phone is decided, for all its rounds."""

    phone: str
    case_id: str
    iterations: int


@dataclass(frozen=True, slots=True)
class StopPhone:
    """Tell a running block to end after its current trial, or at once."""

    phone: str
    kill: bool


@dataclass(frozen=True, slots=True)
class MoveTrial:
    """A planned trial is asked of `trial.phone` from now on, and no longer of the phone that it `left`."""

    trial: Planned
    left: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Nothing more is given to a phone. `quarantine`: it failed again and again, a person should look at it."""

    phone: str
    why: str
    quarantine: bool = False


@dataclass(frozen=True, slots=True)
class Finish:
    """Every trial has its row."""


Command = RunBlock | AskRound | EndTrial | FixIterations | StopPhone | MoveTrial | GiveUp | Finish
