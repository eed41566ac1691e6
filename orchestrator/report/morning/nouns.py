"""Pure nouns of the morning digest: what it is made from, and what it says. Latencies in seconds, moments in ISO form,
UTC; names are what people call a phone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from android_runner.facts import Vitals
from orchestrator.nights.alerts import Alert
from orchestrator.nights.changes import Change
from orchestrator.nights.nouns import CaseNight, Judged, SeriesKey, Verdict
from orchestrator.plan.case import Dropped
from orchestrator.report.hands import ShownIncident
from orchestrator.report.trend import Trend
from orchestrator.store.registered import RegisteredPhone

VIRTUAL = "virtual"
"""Heads the names of virtual phones: their figures are this computer's."""

# --- what it is made from ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NightRun:
    """A run of the night; `confirms` names the run that it asked again."""

    run: str
    state: str
    planned: int
    measured: int
    failed: int
    skipped: int
    began_at: str
    confirms: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightPhone:
    """A phone as it was in a night's run. `where` is where it hung (`usb:1-1.3`)."""

    phone: str
    label: str
    device_model: str
    soc: str
    virtual: bool = False
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSign:
    """The last that was heard of a phone."""

    at: str
    vitals: Vitals | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """A night as ledger and registry have it.

    `histories` end with this night; `stood` regressed before it already. `phones` were in this night's runs,
    `phones_before` in those of `previous`, the night before (empty: there is none). `missing` are phones that were
    asked for and were not there, `lost` those of which trials were given up; both by identity.
    """

    nightly: str
    night: str
    runs: tuple[NightRun, ...]
    problem: str = ""
    """Why it could not be carried out, or not to its end; empty where it could."""
    nobody: bool = False
    """No phone was usable, and so no run began."""
    previous: str = ""
    histories: Mapping[SeriesKey, tuple[CaseNight, ...]] = field(default_factory=dict)
    judged: Mapping[SeriesKey, Judged] = field(default_factory=dict)
    stood: Collection[SeriesKey] = ()
    phones: Mapping[str, NightPhone] = field(default_factory=dict)
    phones_before: Mapping[str, NightPhone] = field(default_factory=dict)
    phones_older: Mapping[str, NightPhone] = field(default_factory=dict)
    """Phones that are away for longer, as they were last."""
    registered: Mapping[str, RegisteredPhone] = field(default_factory=dict)
    in_hand: Collection[str] = ()
    """Phones that a person has taken: held or retired."""
    quarantined: Mapping[str, str] = field(default_factory=dict)
    """Why no run may use a phone, with what releases it."""
    missing: Collection[str] = ()
    lost: Collection[str] = ()
    incidents: tuple[ShownIncident, ...] = ()
    last_signs: Mapping[str, LastSign] = field(default_factory=dict)
    care: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What batteries ask of a person, by phone."""
    dropped: tuple[Dropped, ...] = ()
    alerts: tuple[Alert, ...] = ()

    def name(self, phone: str) -> str:
        """What people call a phone; a virtual one says so."""
        known, seen = self.registered.get(phone), self.seen(phone)
        label = (known.label if known is not None else "") or (seen.label if seen is not None else "") or phone
        if seen is None or not seen.virtual or label.startswith(VIRTUAL):
            return label
        return f"{VIRTUAL} {label}"

    def seen(self, phone: str) -> NightPhone | None:
        """A phone as the newest run that had it."""
        return self.phones.get(phone) or self.phones_before.get(phone) or self.phones_older.get(phone)

    def where(self, phone: str) -> str:
        """Where it hung last (`usb:1-1.3`); empty where nobody knows."""
        seen = self.seen(phone)
        if seen is not None and seen.where:
            return seen.where
        known = self.registered.get(phone)
        return known.seen.where if known is not None and known.seen is not None else ""


# --- what it says ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """A case whose word is worth a line. `before_s` and `after_s`: the p50 of the last good night and of this one, by
    the medians of their rounds; `change` 0.08: 8 % slower, with its 95 % interval; `threshold` what it had to pass.
    `changes` are those between the last good and the first bad night. Of a case that recovered both are held against
    the night before, and there is no `change`. `since` is its first bad night, `fresh` that this night is the first to
    say so, `again_in` the runs that asked it again this night."""

    phone: str
    name: str
    model: str
    recipe: str
    row: str
    verdict: Verdict
    fresh: bool
    trend: Trend
    before_s: float | None = None
    after_s: float | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    p: float | None = None
    since: str = ""
    last_good: str = ""
    first_bad: str = ""
    again_in: tuple[str, ...] = ()
    reason: str = ""
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """Cases of a phone that were not measured, and why; `cases` in words."""

    phone: str
    name: str
    reason: str
    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """A phone (or a hub, with an empty `phone`) that needs a person: where it is plugged in, why, what to do."""

    phone: str
    name: str
    device_model: str
    where: str
    missing: bool
    why: str
    mend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinFigure:
    """A case of the dead phone: its twin's p50 this night, and the dead one's own, of the last night that has one."""

    model: str
    recipe: str
    row: str
    twin_s: float
    last_s: float | None
    last_night: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """Another phone of the same device model and SoC; what it measured in the dead one's place."""

    phone: str
    name: str
    figures: tuple[TwinFigure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """A phone that was there and is not any more. `at` is its last sign; `tried` what the ladder did, in words."""

    phone: str
    name: str
    device_model: str
    soc: str
    where: str
    at: str
    vitals: tuple[str, ...]
    tried: tuple[str, ...]
    twin: Twin | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A night for people. `sentence` is the whole of it in one; `phones` counts those of
    its runs, `virtual` those of them that are no real ones; `same` counts cases that are as they were, `still` not
    measured as in the night before, which is no news."""

    nightly: str
    night: str
    previous: str
    sentence: str
    problem: str
    runs: tuple[NightRun, ...]
    phones: int
    virtual: int
    planned: int
    measured: int
    failed: int
    skipped: int
    hands: tuple[Hand, ...]
    regressed: tuple[Shift, ...]
    suspected: tuple[Shift, ...]
    recovered: tuple[Shift, ...]
    improved: tuple[Shift, ...]
    rebased: tuple[Shift, ...]
    same: int
    insufficient: int
    insufficient_reason: str
    died: tuple[Died, ...]
    not_run: tuple[NotRun, ...]
    runs_again: tuple[NotRun, ...]
    still: int
    opened: tuple[Alert, ...]
    standing: tuple[Alert, ...]
    closed: tuple[Alert, ...]

    @property
    def fresh(self) -> tuple[Shift, ...]:
        """What regressed this night."""
        return tuple(one for one in self.regressed if one.fresh)
