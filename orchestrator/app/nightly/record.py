"""What is kept of a night beside its runs: `HOME/nightly/NAME/NIGHT/night.json`; and who carries it out now.

Which runs a night has is in the ledger, by their tags; so a process that was killed anywhere loses nothing.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime
from pathlib import Path

from orchestrator.app.nightly.suites import Nightly
from orchestrator.errors import Problem, StoreError, UsageError
from orchestrator.farm.lock import Holder, PhoneLock
from orchestrator.home import Home
from orchestrator.nights.calendar import Night
from orchestrator.nights.nouns import CONFIRMS_TAG, NIGHT_TAG, NIGHTLY_TAG
from orchestrator.store.ledger import Ledger, RunSummary
from orchestrator.variants.whole_files import write_whole

FILE = "night.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class NightRecord:
    """A night as it was carried out. Times are UTC, ISO; `ended_at` "" : it has not come to its end. `exit` is its exit
    code then, `problem` why it could not begin."""

    nightly: str
    night: str
    starts_at: str
    ends_at: str
    began_at: str
    ended_at: str = ""
    exit: int | None = None
    problem: str = ""

    def as_night(self) -> Night:
        """The night with its own deadline, whatever the suite says by now."""
        return Night(
            day=date.fromisoformat(self.night),
            starts_at=datetime.fromisoformat(self.starts_at),
            ends_at=datetime.fromisoformat(self.ends_at),
        )


def night_folder(nightly: Nightly, night: str) -> Path:
    """Where a night's record and digest lie."""
    return nightly.folder / night


def begun(nightly: Nightly, night: Night, now: datetime) -> NightRecord:
    """The record of a night that begins now."""
    return NightRecord(
        nightly=nightly.name,
        night=night.name,
        starts_at=night.starts_at.isoformat(),
        ends_at=night.ends_at.isoformat(),
        began_at=now.astimezone(UTC).isoformat(),
    )


def write_record(nightly: Nightly, record: NightRecord) -> None:
    """Keep a night's record, whole or not at all. Raises StoreError."""
    write_text(night_folder(nightly, record.night) / FILE, json.dumps(asdict(record), indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file of a night, whole or not at all, its folder made. Raises StoreError."""
    try:
        write_whole(path, text)
    except OSError as error:
        raise StoreError(f"{path}: can't be written: {error.strerror or error}") from error


def read_record(nightly: Nightly, night: str) -> NightRecord | None:
    """What was kept of a night; None: it never began. One that can't be read counts as one that never began: its runs
    are in the ledger."""
    try:
        found = json.loads((night_folder(nightly, night) / FILE).read_text(encoding="utf-8"))
        record = NightRecord(**{one.name: found[one.name] for one in fields(NightRecord)})
        record.as_night()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record


def nights_kept(nightly: Nightly) -> list[NightRecord]:
    """Every night of which something is kept, oldest first."""
    folders = [path.parent for path in nightly.folder.glob(f"*/{FILE}") if not path.parent.is_symlink()]  # `latest`
    found = [read_record(nightly, folder.name) for folder in folders]
    return sorted((one for one in found if one is not None), key=lambda one: one.night)


@dataclass(frozen=True, slots=True)
class NightRuns:
    """A night's runs: its own, and those that asked again, oldest first."""

    own: RunSummary | None
    confirming: tuple[RunSummary, ...]

    @property
    def every(self) -> tuple[RunSummary, ...]:
        """All of them."""
        return (*([self.own] if self.own is not None else []), *self.confirming)


def runs_of(nightly: str, night: str, ledger: Ledger) -> NightRuns:
    """The runs that bear a night's tags. Of several of its own the newest counts: who began it anew meant that one."""
    wanted = {f"{NIGHTLY_TAG}{nightly}", f"{NIGHT_TAG}{night}"}
    found = [one for one in ledger.runs() if wanted <= set(one.run.tags)]
    own = next((one for one in found if not confirms(one)), None)
    asked_again = [one for one in found if own is not None and confirms(one) == own.run.run_id]
    return NightRuns(own, tuple(reversed(asked_again)))


def confirms(run: RunSummary) -> str:
    """The run that this one asks again; "" for a night's own."""
    return next((tag.removeprefix(CONFIRMS_TAG) for tag in run.run.tags if tag.startswith(CONFIRMS_TAG)), "")


def nightly_lock(home: Home, name: str) -> PhoneLock:
    """The claim of the process that carries a nightly out."""
    return PhoneLock(f"nightly:{name}", home.claims)


def alone(home: Home, name: str) -> PhoneLock:
    """Claim a nightly for this process until it ends. Raises UsageError when another process carries it out."""
    lock = nightly_lock(home, name)
    holder: Holder | None = lock.take(name)
    if holder is not None:
        mend = "wait for it; orch status shows its run, orch cancel stops that"
        raise UsageError(Problem(f"nightly {name}", f"process {holder.pid} of {holder.user} carries it out", mend))
    return lock
