"""What faults do to a phone's files, and how it is mended."""

from __future__ import annotations

from pathlib import Path

from android_runner.block import Block, TrialTask
from android_runner.lease import HIGHEST_EPOCH
from android_runner.phone.listing import render_list
from android_runner.virtual.fault_deeds import asks_nnapi, do_to_files, running_trials
from android_runner.virtual.fault_kinds import FaultKind

ORCH = "data/local/tmp/orch"


def test_a_foreign_lease_comes_and_goes(tmp_path: Path) -> None:
    lease = tmp_path / ORCH / "lease"
    lease.parent.mkdir(parents=True)
    lease.write_text("7\n")
    undo = do_to_files(FaultKind.FOREIGN_LEASE, tmp_path)
    assert lease.read_text() == f"{HIGHEST_EPOCH}\n"
    assert undo is not None
    undo()
    assert lease.read_text() == "7\n"


def test_tools_are_lost_and_found(tmp_path: Path) -> None:
    bin_ = tmp_path / "system/bin"
    bin_.mkdir(parents=True)
    for name in ("sha256sum", "cat"):
        (bin_ / name).write_text("")
    undo = do_to_files(FaultKind.LOST_TOOLS, tmp_path)
    assert [path.name for path in bin_.iterdir()] == ["cat"]
    assert undo is not None
    undo()
    assert sorted(path.name for path in bin_.iterdir()) == ["cat", "sha256sum"]


def test_a_running_trial_and_whether_it_asks_for_nnapi(tmp_path: Path) -> None:
    tasks = (
        TrialTask(task_id="a", argv=("tool", "-e", "nnapi", "model"), deadline_s=5),
        TrialTask(task_id="b", argv=("tool", "-e", "cpu", "model"), deadline_s=5),
    )
    folder = tmp_path / ORCH / "blocks/b1"
    (folder / "part/a").mkdir(parents=True)
    (folder / "list").write_bytes(render_list(Block(block_id="b1", epoch=1, tasks=tasks)))
    (folder / "current").write_text("12 3456 5 a 99\n")
    assert list(running_trials(tmp_path)) == ["b1/a"]
    assert asks_nnapi(tmp_path, "b1/a")
    assert not asks_nnapi(tmp_path, "b1/b")
    (folder / "current").write_text("12 3456 5 .dumpsys 99\n")
    assert list(running_trials(tmp_path)) == []
    (folder / "current").write_text("")
    assert list(running_trials(tmp_path)) == []
