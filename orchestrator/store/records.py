"""Pure nouns of the ledger: what is written of a run, its phones, cases, trials, blocks and attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from android_runner.block import GateWait
from android_runner.facts import PhoneFacts, ProcessFacts, Vitals
from orchestrator.outcome import Outcome
from orchestrator.plan.case import Case, Dropped, Trial
from orchestrator.variants.tolerance import Numerics
from orchestrator.variants.verify_variant import CheckFacts

REJECTED = "invalid"
"""The validity of an attempt whose figures count for nothing."""


class RunState(StrEnum):
    """Where a run stands. `running` with no living process behind it means it was cut off: `resume` goes on."""

    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One `orch run`. `run_id` is its sayable name (`0412-quick-7k2f`); `plan_json` the whole plan as it was resolved,
    enough to go on with it; `binary_ort_version` what the ELF says, empty when it does not."""

    run_id: str
    created_at: datetime
    plan_name: str
    plan_digest: str
    plan_json: str
    seed: int
    rounds: int
    note: str
    tags: tuple[str, ...]
    binary_name: str
    binary_digest: str
    binary_ort_version: str
    script_digest: str
    orch_version: str
    host: str
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneRecord:
    """A phone as it was in a run; `label` is what tables call it, `phone` its identity."""

    phone: str
    label: str
    serial: str
    facts: PhoneFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantRecord:
    """A variant as it was in a run; operator counts as `((operator, count), …)`."""

    variant_id: str
    model_name: str
    model_digest: str
    recipe: str
    format: str
    converter_version: str
    graph_digest: str
    sha256: str
    size_bytes: int
    ort_format: int | None
    build_s: float
    nodes_before: tuple[tuple[str, int], ...]
    nodes_after: tuple[tuple[str, int], ...]
    claim_graph: str = ""
    """Evidence: nodes and shapes for NNAPI's claim rules (`android_runner.nnapi.notation`); empty where not asked."""
    numerics: Numerics | None = None
    """How far its outputs are from its source's; None until that is known."""
    check: CheckFacts | None = None
    """Its check variant; None where nothing was to be verified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContents:
    """Everything that is asked for, written in one transaction before a phone is touched."""

    run: RunRecord
    phones: tuple[PhoneRecord, ...]
    variants: tuple[VariantRecord, ...]
    cases: tuple[Case, ...]
    trials: tuple[Trial, ...]
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRecord:
    """A block's intent, written before the phone is told: which task is which trial, under which epoch."""

    block_id: str
    run_id: str
    phone: str
    epoch: int
    boot_id: str
    opened_at: datetime
    tasks: Mapping[str, str]
    """task id -> the work as a line of JSON (`orchestrator.farm.worktext`)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """One try at a trial. `number` counts the tries at one trial from 1; 0 leaves the counting to the ledger. A
    calibration belongs to no trial: its `trial_id` is not looked at. `evidence` maps a file's name to its digest in
    the evidence store; `argv` is the exact command; `in_force` what the runtime said it set, where it did; times are
    the phone's uptime in seconds."""

    attempt_id: str
    trial_id: str
    run_id: str
    case_id: str
    phone: str
    fingerprint: str
    purpose: str
    round: int
    position: int
    number: int
    block_id: str
    epoch: int
    recorded_at: datetime
    argv: tuple[str, ...]
    iterations_asked: int
    exit_code: int | None
    ending: str
    started_uptime_s: float | None
    ended_uptime_s: float | None
    slot_wait_s: float
    before: Vitals | None
    after: Vitals | None
    outcome: Outcome
    evidence: Mapping[str, str] = field(default_factory=dict)
    in_force: Mapping[str, str] = field(default_factory=dict)
    tuned: bool = False
    virtual: bool = False
    script_digest: str = ""
    adopted: bool = False
    """The phone finished it alone; a later process found it."""
    schema_version: int = 0
    """The ledger's schema that it was written under; 0 before it is written."""
    validity: str = ""
    """What its vitals say of it: valid, suspect or invalid; empty where nobody judged."""
    validity_reasons: tuple[str, ...] = ()
    """Why it is not valid, each in words."""
    process: ProcessFacts | None = None
    """How its process was placed; None where nothing could be read of that."""
    gate: GateWait | None = None
    """How long the phone waited before it; None where it did not have to."""

    @property
    def rejected(self) -> bool:
        """Whether its figures count for nothing: it measured, but not the case alone."""
        return self.validity == REJECTED


class TrialState(StrEnum):
    """Where a planned trial stands; all but `planned` are ends, and a trial has one."""

    PLANNED = "planned"
    MEASURED = "measured"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """A planned trial as the ledger has it. `outcome` is None while it is open; `attempt_id` names the one attempt that
    counts, None when none measured."""

    trial: Trial
    trial_id: str
    state: TrialState
    outcome: Outcome | None
    attempt_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """planned = measured + failed + skipped + open, always."""

    planned: int
    measured: int
    failed: int
    skipped: int

    @property
    def open(self) -> int:
        """Trials that have no end yet."""
        return self.planned - self.measured - self.failed - self.skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run at a glance. `ended_at` is None while it runs, or when its process was cut off."""

    run: RunRecord
    state: RunState
    counts: Counts
    started_at: datetime
    ended_at: datetime | None

    @property
    def planned(self) -> int:
        """Trials asked for."""
        return self.counts.planned

    @property
    def measured(self) -> int:
        """Trials with figures, or with their trace."""
        return self.counts.measured

    @property
    def failed(self) -> int:
        """Trials tried in vain."""
        return self.counts.failed

    @property
    def skipped(self) -> int:
        """Trials not tried to their end."""
        return self.counts.skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """A line of a run's history: nothing that was written before is lost when a state changes."""

    seq: int
    at: datetime
    kind: str
    trial_id: str | None
    detail: str
