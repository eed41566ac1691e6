"""Pure nouns of the registry: what people, and runs, have said of a phone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Somebody has the phone in hand: a trial on it is finished, no further one begins. `until` None: till `free`."""

    by: str
    since: datetime
    why: str = ""
    until: datetime | None = None

    def holds(self, now: datetime) -> bool:
        """Whether it is still in force."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """The phone is not to be used: `reason` in a few words, `evidence` what was seen (a digest in the evidence store,
    or words), `by` who put it there: a user, or a run's name. From `expires` on it may be tried on probation; None:
    only `release` ends it."""

    reason: str
    since: datetime
    by: str = ""
    evidence: str = ""
    expires: datetime | None = None

    def keeps_out(self, now: datetime) -> bool:
        """Whether no run may use the phone now."""
        return self.expires is None or now < self.expires


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """The phone has left the lab; its rows stay."""

    by: str
    since: datetime
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A phone as it was last seen: what it is, and where it is plugged in (`usb:1-1.3`)."""

    device_model: str
    serial: str
    where: str
    fingerprint: str
    virtual: bool = False
    host: str = ""
    """The host that it hangs on, as the lab's file names it; empty: this computer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredPhone:
    """A phone that the lab knows, by identity. `label` is empty until somebody gives one; a quarantine that expired
    stays here until a run that ended well, or a person, releases the phone."""

    phone: str
    label: str = ""
    expected: bool = False
    seen: Sighting | None = None
    seen_at: datetime | None = None
    hold: Hold | None = None
    quarantine: Quarantine | None = None
    retired: Retired | None = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self.label or self.phone

    def held(self, now: datetime) -> Hold | None:
        """The hold in force now."""
        return self.hold if self.hold is not None and self.hold.holds(now) else None

    def kept_out(self, now: datetime) -> Quarantine | None:
        """The quarantine in force now."""
        return self.quarantine if self.quarantine is not None and self.quarantine.keeps_out(now) else None

    def on_probation(self, now: datetime) -> bool:
        """Whether its quarantine has expired and nobody has released it yet."""
        return self.quarantine is not None and not self.quarantine.keeps_out(now)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneEvent:
    """A line of a phone's history: `kind` is what was done (`label`, `hold`, `quarantine` …), `by` whom."""

    seq: int
    at: datetime
    phone: str
    kind: str
    by: str
    detail: str
