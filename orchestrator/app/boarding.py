"""What `orch status` knows of runs: what a living one tells of itself, and of a dead one what the ledger holds.

A run tells how it stands in a file beside its claim, `locks/<run>.board`, about once a second. The file says nothing
that the ledger needs: it is not flushed to disk, and a full disk costs it, not the run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.app.standing import Standing, standings
from orchestrator.errors import StoreError
from orchestrator.farm.worktext import work_from_text
from orchestrator.home import Home
from orchestrator.plan.case import Case
from orchestrator.report.board import RunBoard
from orchestrator.report.progress import LaneProgress, RunProgress
from orchestrator.store.codec import from_text, to_text
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import AttemptRecord, BlockRecord, PhoneRecord, RunContents, TrialRow, TrialState

MAX_TOLD_BYTES = 4 * 1024 * 1024


def told_path(home: Home, run_id: str) -> Path:
    """Where a run tells how it stands."""
    return home.claims / f"{run_id}.board"


def teller(home: Home, run_id: str) -> Callable[[RunProgress], None]:
    """Who writes that down. What can't be written is left out: a run does not depend on being seen."""
    path = told_path(home, run_id)
    part = path.with_name(f".{path.name}.{os.getpid()}")

    def tell(progress: RunProgress) -> None:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(to_text(progress), encoding="utf-8")
            part.replace(path)

    return tell


def told_no_more(home: Home, run_id: str) -> None:
    """The run has ended in order."""
    with suppress(OSError):
        told_path(home, run_id).unlink()


def boards(home: Home, now: datetime) -> tuple[RunBoard, ...]:
    """Every run that goes on, or was cut off, newest first. Raises StoreError."""
    found = [one for one in standings(home) if one.needs_eyes]
    if not found:
        return ()
    ledger = Ledger.open(home.root)
    try:
        return tuple(_board(home, ledger, one, now) for one in found)
    finally:
        ledger.close()


def _board(home: Home, ledger: Ledger, standing: Standing, now: datetime) -> RunBoard:
    told, told_at = _told(home, standing.run_id, now)
    lanes: tuple[LaneProgress, ...]
    if told is not None and not standing.cut_off:
        lanes, heard_at = told.lanes, told_at
    else:
        lanes, heard_at = _from_ledger(ledger, standing)
        heard_at = max(heard_at, told_at)
    return RunBoard(
        **{name: getattr(standing, name) for name in _SAME},
        cut_off=standing.cut_off,
        heard_at=min(heard_at, now),
        told=told is not None and not standing.cut_off,
        left_s=told.left_s if told is not None and not standing.cut_off else None,
        so_far=told.so_far if told is not None else "",
        mend=standing.row().mend,
        lanes=lanes,
    )


_SAME = ("run_id", "created_at", "state", "planned", "measured", "failed", "skipped", "living", "note", "elsewhere")
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def _told(home: Home, run_id: str, now: datetime) -> tuple[RunProgress | None, datetime]:
    """What the run told last, and when; None where there is nothing, or nothing that can be read."""
    path = told_path(home, run_id)
    try:
        found = path.stat()
        if found.st_size > MAX_TOLD_BYTES:
            return None, _NEVER
        return from_text(RunProgress, path.read_text(encoding="utf-8")), datetime.fromtimestamp(found.st_mtime, UTC)
    except (OSError, ValueError, StoreError):
        return None, _NEVER


def _from_ledger(ledger: Ledger, standing: Standing) -> tuple[tuple[LaneProgress, ...], datetime]:
    """A line a phone, and the moment of the last row that the run wrote."""
    contents, attempts = ledger.contents(standing.run_id), ledger.attempts(standing.run_id)
    blocks, events = ledger.open_blocks(standing.run_id), ledger.events(standing.run_id)
    moments = [standing.created_at, *(one.at for one in events[-1:]), *(one.recorded_at for one in attempts[-1:])]
    newest = {one.phone: one for one in attempts}
    given = {one.phone: one for one in blocks}
    trials = ledger.trials(standing.run_id)
    lanes = tuple(
        _lane(phone, [row for row in trials if row.trial.phone == phone.phone], newest, given, contents)
        for phone in contents.phones
    )
    return lanes, max([*moments, *(one.opened_at for one in blocks)])


def _lane(
    phone: PhoneRecord,
    trials: Sequence[TrialRow],
    newest: dict[str, AttemptRecord],
    given: dict[str, BlockRecord],
    contents: RunContents,
) -> LaneProgress:
    """A phone as the ledger has it: `what` is the first of what it was given and nobody has seen the end of."""
    states = [one.state for one in trials]
    is_open = TrialState.PLANNED in states
    last, block = newest.get(phone.phone), given.get(phone.phone)
    what, round_ = _given(block, {one.case_id: one for one in contents.cases}) if block is not None else ("", None)
    after = last.after if last is not None else None
    fastest_khz = max(after.current_freq_khz, default=0) if after is not None else 0
    return LaneProgress(
        name=f"{phone.label} {phone.facts.device_model}".strip(),
        done=sum(state in (TrialState.MEASURED, TrialState.FAILED) for state in states),
        total=len(states),
        what=what,
        round=round_,
        battery_c=after.battery_c if after is not None else None,
        clock_ghz=fastest_khz / 1e6 if fastest_khz else None,
        state="given" if block is not None else "open" if is_open else "done",
    )


def _given(block: BlockRecord, cases: dict[str, Case]) -> tuple[str, int | None]:
    works = []
    for _, text in sorted(block.tasks.items()):
        with suppress(ValueError, KeyError, TypeError):
            works.append(work_from_text(text, block.phone))
    if not works:
        return "", None
    case = cases.get(works[0].case_id)
    more = f" and {len(works) - 1} more" if len(works) > 1 else ""
    return f"{case.row if case is not None else works[0].case_id[:12]}{more}", works[0].round
