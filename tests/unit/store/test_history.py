"""A series' nights out of a ledger: which runs are nights, in which order, which rounds count, what was beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sample_run as sample

from android_runner.battery import BatteryReading
from orchestrator.nights.nouns import CaseNight, SeriesKey
from orchestrator.outcome import Measured, Skipped, SkipReason
from orchestrator.plan.case import Case, Purpose, Side, Trial
from orchestrator.store.history import case_history, histories, keys_like
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import AttemptRecord, RunContents

pytestmark = pytest.mark.usefixtures("each_database")

PHONE, OTHER = sample.PHONES
KEY = SeriesKey(PHONE, "mnist", "all", "cpu all")
CANARY = replace(sample.case("canary"), model_name="canary", inputs_digest="ca" * 32)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger.open(tmp_path)
    yield opened
    opened.close()


def asked(run_id: str, *tags: str, day: int = 1, cases: tuple[Case, ...] = sample.CASES) -> RunContents:
    found = sample.contents(run_id, created_at=datetime(2026, 4, day, 12, tzinfo=UTC))
    trials = tuple(
        Trial(case_id=one.case_id, phone=phone, purpose=Purpose.TIME, round=number, position=position)
        for phone in sample.PHONES
        for number in (1, 2)
        for position, one in enumerate(cases)
    )
    return replace(found, run=replace(found.run, tags=tags), cases=(*cases, CANARY), trials=trials)


def measure(ledger: Ledger, contents: RunContents, p50_s: float, **more: object) -> None:
    run_id = contents.run.run_id
    ledger.add_run(contents)
    attempts: list[AttemptRecord] = []
    for at, trial in enumerate(contents.trials):
        outcome = Measured(figures=sample.figures(p50_s + trial.round * 1e-6))
        attempts.append(sample.attempt(trial, f"{run_id}-{at}", outcome, run_id, **more))
    ledger.record_attempts(attempts)


def night(name: str, day: int, *more: str) -> tuple[str, ...]:
    return (f"nightly={name}", f"night=2026-04-{day:02}", *more)


def told(nights: tuple[CaseNight, ...]) -> list[tuple[str, str, str]]:
    return [(one.run_id, one.night, one.confirms) for one in nights]


def test_nights_stand_in_the_order_of_their_tags_with_confirming_runs_behind(ledger: Ledger) -> None:
    measure(ledger, asked("late", *night("smoke", 2), day=5), 0.004)
    measure(ledger, asked("one", *night("smoke", 1), day=1), 0.004)
    measure(ledger, asked("three", *night("smoke", 3), day=3), 0.004)
    measure(ledger, asked("again", *night("smoke", 3, "confirms=three"), day=4), 0.004)
    measure(ledger, asked("other", *night("smoke2", 3), day=4), 0.004)
    measure(ledger, asked("bare", "by hand", day=9), 0.004)
    nightly = case_history(ledger, KEY, nightly="smoke")
    assert told(nightly) == [
        ("one", "2026-04-01", ""),
        ("late", "2026-04-02", ""),
        ("three", "2026-04-03", ""),
        ("again", "2026-04-03", "three"),
    ]
    assert nightly[0].rounds_s == (0.004 + 1e-6, 0.004 + 2e-6)
    assert [one.run_id for one in case_history(ledger, KEY, last=2)] == ["three", "again", "other", "bare"]
    assert case_history(ledger, KEY, nightly="smoke", last=2) == nightly[1:]
    assert case_history(ledger, KEY, nightly="smok_") == ()
    every = histories(ledger, nightly="smoke", last=2)
    assert every[KEY] == nightly[1:]
    assert set(every) == set(keys_like(ledger))
    assert {key.phone for key in every} == {PHONE, OTHER}


def test_only_rounds_that_count_are_figures_and_a_night_without_says_how_it_ended(ledger: Ledger) -> None:
    contents = asked("one", *night("smoke", 1))
    ledger.add_run(contents)
    trials = [one for one in contents.trials if one.phone == PHONE]
    by_row = {case.row: [one for one in trials if one.case_id == case.case_id] for case in sample.CASES}
    good, bad = by_row["cpu all"]
    ledger.record_attempts(
        [
            sample.attempt(good, "a1", Measured(figures=sample.figures(0.005)), "one"),
            sample.attempt(bad, "a2", Measured(figures=sample.figures(0.009)), "one", validity="invalid"),
            sample.attempt(by_row["default"][0], "a3", sample.FAILED, "one"),
        ]
    )
    ledger.end_trial(bad.trial_id("one"), sample.FAILED)
    for trial in by_row["default"]:
        ledger.end_trial(trial.trial_id("one"), sample.FAILED)
    for trial in by_row["cpu all 4t"]:
        ledger.end_trial(trial.trial_id("one"), Skipped(reason=SkipReason.PHONE_LOST))
    found = {
        key.row_name: nights[0] for key, nights in histories(ledger, nightly="smoke").items() if key.phone == PHONE
    }
    assert {row: (one.rounds_s, one.ended) for row, one in found.items()} == {
        "cpu all": ((0.005,), ""),
        "default": ((), "failed: crashed"),
        "cpu all 4t": ((), "skipped: phone lost"),
    }
    (open_one,) = case_history(ledger, replace(KEY, phone=OTHER))
    assert (open_one.rounds_s, open_one.ended) == ((), "not ended")


def test_what_was_true_beside_the_figures_comes_from_the_ledger(ledger: Ledger) -> None:
    contents = asked("one", *night("smoke", 1))
    measure(ledger, contents, 0.004, tuned=True, fingerprint="google/os2")
    canary = Trial(case_id=CANARY.case_id, phone=PHONE, purpose=Purpose.CANARY, round=1, position=0)
    ledger.record_attempts(
        [
            sample.attempt(canary, f"c{at}", Measured(figures=sample.figures(p50_s)), "one")
            for at, p50_s in enumerate((0.001, 0.003, 0.002))
        ]
    )
    at = datetime(2026, 4, 1, tzinfo=UTC)
    ledger.batteries.add("one", {PHONE: BatteryReading(at=at, full_uah=4_000_000, design_uah=5_000_000)})
    ((key, (one,)),) = [(key, n) for key, n in histories(ledger, nightly="smoke").items() if key == KEY]
    said = one.circumstances
    assert key == one.key == KEY
    assert (said.fingerprint, said.tuned, said.binary_digest, said.ort_version) == (
        "google/os2", True, "bb" * 32, "1.21.0",
    )  # fmt: skip
    assert (said.model_digest, said.graph_digest, said.converter) == ("dd" * 32, "aa" * 32, "1.31.1")
    assert (said.canary_p50_s, said.battery_health, said.warmest_c) == (0.002, 80.0, 32.0)
    assert said.settings == "config a.b 1, inputs " + "c" * 10
    assert case_history(ledger, KEY) == (one,)


def test_todays_build_meets_yesterdays_and_twins_and_sides_are_left_out(ledger: Ledger) -> None:
    built = replace(sample.CASES[1], variant_id="vc" * 32, graph_digest="ab" * 32, binary_digest="be" * 32)
    twin = replace(sample.CASES[1], twin_of="default", again=True)
    side = replace(sample.CASES[2], side=Side.A, pair="mnist")
    measure(ledger, asked("one", *night("smoke", 1)), 0.004)
    measure(ledger, asked("two", *night("smoke", 2), day=2, cases=(built,)), 0.005)
    measure(ledger, asked("odd", *night("smoke", 3), day=3, cases=(twin, side)), 0.006)
    found = case_history(ledger, KEY, nightly="smoke")
    assert told(found) == [("one", "2026-04-01", ""), ("two", "2026-04-02", "")]
    assert [one.circumstances.binary_digest[:2] for one in found] == ["bb", "be"]
    assert [one.circumstances.model_digest[:2] for one in found] == ["dd", ""]
    assert keys_like(ledger, phone=PHONE, model_name="mnist", row_name="cpu all") == (KEY,)


@pytest.mark.parametrize("each_database", ["sqlite"], indirect=True)
def test_a_case_is_found_by_index_alone(ledger: Ledger) -> None:
    """Of the tables that grow with every attempt none is read from end to end."""
    measure(ledger, asked("one", *night("smoke", 1)), 0.004)
    plans: list[str] = []
    database = ledger.history._database
    import sqlalchemy as sa

    def explain(connection: sa.Connection, cursor: object, statement: str, parameters: object, *_: object) -> None:
        if statement.startswith("SELECT"):
            bare = connection.connection.cursor()
            bare.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans.extend(str(row[3]) for row in bare.fetchall())

    sa.event.listen(database._door.engine, "before_cursor_execute", explain)
    assert case_history(ledger, KEY, nightly="smoke")
    scans = [plan for plan in plans if plan.startswith("SCAN")]
    assert plans
    assert not [plan for plan in scans if any(name in plan for name in ("trial", "attempt", "run_case"))], plans


def test_times_of_day_do_not_make_another_night(ledger: Ledger) -> None:
    start = datetime(2026, 4, 2, 12, tzinfo=UTC)
    for at in range(3):
        contents = asked(f"r{at}")
        measure(ledger, replace(contents, run=replace(contents.run, created_at=start + timedelta(minutes=at))), 0.004)
    assert {one.night for one in case_history(ledger, KEY)} == {start.astimezone().date().isoformat()}
    assert [one.run_id for one in case_history(ledger, KEY, last=1)] == ["r0", "r1", "r2"]
