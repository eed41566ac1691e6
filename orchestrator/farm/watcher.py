"""Who is told how a run goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from orchestrator.farm.messages import BlockOutcome
from orchestrator.farm.protocol import EndTrial, Planned, Work
from orchestrator.store.records import RunContents


class Watcher(Protocol):
    """Who is told how the run goes; never asked anything."""

    def begun(self, still_open: Sequence[Planned]) -> None:
        """The lanes start, with these trials."""
        ...

    def block_given(self, phone: str, tasks: Mapping[str, Work]) -> None:
        """A phone was given a block: its processes by task id, which sort as they run."""
        ...

    def staged(self, phone: str, pushed_bytes: int) -> None:
        """Bytes went to a phone."""
        ...

    def trial_seen(self, phone: str, task_id: str) -> None:
        """A phone said something new of a process of its block: it started, or it ended."""
        ...

    def block_stored(self, outcome: BlockOutcome) -> None:
        """A block's attempts are in the ledger."""
        ...

    def trial_ended(self, command: EndTrial) -> None:
        """A planned trial has its row."""
        ...

    def trial_moved(self, trial: Planned, left: str) -> None:
        """A planned trial is now asked of `trial.phone`."""
        ...

    def phone_taken(self, phone: str, why: str) -> None:
        """Somebody takes a phone out of the run; a trial on it is finished."""
        ...

    def phone_shared(self, phone: str, other: str) -> None:
        """Another run has its turn on a phone, or takes it now; `other` says whose."""
        ...

    def phone_joined(self, contents: RunContents) -> None:
        """A phone came while the run lasts; these contents are its own."""
        ...

    def round_added(self, trials: Sequence[Planned]) -> None:
        """A search asks a phone for another round."""
        ...

    def phone_gone(self, phone: str, why: str) -> None:
        """A phone does not answer any more, or is left alone; it is back when it is given a block."""
        ...

    def trouble(self, words: str) -> None:
        """Something befell a phone, an adb server or a hub, or was tried about it."""
        ...

    def idle(self) -> None:
        """Nothing was heard for a while."""
        ...
