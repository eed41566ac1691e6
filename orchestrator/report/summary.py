"""Pure nouns of a report: what a run found, in the order in which it is read. Latencies in seconds.

`summarize.summarize(frames)` makes it; `terminal`, `markdown` and `as_json` show it, with the same fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from orchestrator.report.ab import AbAnswer
from orchestrator.report.checks import CaseCheck
from orchestrator.report.cold import ColdStart
from orchestrator.report.comparison.nouns import GateResult
from orchestrator.report.cores import BoundCores
from orchestrator.report.nnapi import NnapiAnswer
from orchestrator.report.prepared import PreparedStep
from orchestrator.report.replay import Replay
from orchestrator.report.stats import Ratio, Verdict
from orchestrator.report.sustained import Sustained
from orchestrator.report.trust import PhoneTrust
from orchestrator.report.tune import TuneReport


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead:
    """What was asked and with what: enough to say where every figure comes from. Empty text: not known."""

    run: str
    created_at: datetime | None
    state: str
    duration_s: float | None
    plan_name: str
    plan_digest: str
    seed: int | None
    rounds: int
    note: str
    tags: tuple[str, ...]
    binary_name: str
    binary_digest: str
    ort_version: str
    converter_versions: tuple[str, ...]
    script_digest: str
    orch_version: str
    host: str
    user: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Trials of one purpose: planned = measured + failed + skipped + open, and `open` is 0 once a run has ended.

    `failed_by` and `skipped_by` break them down by a word, most first.
    """

    purpose: str
    planned: int
    measured: int
    failed: int
    skipped: int
    open: int
    failed_by: tuple[tuple[str, int], ...]
    skipped_by: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """One case on one phone, one row of a table.

    `rank` is None where it may not be ranked; `reason` then says why, or what became of it when nothing was measured.
    `p90_s` is the median of the rounds' p90s. `vs_default` is how many times as fast as the baseline it is. `marks`
    are short words on what went otherwise than planned. `n` of `rounds` planned rounds were valid.
    """

    case: str
    row: str
    also: tuple[str, ...]
    recipe: str
    format: str
    rank: int | None
    shared: bool
    p50_s: float | None
    low_s: float | None
    high_s: float | None
    half_width_s: float | None
    p90_s: float | None
    session_creation_s: float | None
    n: int
    rounds: int
    iterations: int | None
    vs_default: Ratio | None
    marks: tuple[str, ...]
    reason: str
    resolves: float | None = None
    """The smallest difference from the baseline that its figure could have told, as a fraction; of the baseline itself
    the median over all others."""
    check: CaseCheck | None = None
    """What it computes on this phone; None where nobody asked."""
    cold: ColdStart | None = None
    """What it costs before its first answer; None where nothing was measured."""
    cores: BoundCores | None = None
    """The cores that it was bound to; None: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinDifference:
    """One pair of twins measured on purpose, once a phone: model, names, and their difference as a fraction."""

    model: str
    row: str
    twin: str
    difference: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneAnswer:
    """One model on one phone. `rows` are in the order of their figures, those without one last.

    `baseline` is the row that `vs_default` is against, "" when there is none; `baseline_note` says what stands in for
    the default and why. `resolves` is the smallest difference that could be told, as a fraction.
    """

    phone: str
    label: str
    device_model: str
    serial: str
    api_level: int | None
    virtual: bool
    tuned: bool
    verdict: Verdict
    best: SettingRow | None
    baseline: str
    baseline_note: str
    rows: tuple[SettingRow, ...]
    resolves: float | None
    twins: TwinDifference | None
    nnapi: NnapiAnswer | None = None
    prepared: tuple[PreparedStep, ...] = ()
    prepare_problem: str = ""
    battery: tuple[str, ...] = ()
    """What its battery asks of a person."""
    sustained: Sustained | None = None
    trust: PhoneTrust | None = None

    @property
    def name(self) -> str:
        """`B3 Pixel 8`: what a person calls it."""
        return " ".join(part for part in (self.label or self.phone, self.device_model) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantRow:
    """A variant of a model: operator counts before and after, size, format version; `twins` have an equal graph.

    `verdict` says whether it computes what its source does (empty: nobody has looked yet), `verdict_reason` why not;
    `error` is the largest difference as part of the output's largest value, `cosine` the least of all outputs.
    """

    variant: str
    recipe: str
    format: str
    converter_version: str
    graph_digest: str
    size_bytes: int | None
    ort_format: int | None
    nodes_before: tuple[tuple[str, int], ...]
    nodes_after: tuple[tuple[str, int], ...]
    twins: tuple[str, ...]
    verdict: str = ""
    verdict_reason: str = ""
    precision: str = ""
    error: float | None = None
    cosine: float | None = None
    top1_same: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedRow:
    """A setting that was no trial, with its reason, and the labels of the phones where it was not one."""

    row: str
    reason: str
    phones: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """One model: a sentence, then every phone, real ones first, then how its variants came out."""

    model: str
    sentence: str
    phones: tuple[PhoneAnswer, ...]
    variants: tuple[VariantRow, ...]
    dropped: tuple[DroppedRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """The whole report. `headline` is its first line, a sentence; `counts` has the timed trials first."""

    headline: str
    head: RunHead
    counts: tuple[Counts, ...]
    models: tuple[ModelSummary, ...]
    hands: tuple[str, ...] = ()
    """What needs a person's hands, a sentence each."""
    unread: tuple[str, ...] = ()
    """What this was made without, as it could not be read, a sentence each."""
    ab: AbAnswer | None = None
    """A beside B, where two are held against each other."""
    gates: tuple[GateResult, ...] = ()
    """What became of the gates on A beside B."""
    replay: Replay | None = None
    """Whether a row that was asked again says the same."""
    tune: TuneReport | None = None
    """What searches for the best setting found, where that was asked for."""

    @property
    def answered_above(self) -> bool:
        """Whether what was asked has its answer before the models: A beside B, a replay, a search."""
        return self.ab is not None or self.replay is not None or self.tune is not None
