"""A run's turn on a phone that others wait for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from android_runner.deadline import SystemClock
from orchestrator.farm.lock import PhoneLock
from orchestrator.farm.sharing import Turn


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[PhoneLock]:
    """The claim of a run for which another one waits."""
    ours, theirs = PhoneLock("R58N30ABCDE", tmp_path), PhoneLock("R58N30ABCDE", tmp_path)
    assert ours.take("0101-ours-aaaa") is None
    over = threading.Event()
    other = threading.Thread(target=lambda: theirs.wait("0101-theirs-bbbb", over.is_set, poll_s=0.01))
    other.start()
    while ours.waiting() is None:
        assert not over.wait(0.01)
    yield ours
    over.set()
    other.join(10)
    ours.release()


def test_the_first_block_of_a_turn_begins_though_its_stretch_is_over(waiting: PhoneLock) -> None:
    """Else two runs on a slow computer would give the phone to and fro, and measure nothing."""
    turn = Turn(waiting, "0101-ours-aaaa", 0.0, SystemClock())
    assert [turn.begins_block() for _ in range(3)] == [True, False, False]


def test_a_turn_lasts_while_nobody_waits(tmp_path: Path) -> None:
    lock = PhoneLock("R58N30ABCDE", tmp_path)
    assert lock.take("0101-ours-aaaa") is None
    turn = Turn(lock, "0101-ours-aaaa", 0.0, SystemClock())
    assert [turn.begins_block() for _ in range(3)] == [True, True, True]
    lock.release()


def test_a_phone_that_is_not_shared_is_kept(waiting: PhoneLock) -> None:
    turn = Turn(waiting, "0101-ours-aaaa", None, SystemClock())
    assert [turn.begins_block() for _ in range(3)] == [True, True, True]
