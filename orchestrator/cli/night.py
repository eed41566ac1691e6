"""One night on the terminal: its run made or gone on with, as `orch run` and `orch resume` do it, what was slow asked
again, and its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from orchestrator.app.claims import PhonesBusy
from orchestrator.app.nightly.ending import bounded, digested, tell, watch_of
from orchestrator.app.nightly.judging import judged_in, to_confirm
from orchestrator.app.nightly.outcome import codes_of
from orchestrator.app.nightly.record import NightRecord, begun, night_folder, read_record, runs_of, write_record
from orchestrator.app.nightly.suites import Nightly, run_options
from orchestrator.app.wish import Wish, wish_of
from orchestrator.cli.answer import short
from orchestrator.cli.live import Tonight, go, go_on, say
from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode, FarmError, NoUsableDevice, worst
from orchestrator.nights.calendar import Night
from orchestrator.nights.nouns import CONFIRMS_TAG
from orchestrator.report.morning.message import Message
from orchestrator.report.morning.text import digest_text
from orchestrator.report.numbers import plural, span
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import RunState, RunSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """How phones are reached, as `orch run` was told."""

    adb_port: int
    slots: int
    asked_slots: int


AGAIN_S = 300.0
"""A night whose phones are busy, or of which none is there, looks again after so long, until its deadline."""


def carry_out(nightly: Nightly, night: Night, where: Where, *, patient: bool) -> int:
    """Begin a night or go on with it, to its end; the exit code. Errors of a run are the night's, and are kept.

    `patient`: phones that are busy or away are waited for; a person who asks by day is told at once.
    """
    known, record = read_record(nightly, night.name), begun(nightly, night, datetime.now(UTC))
    record = record if known is None else replace(record, began_at=known.began_at)
    write_record(nightly, record)
    say(f"nightly {nightly.name}, night {night.name}, until {night.ends_at.astimezone():%H:%M}")
    codes: list[ExitCode] = []
    problem = ""
    try:
        codes.append(_waited_for(nightly, night, where) if patient else _measured(nightly, night, where))
        if codes != [ExitCode.INTERRUPTED]:
            codes += _confirmed(nightly, night, where)
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


def _waited_for(nightly: Nightly, night: Night, where: Where) -> ExitCode:
    """The night's own run, as soon as its phones can be had; people are told once that they can't be yet."""
    told = False
    while True:
        try:
            return _measured(nightly, night, where)
        except (NoUsableDevice, PhonesBusy) as error:
            if datetime.now(UTC) + timedelta(seconds=AGAIN_S) >= night.ends_at:
                raise
            say(f"waits: {error}; looks again after {span(AGAIN_S)}")
            if not told:
                title = f"{nightly.name}, night {night.name}: waits for its phones"
                tell(nightly, Message(title, f"{error}\n"), say)
            told = True
            time.sleep(AGAIN_S)


def _measured(nightly: Nightly, night: Night, where: Where) -> ExitCode:
    """The night's own run."""
    with _ledger(nightly) as ledger:
        own = runs_of(nightly.name, night.name, ledger).own
    if own is None:
        return _begin(nightly, night, wish_of(run_options(nightly, night.name)), where)
    return _go_on(own, nightly, night, where)


def _confirmed(nightly: Nightly, night: Night, where: Where) -> list[ExitCode]:
    """What was slow is asked again at once, in a run of its own, once a night."""
    with _ledger(nightly) as ledger:
        runs, slow = runs_of(nightly.name, night.name, ledger), to_confirm(judged_in(ledger, nightly.name, night.name))
    unfinished = next((one for one in runs.confirming if one.state is not RunState.FINISHED), None)
    if runs.own is None or not (unfinished or (slow and not runs.confirming)):
        return []
    words = f"{plural(len(slow), 'series', 'series')} slower than before"
    if unfinished is None and night.over(datetime.now(UTC)):
        say(f"{words}: not asked again, the deadline has passed")
        return []
    try:
        if unfinished is not None:  # also after the deadline: what phones have finished is taken over
            return [_go_on(unfinished, nightly, night, where)]
        say(f"{words}: asked again")
        wish = wish_of(run_options(nightly, night.name, (f"{CONFIRMS_TAG}{runs.own.run.run_id}",)))
        return [_begin(nightly, night, replace(wish, only=slow), where)]
    except FarmError as error:
        say(f"orch: not asked again: {error}")
        return [ExitCode.INCOMPLETE]


def _begin(nightly: Nightly, night: Night, wish: Wish, where: Where) -> ExitCode:
    command = f"orch nightly run {nightly.name} --date {night.name}"
    code = go(
        wish, nightly.home, adb_port=where.adb_port, slots=where.slots, yes=True, verify_staged=False, strict=False,
        all_tables=False, command=command, anew=True, hot_plug=nightly.suite.hot_plug and wish.only is None,
        night=_tonight(nightly, night),
    )  # fmt: skip
    return ExitCode(code)


def _go_on(run: RunSummary, nightly: Nightly, night: Night, where: Where) -> ExitCode:
    """Resume a run that has not come to its end; what one that has came to."""
    if run.state is not RunState.FINISHED:
        code = go_on(
            run.run.run_id, nightly.home, adb_port=where.adb_port, slots=where.slots, asked_slots=where.asked_slots,
            strict=False, all_tables=False, night=_tonight(nightly, night),
        )  # fmt: skip
        if code != ExitCode.DONE:
            return ExitCode(code)
    with _ledger(nightly) as ledger:
        return worst(codes_of(run.run.run_id, ledger))


def _tonight(nightly: Nightly, night: Night) -> Tonight:
    return Tonight(ends_at=night.ends_at, watches=watch_of(nightly, night.name, say))


def _ended(nightly: Nightly, record: NightRecord, codes: list[ExitCode], problem: str) -> int:
    """The night's end: its digest, who is told, and its exit code. The record is the last that is written: who was
    killed before that is called again."""
    with _ledger(nightly) as ledger:
        digest = digested(nightly, record.night, ledger, problem, worst(codes), say)
    sys.stdout.write(f"\n{digest_text(digest, colour=wants_colour())}")
    bounded(nightly, say)
    code = worst([*codes, *([ExitCode.GATE_FAILED] if digest.regressed else [])])
    write_record(nightly, replace(record, ended_at=datetime.now(UTC).isoformat(), exit=code.value, problem=problem))
    say(f"digest  {short(night_folder(nightly, record.night) / 'digest.html')}")
    if code is not ExitCode.DONE:
        say(f"exit {code.value}: {code.name.lower().replace('_', ' ')}")
    return int(code)


@contextmanager
def _ledger(nightly: Nightly) -> Iterator[Ledger]:
    ledger = Ledger.open(nightly.home.root)
    try:
        yield ledger
    finally:
        ledger.close()
