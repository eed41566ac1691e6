"""Pure nouns of a comparison: BASE, NEW, what is meant to differ, and what is said of each case. Seconds, bytes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from orchestrator.measure.contrast import Word
from orchestrator.report.stats import Ratio


class Across(StrEnum):
    """What may be meant to differ between BASE and NEW."""

    BINARY = "binary"
    CONVERTER = "converter"
    MODEL = "model"
    FORMAT = "format"
    RECIPE = "recipe"
    SETTINGS = "settings"
    FINGERPRINT = "fingerprint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Something that is not the same in BASE and NEW: its name, both values in words, and where it was seen."""

    what: str
    base: str
    new: str
    where: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """One side: the run, and what of it was asked for (`phone` and `row` empty: all)."""

    run: str
    created_at: datetime | None
    state: str
    ort_version: str
    binary_digest: str
    phone: str = ""
    row: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCase:
    """One case that both sides measured.

    `ratio` is how many times as fast NEW is (above 1: faster), None with fewer than three rounds. `p` is that of the
    exact rank test, `least_p` the least that as many rounds can give; both before any correction. `reason` says more
    where the word needs it.
    """

    phone: str
    label: str
    model: str
    new_model: str
    row: str
    new_row: str
    virtual: bool
    base_p50_s: float
    new_p50_s: float
    n_base: int
    n_new: int
    ratio: Ratio | None
    p: float | None
    least_p: float | None
    verdict: Word
    reason: str = ""
    base_nnapi: str = ""
    """What NNAPI took, in words; "" where nobody asked, or it is not known."""
    new_nnapi: str = ""
    base_error: str = ""
    """How far the outputs on the phone are from what is expected, in words; "" where nobody looked (`--verify`)."""
    new_error: str = ""

    @property
    def name(self) -> str:
        """`cpu basic → cpu all`; one name where both sides have the same."""
        return self.row if self.row == self.new_row else f"{self.row} → {self.new_row}"

    @property
    def models(self) -> str:
        """`old → new`; one name where both sides have the same."""
        return self.model if self.model == self.new_model else f"{self.model} → {self.new_model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCompared:
    """A case that is not compared, and why. `lost`: BASE measured it, NEW was to, and did not."""

    label: str
    model: str
    row: str
    reason: str
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryChange:
    """A phone's canary in both runs: how many times as fast it was in NEW, from medians of `n_base` and `n_new` looks.

    `flat`: that is about what one process differs from the next. `shared`: what is meant to differ acts on it, too.
    """

    phone: str
    label: str
    ratio: float
    n_base: int
    n_new: int
    flat: bool
    shared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantChange:
    """A recipe's variant on both sides, where the models differ: size, how far each is from its own source, operators
    whose number changed as (operator, before, after)."""

    model: str
    recipe: str
    base_bytes: int | None
    new_bytes: int | None
    base_error: float | None
    new_error: float | None
    base_verdict: str
    new_verdict: str
    operators: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorChange:
    """Nodes of a case that are the same work on both sides, by their traces: seconds of one whole run in them.

    `base` and `new` name operators with how many nodes (`2 Conv + 2 Relu`); empty where a side has none.
    """

    label: str
    model: str
    row: str
    base: str
    new: str
    base_s: float
    new_s: float


class GateWord(StrEnum):
    """What became of a gate on a case."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_TOLD = "not told"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """A gate on a case: the gate as it was written, what became of it, and the figures in words."""

    gate: str
    label: str
    model: str
    row: str
    word: GateWord
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The whole answer. `across` is what is meant to differ, "" where nothing does; `across_named` whether somebody
    named it; `change` says it in values. `rounds_needed` is how many rounds a run would have told a single difference
    among these cases, None where all could be told."""

    base: ComparedRun
    new: ComparedRun
    sentence: str
    across: str
    across_named: bool
    changes: tuple[Difference, ...]
    one_run: bool
    delta: float
    false_rate: float
    cases: tuple[ComparedCase, ...]
    not_compared: tuple[NotCompared, ...]
    canaries: tuple[CanaryChange, ...]
    variants: tuple[VariantChange, ...]
    operators: tuple[OperatorChange, ...]
    gates: tuple[GateResult, ...]
    rounds_needed: int | None
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[tuple[Word, int], ...]:
        """How many cases each word was said of, in the order of `Word`."""
        return tuple((word, sum(case.verdict is word for case in self.cases)) for word in Word)
