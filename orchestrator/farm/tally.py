"""Pure: what a run's exit code is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.errors import ExitCode
from orchestrator.outcome import Failed, Measured, Skipped, SkipReason


@dataclass(slots=True)
class Tally:
    """What the exit code is made of."""

    bugs: list[BaseException] = field(default_factory=list)
    incomplete: bool = False
    interrupted: bool = False

    def codes(self) -> list[ExitCode]:
        """Every exit code that applies."""
        flags = [
            (bool(self.bugs), ExitCode.BUG),
            (self.interrupted, ExitCode.INTERRUPTED),
            (self.incomplete, ExitCode.INCOMPLETE),
        ]
        return [code for applies, code in flags if applies]

    def count(self, outcome: Measured | Failed | Skipped) -> None:
        """Take a trial's end in."""
        match outcome:
            case Skipped(reason=reason):
                self.incomplete |= reason is not SkipReason.RESOLVED_EARLY
            case Failed(blame=blame):
                self.incomplete |= blame.value in ("lab", "us")
            case Measured():
                pass
