"""The guard itself: what it must stop is stopped, what it must let pass passes."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from tests import guarded as module
from tests.guarded import GROWTH_BYTES, OutsideItsPlace, TooMuchTime, guarded


def test_writing_is_only_for_its_place(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    with guarded(inside):
        (inside / "a").write_text("x")
        os.rename(inside / "a", inside / "b")
        (outside / "nothing").exists()
    for path in (outside / "a", inside / ".." / "out" / "a", inside / "link" / "a"):
        with pytest.raises(OutsideItsPlace), guarded(inside):
            path.write_text("x")
    with pytest.raises(OutsideItsPlace), guarded(inside):
        os.rename(inside / "b", outside / "b")
    with pytest.raises(OutsideItsPlace), guarded():
        (inside / "c").write_text("x")
    assert list(outside.iterdir()) == []


def test_a_database_outside_is_seen(tmp_path: Path) -> None:
    with guarded(tmp_path):
        sqlite3.connect(tmp_path / "db").close()
    with pytest.raises(OutsideItsPlace), guarded(tmp_path / "inner"):
        sqlite3.connect(tmp_path / "other")


def test_memory_is_bounded() -> None:
    with pytest.raises(MemoryError), guarded():
        bytearray(GROWTH_BYTES + (64 << 20))
    bytearray(GROWTH_BYTES + (64 << 20))


def test_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CPU_S", 0.05)
    with pytest.raises(TooMuchTime), guarded():
        never_ends()


def never_ends() -> None:
    while True:
        pass
