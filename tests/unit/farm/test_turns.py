"""Turns at the cable: at most so many below a hub and on the host, and nobody keeps one for ever."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.adb.discovery import SeenPhone
from android_runner.adb.server import AdbServer
from android_runner.deadline import Deadline
from android_runner.device import Serial
from android_runner.host.usb_path import path_of
from android_runner.staging import StageFile, StageUnit, stage
from orchestrator.app.hubs import hubs_for
from orchestrator.app.phones import Phone
from orchestrator.farm.turns import LENT_S, Lending, PushTurns
from orchestrator.lab import LabTable
from tests.fake_host import FakeHost
from tests.unit.adb.scripted import ScriptedPhone


def test_a_hub_has_its_limit_and_the_host_has_one() -> None:
    lending = Lending(per_hub=2, per_host=3)
    first = lending.lend("1-1", 0.0)
    assert first is not None
    assert lending.lend("1-1", 0.0) is not None
    assert lending.lend("1-1", 0.0) is None
    assert lending.lend("1-2", 0.0) is not None
    assert lending.lend("1-3", 0.0) is None
    lending.give_back(first)
    assert lending.lend("1-1", 1.0) is not None


def test_phones_on_no_hub_share_only_the_host() -> None:
    lending = Lending(per_hub=1, per_host=3)
    assert [lending.lend("", 0.0) is not None for _ in range(4)] == [True, True, True, False]


def test_one_that_hangs_loses_its_turn() -> None:
    lending = Lending(per_hub=1, per_host=8)
    hung = lending.lend("1-1", 10.0)
    assert hung is not None
    assert lending.lend("1-1", 10.0 + LENT_S - 1) is None
    assert lending.wait_s(10.0 + LENT_S - 1) == pytest.approx(1.0)
    assert lending.lend("1-1", 10.0 + LENT_S) is not None
    lending.give_back(hung)
    assert len(lending.lent) == 1


Step = st.tuples(st.sampled_from(["", "1-1", "1-2"]), st.floats(0, 30), st.booleans())


@given(st.lists(Step, max_size=60), st.integers(1, 3), st.integers(1, 5))
def test_the_limits_hold_whatever_comes(steps: list[tuple[str, float, bool]], per_hub: int, per_host: int) -> None:
    lending, now = Lending(per_hub, per_host), 0.0
    for hub, later_s, ends in steps:
        now += later_s
        lending.lend(hub, now)
        running = [turn for turn in lending.lent if now - turn.since_s < LENT_S]
        beside = Counter(turn.hub for turn in running if turn.hub)
        assert len(running) <= per_host
        assert max(beside.values(), default=0) <= per_hub
        if ends and lending.lent:
            lending.give_back(lending.lent[0])


def test_threads_wait_and_all_get_their_turn() -> None:
    turns, lock = PushTurns(per_hub=2, per_host=3), threading.Lock()
    inside: Counter[str] = Counter()
    most: Counter[str] = Counter()
    started = threading.Barrier(12)

    def push(hub: str) -> None:
        started.wait(10)
        with turns.turn(hub):
            with lock:
                inside.update([hub, "host"])
                for key in (hub, "host"):
                    most[key] = max(most[key], inside[key])
            threading.Event().wait(0.002)
            with lock:
                inside.subtract([hub, "host"])

    threads = [threading.Thread(target=push, args=(f"1-{number % 2}",)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert max(most["1-0"], most["1-1"]) <= 2
    assert most["host"] == 3


def test_a_turn_is_given_back_after_an_error() -> None:
    turns = PushTurns(per_hub=1, per_host=1)
    with pytest.raises(KeyError), turns.turn("1-1"):
        raise KeyError
    with turns.turn("1-1"):
        pass


def test_staging_takes_a_turn_only_to_push(tmp_path: Path) -> None:
    phone, taken = ScriptedPhone(tmp_path / "phone"), []

    @contextmanager
    def turn() -> Iterator[None]:
        taken.append(1)
        yield

    unit = StageUnit(digest="ab" * 32, files=(StageFile(name="model.ort", source=b"x" * 1000),))
    try:
        for _ in range(2):
            stage(phone.device(), [unit], deadline=Deadline.after(30), turn=turn)
    finally:
        phone.close()
    assert len(taken) == 1


def test_the_hub_of_a_phone_is_found_in_sysfs(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.controller("0000:00:14.0", 1)
    host.hub("1-1")
    host.phone("1-1.3")
    hubs = hubs_for(LabTable(push_per_hub=1, push_per_host=5), tmp_path)

    def phone(where: str) -> Phone:
        seen = SeenPhone(serial=Serial("R58"), state="device", transport_id=1, where=where, mend="")
        return Phone(seen, AdbServer(port=9), None, None, "")

    assert path_of("usb:1-1.3") in hubs.tree.devices
    assert [hubs.hub_of(phone(where)) for where in ("usb:1-1.3", "usb:1-2", "tcp", "")] == ["1-1", "usb1", "", ""]
    with hubs.turn_of(phone("usb:1-1.3"))(), hubs.turn_of(phone("usb:1-2"))():
        pass
