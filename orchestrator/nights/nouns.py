"""Pure nouns of the nightly: a series, what one night left of it, and the word on it. Seconds, ISO dates."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

NIGHTLY_TAG = "nightly="
"""A nightly's runs bear `nightly=NAME`, `night=YYYY-MM-DD`, and one that asks again `confirms=RUN_ID`, too."""
NIGHT_TAG = "night="
CONFIRMS_TAG = "confirms="


@dataclass(frozen=True, slots=True, order=True)
class SeriesKey:
    """What stays the same over nights: today's build of a model meets yesterday's. `row` names recipe and settings."""

    phone: str
    model_name: str
    recipe_name: str
    row_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What else was true of a case's night; "" and None: not known. Compared field by field, good night against bad."""

    fingerprint: str = ""
    tuned: bool | None = None
    """Whether the phone's clocks were held: such figures are never held against those of a stock phone."""
    binary_digest: str = ""
    ort_version: str = ""
    model_digest: str = ""
    graph_digest: str = ""
    converter: str = ""
    settings: str = ""
    script_digest: str = ""
    orch_version: str = ""
    host: str = ""
    battery_health: float | None = None
    """Per cent of the design capacity."""
    canary_p50_s: float | None = None
    warmest_c: float | None = None
    nnapi_taken: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseNight:
    """One series in one night. `rounds_s`: the p50 of each round that counts, in seconds; empty where none does, and
    `ended` then says how it ended (`failed: kind`, `skipped: reason`) in words that each night would use."""

    key: SeriesKey
    run_id: str
    night: str
    rounds_s: tuple[float, ...]
    ended: str
    circumstances: Circumstances
    confirms: str = ""
    """The run that this one asked again; "" for a night's own."""


class Verdict(StrEnum):
    """The word on a series after a night."""

    REGRESSED = "regressed"
    SUSPECTED = "suspected"
    """Slower, and not confirmed yet: asked again, or to be."""
    RECOVERED = "recovered"
    IMPROVED = "improved"
    SAME = "same"
    REBASED = "re-based"
    """Another system or another class of binary: a new base, and no alarm."""
    INSUFFICIENT = "insufficient data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A series judged after its newest night.

    `change`: the newest level over the base level (1.08: 8 % slower), with its 95 % interval; None without a base.
    `threshold`: what it had to pass, learnt from the series' own noise. `last_good`, `first_bad`: run ids around the
    step, "" where there is none. `reason` says what the word alone does not.
    """

    key: SeriesKey
    night: str
    verdict: Verdict
    nights: int
    change: float | None = None
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    p: float | None = None
    last_good: str = ""
    first_bad: str = ""
    reason: str = ""
