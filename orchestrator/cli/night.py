"""One night on the terminal: its run made or gone on with, as `orch run` and `orch resume` do it, and its end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from orchestrator.app.nightly.outcome import codes_of
from orchestrator.app.nightly.record import NightRecord, NightRuns, begun, read_record, runs_of, write_record
from orchestrator.app.nightly.suites import Nightly, run_options
from orchestrator.app.wish import Wish, wish_of
from orchestrator.cli.live import go, go_on, say
from orchestrator.errors import ExitCode, FarmError, worst
from orchestrator.nights.calendar import Night
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import RunState, RunSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """How phones are reached, as `orch run` was told."""

    adb_port: int
    slots: int
    asked_slots: int


def carry_out(nightly: Nightly, night: Night, where: Where) -> int:
    """Begin a night or go on with it, to its end; the exit code. Errors of a run are the night's, and are kept."""
    known, record = read_record(nightly, night.name), begun(nightly, night, datetime.now(UTC))
    record = record if known is None else replace(record, began_at=known.began_at)
    write_record(nightly, record)
    say(f"nightly {nightly.name}, night {night.name}, until {night.ends_at.astimezone():%H:%M}")
    codes: list[ExitCode] = []
    problem = ""
    try:
        codes.append(_measured(nightly, night, where))
    except FarmError as error:
        codes.append(error.exit_code)
        problem = str(error)
        say(f"orch: {problem}")
    return _ended(nightly, record, codes, problem)


def missed(nightly: Nightly, night: Night) -> int:
    """Keep a night that nobody called while it lasted; its exit code."""
    words = f"did not run: nothing called it from {nightly.suite.start} to {nightly.suite.deadline}"
    say(f"night {night.name} {words}")
    return _ended(nightly, begun(nightly, night, datetime.now(UTC)), [ExitCode.INCOMPLETE], words)


def _measured(nightly: Nightly, night: Night, where: Where) -> ExitCode:
    """The night's own run."""
    own = _runs(nightly, night).own
    if own is None:
        return _begin(nightly, night, wish_of(run_options(nightly, night.name)), where)
    return _go_on(own, nightly, night, where)


def _begin(nightly: Nightly, night: Night, wish: Wish, where: Where) -> ExitCode:
    command = f"orch nightly run {nightly.name} --date {night.name}"
    code = go(
        wish, nightly.home, adb_port=where.adb_port, slots=where.slots, yes=True, verify_staged=False, strict=False,
        all_tables=False, command=command, anew=True, hot_plug=nightly.suite.hot_plug, ends_at=night.ends_at,
    )  # fmt: skip
    return ExitCode(code)


def _go_on(run: RunSummary, nightly: Nightly, night: Night, where: Where) -> ExitCode:
    """Resume a run that has not come to its end; what one that has came to."""
    if run.state is not RunState.FINISHED:
        code = go_on(
            run.run.run_id, nightly.home, adb_port=where.adb_port, slots=where.slots, asked_slots=where.asked_slots,
            strict=False, all_tables=False, ends_at=night.ends_at,
        )  # fmt: skip
        if code != ExitCode.DONE:
            return ExitCode(code)
    ledger = Ledger.open(nightly.home.root)
    try:
        return worst(codes_of(run.run.run_id, ledger))
    finally:
        ledger.close()


def _runs(nightly: Nightly, night: Night) -> NightRuns:
    ledger = Ledger.open(nightly.home.root)
    try:
        return runs_of(nightly.name, night.name, ledger)
    finally:
        ledger.close()


def _ended(nightly: Nightly, record: NightRecord, codes: list[ExitCode], problem: str) -> int:
    code = worst(codes)
    ended = replace(record, ended_at=datetime.now(UTC).isoformat(), exit=code.value, problem=problem)
    write_record(nightly, ended)
    return int(code)
