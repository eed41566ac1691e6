"""What the loop is told of a phone that joins a run."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.farm.lane import Lane
from orchestrator.farm.protocol import Planned
from orchestrator.store.records import RunContents


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A phone that came while the run lasts: its thread, not started, and all that is asked of it."""

    lane: Lane
    epoch: int
    boot_id: str
    contents: RunContents
    planned: tuple[Planned, ...]
