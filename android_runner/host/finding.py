"""Pure nouns: what was found out about the computer or a phone, how grave it is, and what mends it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum


class Level(StrEnum):
    """`stop`: no run should start; `warn`: it will bite later; `note`: worth knowing, or not found out; `ok`."""

    STOP = "stop"
    WARN = "warn"
    NOTE = "note"
    OK = "ok"


_ORDER = tuple(Level)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFinding:
    """One thing that was looked at.

    `check` is a short stable name (`adb-key`), `about` what it is about where there are several (a phone, a hub, a
    file), `seen` what is the case, `mend` what a person does; only `ok` has none.
    """

    check: str
    level: Level
    seen: str
    about: str = ""
    mend: str = ""

    def as_dict(self) -> dict[str, str]:
        """The fields by name, for JSON."""
        return asdict(self)


def gravest_first(findings: Iterable[HostFinding]) -> list[HostFinding]:
    """Stops, warnings, notes, then what is well; within each as they came."""
    return sorted(findings, key=lambda finding: _ORDER.index(finding.level))


def may_start(findings: Iterable[HostFinding]) -> bool:
    """Whether nothing speaks against starting a run."""
    return all(finding.level is not Level.STOP for finding in findings)
