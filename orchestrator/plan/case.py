"""Pure nouns of a plan: case, trial, purpose; what was dropped beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from android_runner.ort import ExecutionProvider
from android_runner.settings import SessionSettings
from orchestrator.digest import digest_of


class Side(StrEnum):
    """The two of an A/B comparison."""

    A = "A"
    B = "B"


class Purpose(StrEnum):
    """What a trial is for; they are never mixed. Calibration finds a case's number of iterations.

    Introspection is one verbose iteration whose log tells what the execution provider took. Verifying traces the case's
    check variant, whose outputs end in what tells their error. A canary is the same tiny model again and again: what
    changes there is the phone. What is sustained runs on and on: one of the processes of a case's long series.
    """

    TIME = "time"
    TRACE = "trace"
    INTROSPECT = "introspect"
    VERIFY = "verify"
    CALIBRATE = "calibrate"
    CANARY = "canary"
    SUSTAIN = "sustain"


UNPLANNED = frozenset({Purpose.CALIBRATE, Purpose.CANARY})
"""What serves the trials and is none: no row of the plan, nothing that must end."""

LATENCIES = frozenset({Purpose.TIME, Purpose.CANARY, Purpose.SUSTAIN})
"""What is run for the single latencies of its iterations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One cell of the matrix. `row` is what a person calls it ("cpu all 4t"); `also` the names of its twins and of
    merged cells; neither is part of the identity."""

    model_name: str
    variant_id: str
    graph_digest: str
    recipe_name: str
    settings: SessionSettings
    binary_digest: str
    inputs_digest: str
    row: str
    also: tuple[str, ...] = ()
    twin_of: str = ""
    """The row of which this one is a twin that is measured on purpose: what differs is the tool's own noise."""
    again: bool = False
    """The very same measured under a second name, where no other file is a twin: only this tells the two apart."""
    timed: bool = True
    traced: bool = False
    """Its trace stands beside that of NNAPI on the same graph. One that is not timed is there for that alone."""
    affinity: str = ""
    """The cores it may use as they were asked for: `big`, `0xf0`; empty: all."""
    cpu_mask: int | None = None
    """Those cores on its phone; None: all."""
    where_pays: ExecutionProvider | None = None
    """Of the second step: tried only where this provider was as fast as the other in the first. None: always."""
    side: Side | None = None
    """Which of the two it is, where A is held against B; None: neither."""
    pair: str = ""
    """What the two of a comparison are called together: the model, or both."""

    @property
    def case_id(self) -> str:
        """The digest of what was asked: variant, settings, binary, inputs; and on which cores, where not on all."""
        asked: list[object] = [self.variant_id, self.settings, self.binary_digest, self.inputs_digest]
        if self.cpu_mask is not None:
            asked += [self.affinity, self.cpu_mask]
        return digest_of([*asked, "again"] if self.again else asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A case on a phone, for one purpose, in one round; `position` is its place in the phone's order."""

    case_id: str
    phone: str
    purpose: Purpose
    round: int
    position: int

    def trial_id(self, run_id: str) -> str:
        """The trial's name in the ledger: the same question in the same run has the same id."""
        return digest_of([run_id, self.case_id, self.phone, self.purpose, self.round])[:20]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A cell that is no trial: impossible or pointless, with the reason a person can act on."""

    model_name: str
    phone: str
    row: str
    reason: str
