"""Schedules are read strictly, drawn the same for the same seed, and lived in the order that they say."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from android_runner.virtual.fault_book import FaultBook
from android_runner.virtual.fault_kinds import CATALOGUE, FaultKind, plan_of
from android_runner.virtual.fault_schedule import (
    Fault,
    FaultSchedule,
    FaultScheduleError,
    PutInPlace,
    RandomFaults,
    load_schedule,
    parse_schedule,
    read_placed,
    write_schedule,
)
from android_runner.virtual.fault_steps import Step
from android_runner.virtual.faults import NO_FAULTS, FaultPlan


def book_of(*faults: Fault, random: tuple[RandomFaults, ...] = (), seed: str = "1", name: str = "p") -> FaultBook:
    book = FaultBook(PutInPlace(since_s=0.0, seed=seed, schedule=FaultSchedule(fault=faults, random=random)), name)
    book.begin(0.0)
    return book


def test_a_file_in_both_languages(tmp_path: Path) -> None:
    toml = (
        b'[[fault]]\nkind = "drop"\nstep = "pull"\nafter_bytes = 2000\n[[random]]\nkinds = ["hang"]\nmean_up_s = 120\n'
    )
    json = (
        b'{"fault": [{"kind": "drop", "step": "pull", "after_bytes": 2000}],'
        b' "random": [{"kinds": ["hang"], "mean_up_s": 120}]}'
    )
    (tmp_path / "f.json").write_bytes(json)
    schedule = load_schedule(tmp_path / "f.json")
    assert parse_schedule(toml, source="f.toml") == schedule
    assert schedule.fault == (Fault(kind=FaultKind.DROP, step=Step.PULL, after_bytes=2000),)
    assert schedule.random[0].mean_down_s == 1.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[fault]]\nkind = "dorp"', "fault.0.kind"),
        ('[[fault]]\nkind = "drop"\nwhen = 3', "fault.0.when"),
        ('[[fault]]\nkind = "drop"\ntimes = true', "fault.0.times"),
        ('[[fault]]\nkind = "drop"\nat_s = -1', "fault.0.at_s"),
        ('[[fault]]\nkind = "drop"\nat_s = nan', "fault.0.at_s"),
        ('[[fault]]\nkind = "full"\nstep = "connect"', "full can't be at connect; it can at stage, launch"),
        ('[[fault]]\nkind = "drop"\ntimes = 3', "give a step"),
        ('[[fault]]\nkind = "drop"\nfollows = true', "nothing stands above it"),
        ("[[random]]\nkinds = []\nmean_up_s = 1", "random.0.kinds"),
        ('[[random]]\nkinds = ["drop"]\nmean_up_s = 0', "random.0.mean_up_s"),
        ("[[fault]", "not TOML"),
    ],
)
def test_what_is_no_schedule_is_refused_with_its_path(text: str, said: str) -> None:
    with pytest.raises(FaultScheduleError) as refused:
        parse_schedule(text.encode(), source="f.toml")
    assert said in str(refused.value)


def test_a_phone_gets_what_names_it(tmp_path: Path) -> None:
    schedule = FaultSchedule(
        fault=(
            Fault(kind=FaultKind.REBOOT, at_s=1.0, phones=("virtual-a-*",)),
            Fault(kind=FaultKind.HOT, at_s=1.0),
        )
    )
    (tmp_path / "virtual-b-1").mkdir()
    write_schedule(tmp_path / "virtual-b-1", schedule, seed=7)
    placed = read_placed(tmp_path / "virtual-b-1")
    assert placed is not None
    assert [one.kind for one in placed.schedule.fault] == [FaultKind.HOT]
    assert placed.seed == "7"
    write_schedule(tmp_path / "virtual-b-1", None)
    assert read_placed(tmp_path / "virtual-b-1") is None


def test_a_fault_of_a_step_skips_repeats_and_ends() -> None:
    book = book_of(Fault(kind=FaultKind.DROP, step=Step.PULL, skip=1, times=2))
    happened = [len(book.operation([step], 1.0)) for step in (Step.STAGE, *[Step.PULL] * 5)]
    assert happened == [0, 0, 1, 1, 0, 0]


def test_what_follows_waits_for_what_stands_above_it() -> None:
    book = book_of(
        Fault(kind=FaultKind.DROP, step=Step.LAUNCH), Fault(kind=FaultKind.OFFLINE, step=Step.CONNECT, follows=True)
    )
    assert book.operation([Step.CONNECT], 1.0) == []
    assert [one.kind for one in book.operation([Step.LAUNCH], 2.0)] == [FaultKind.DROP]
    assert [one.kind for one in book.operation([Step.CONNECT], 3.0)] == [FaultKind.OFFLINE]


def test_what_lasts_holds_for_its_time_and_what_does_not_for_one_operation() -> None:
    book = book_of(Fault(kind=FaultKind.HANG, at_s=5.0, for_s=2.0), Fault(kind=FaultKind.NO_EXIT, step=Step.PROBE))
    assert book.pass_time(4.9) == ([], [])
    begun, _ = book.pass_time(5.0)
    assert [one.kind for one in begun] == [FaultKind.HANG]
    now = book.operation([Step.PROBE], 6.0)
    both = book.plan(FaultPlan(endless_output=True), now)
    assert (both.hang, both.endless_output, both.shell_exit) == (
        True,
        True,
        plan_of(FaultKind.NO_EXIT, None).shell_exit,
    )
    assert book.plan(NO_FAULTS) == FaultPlan(hang=True)
    _, over = book.pass_time(7.0)
    assert [one.kind for one in over] == [FaultKind.HANG]
    assert book.plan(NO_FAULTS) == NO_FAULTS


def test_a_phone_that_comes_later_makes_up_for_nothing() -> None:
    schedule = FaultSchedule(
        fault=(Fault(kind=FaultKind.REBOOT, at_s=10.0), Fault(kind=FaultKind.REBOOT, step=Step.RUN, times=2))
    )
    book = FaultBook(PutInPlace(since_s=0.0, seed="1", schedule=schedule), "p")
    book.begin(100.0, {"fault.1": 1})
    assert book.pass_time(100.0) == ([], [])
    assert len(book.operation([Step.RUN], 101.0)) == 1
    assert book.operation([Step.RUN], 102.0) == []


def test_drawn_faults_depend_on_seed_and_phone_alone_and_a_hub_shares_them() -> None:
    one = RandomFaults(kinds=(FaultKind.DROP, FaultKind.UNPLUG), mean_up_s=120.0, mean_down_s=30.0)
    drawn = list(itertools.islice(one.drawn("1/0/p"), 400))
    assert drawn == list(itertools.islice(one.drawn("1/0/p"), 400))
    assert drawn != list(itertools.islice(one.drawn("1/0/q"), 400))
    ups = [b.at_s - a.at_s - a.lasts_s for a, b in itertools.pairwise(drawn)]
    assert 90 < sum(ups) / len(ups) < 150
    assert 22 < sum(each.lasts_s for each in drawn) / len(drawn) < 38
    apart = [book_of(random=(one,), name=name) for name in "ab"]
    hub = [book_of(random=(RandomFaults(kinds=one.kinds, mean_up_s=9.0, together=True),), name=name) for name in "ab"]

    def times(book: FaultBook) -> list[float]:
        return [round(each.begun_s) for now in range(600) for each in book.pass_time(float(now))[0]]

    assert times(apart[0]) != times(apart[1])
    assert times(hub[0]) == times(hub[1])


def test_a_drawn_fault_of_a_step_waits_for_it_and_makes_room() -> None:
    book = book_of(random=(RandomFaults(kinds=(FaultKind.FULL,), steps=(Step.STAGE,), mean_up_s=10.0, at_most=3),))
    begun, _ = book.pass_time(1e6)
    assert begun == []
    assert book.operation([Step.STAGE], 1e6) == []
    book = book_of(random=(RandomFaults(kinds=(FaultKind.FULL,), steps=(Step.STAGE,), mean_up_s=1e-9),))
    assert [one.kind for one in book.operation([Step.STAGE], 0.01)] == [FaultKind.FULL]


def test_every_kind_says_something_and_shows_somewhere() -> None:
    assert set(CATALOGUE) == set(FaultKind)
    for kind, traits in CATALOGUE.items():
        assert traits.about, kind
        assert traits.steps, kind
        assert list(traits.steps) == sorted(traits.steps, key=list(Step).index), kind
