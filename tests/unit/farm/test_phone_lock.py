"""Claims on phones: one holder, one who is next, across users of a host."""

from __future__ import annotations

import itertools
import os
import stat
import tempfile
import threading
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.farm import lock as lock_module
from orchestrator.farm.lock import Holder, PhoneLock, meeting_place


def test_one_holds_and_the_other_is_told_who(tmp_path: Path) -> None:
    ours, theirs = PhoneLock("A", tmp_path), PhoneLock("A", tmp_path)
    assert ours.take("0412-quick-7k2f") is None
    holder = theirs.take("other")
    assert holder is not None
    assert (holder.run_id, holder.pid) == ("0412-quick-7k2f", os.getpid())
    assert holder.text().startswith("7k2f (")
    assert not theirs.held
    ours.release()
    assert theirs.holder() is None
    assert theirs.take("other") is None
    assert PhoneLock("B", tmp_path).take("third") is None


def test_who_waits_is_next_whoever_else_asks(tmp_path: Path) -> None:
    first, second, third = (PhoneLock("A", tmp_path) for _ in range(3))
    assert first.take("one") is None
    assert first.waiting() is None
    got: list[bool] = []
    waiter = threading.Thread(target=lambda: got.append(second.wait("two", lambda: False, poll_s=0.01)))
    waiter.start()
    while first.waiting() is None:
        pass
    first.release()
    busy = third.take("three")  # the phone may be free at this moment; its turn is not the third's
    waiter.join(10)
    assert got == [True]
    assert busy is not None
    assert second.held
    assert first.waiting() is None
    holder = third.take("three")
    assert holder is not None
    assert holder.run_id == "two"


def test_who_gives_a_turn_and_waits_again_comes_after_the_other(tmp_path: Path) -> None:
    """Two runs hand a phone to and fro: neither ever has it while the other has."""
    inside: list[str] = []
    order: list[str] = []
    over: list[str] = []

    def run(name: str) -> None:
        lock = PhoneLock("A", tmp_path)
        for _ in range(5):
            assert lock.wait(name, lambda: False, poll_s=0.001)
            inside.append(name)
            assert len(inside) == 1
            order.append(name)
            inside.remove(name)
            while len(order) < 10 and lock.waiting() is None and not over:
                pass  # a stretch lasts until somebody waits
            lock.release()
        over.append(name)

    runs = [threading.Thread(target=run, args=(name,)) for name in ("one", "two")]
    for each in runs:
        each.start()
    for each in runs:
        each.join(30)
    assert len(order) == 10
    changes = sum(a != b for a, b in itertools.pairwise(order))
    assert changes >= 7, order


def test_waiting_ends_when_it_is_told_to(tmp_path: Path) -> None:
    ours, theirs = PhoneLock("A", tmp_path), PhoneLock("A", tmp_path)
    assert ours.take("one") is None
    assert not theirs.wait("two", lambda: True, poll_s=0.001)
    assert ours.waiting() is None


def test_a_file_of_nonsense_is_somebody(tmp_path: Path) -> None:
    ours, theirs = PhoneLock("A", tmp_path), PhoneLock("A", tmp_path)
    assert ours.take("one") is None
    ours.path.write_bytes(b"\xff\x00 no words")
    assert theirs.take("two") == Holder("?", "?", 0)


def test_a_link_in_the_folder_is_not_followed(tmp_path: Path) -> None:
    lock = PhoneLock("A", tmp_path)
    (tmp_path / "precious").write_text("mine")
    lock.path.symlink_to(tmp_path / "precious")
    with pytest.raises(UsageError, match="claim"):
        lock.take("one")
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become two other users")
def test_two_users_meet_whatever_their_umask(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to others
        common = Path(folder)
        common.chmod(0o1777)
        meet(common, monkeypatch)


def meet(common: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_module, "_MEETING_PLACES", (common,))
    assert meeting_place().parent == common

    def as_user(uid: int, act: str) -> int:
        """0: took it; 1: busy; both tell of the file's mode by what they could do."""
        child = os.fork()
        if child == 0:
            code = 9
            try:
                os.setgid(uid)
                os.setuid(uid)
                os.umask(0o077)
                lock = PhoneLock("A")
                code = 0 if lock.take(f"run-{uid}") is None else 1
                if act == "leave":
                    lock.release()
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert as_user(64_001, "leave") == 0
    assert as_user(64_002, "leave") == 0, "the first one's files are closed to the second"
    root = PhoneLock("A")
    assert root.take("mine") is None
    assert as_user(64_001, "leave") == 1
    root.release()
    assert as_user(64_001, "die") == 0
    assert root.holder() is None, "a dead holder keeps the phone"
    assert stat.S_IMODE(meeting_place().stat().st_mode) == 0o1777
