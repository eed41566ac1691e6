"""What faults do to a phone's files, and how it is mended."""

from __future__ import annotations

from pathlib import Path

from android_runner.block import Block, TrialTask
from android_runner.lease import HIGHEST_EPOCH
from android_runner.phone.listing import render_list
from android_runner.virtual.fault_deeds import asks_nnapi, do_to_files, mend_files, running_trials
from android_runner.virtual.fault_kinds import FaultKind
from android_runner.virtual.root_tree import PROPERTY_DIR

ORCH = "data/local/tmp/orch"


def test_a_foreign_lease_comes_and_goes(tmp_path: Path) -> None:
    lease = tmp_path / "root" / ORCH / "lease"
    lease.parent.mkdir(parents=True)
    lease.write_text("7\n")
    undo = do_to_files(FaultKind.FOREIGN_LEASE, tmp_path / "root")
    assert lease.read_text() == f"{HIGHEST_EPOCH}\n"
    assert undo is not None
    undo()
    assert lease.read_text() == "7\n"


def phone(tmp_path: Path) -> tuple[Path, Path]:
    """A phone's root, and the file of its serial number."""
    root = tmp_path / "phone" / "root"
    serial = root / PROPERTY_DIR / "ro.serialno"
    serial.parent.mkdir(parents=True)
    serial.write_text("virtual-pixel-8-4\n")
    return root, serial


def test_two_faults_of_a_kind_at_once_leave_the_phone_as_it_was(tmp_path: Path) -> None:
    root, serial = phone(tmp_path)
    first, second = (do_to_files(FaultKind.DUPLICATE, root) for _ in range(2))
    assert serial.read_text() == "virtual-twin-1\n"
    assert first is not None
    assert second is not None
    first()
    second()
    assert serial.read_text() == "virtual-pixel-8-4\n"
    assert not (serial.parent / "ro.boot.serialno").exists(), "it was not there before"


def test_a_phone_that_died_in_the_middle_of_its_faults_is_mended_when_it_lives_again(tmp_path: Path) -> None:
    root, serial = phone(tmp_path)
    (root / "system/bin").mkdir(parents=True)
    (root / "system/bin/df").write_text("")
    do_to_files(FaultKind.DUPLICATE, root)
    do_to_files(FaultKind.LOST_TOOLS, root)
    mend_files(root)
    assert serial.read_text() == "virtual-pixel-8-4\n"
    assert (root / "system/bin/df").exists()
    serial.write_text("somebody's own\n")
    mend_files(root)
    assert serial.read_text() == "somebody's own\n", "once is enough"


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
