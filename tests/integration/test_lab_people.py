"""People and a lab's phones, through the real command line on virtual phones."""

from __future__ import annotations

import json
from pathlib import Path

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from tests.orch_cli import Orch, cpu_plan, wait_for_line

FIRST, SECOND = "virtual-pixel-8-1", "virtual-pixel-8-2"


def test_labels_holds_and_missing_phones(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    assert orch("virtual", "up", "pixel-8x2").code == 0
    assert orch("devices", "add", FIRST, "--label", "B3", "--virtual").code == 0
    assert orch("devices", "add", SECOND, "--virtual").code == 0
    assert orch("devices", "label", SECOND, "C2", "--virtual").code == 0
    taken = orch("devices", "label", SECOND, "B3", "--virtual")
    assert taken.code == 2
    assert f"is {FIRST}'s" in taken.err
    assert orch("devices", "hold", "C2", "--why", "demo", "--until", "2h", "--virtual").code == 0
    listed = orch("devices", "--virtual")
    assert listed.code == 0, listed
    assert max(map(len, listed.out.splitlines())) <= 80
    assert "held (" in listed.out
    assert "orch devices free C2" in listed.out
    assert "2 phones, 2 expected, 1 usable" in listed.out

    few = ("--rounds", "1", "--iterations", "5")
    held = orch("run", mnist, cpu_plan(tmp_path), "--device", "C2", *few)
    assert held.code == 4, held
    assert "C2: is held (" in held.err
    ran = orch("run", mnist, cpu_plan(tmp_path), "--device", "virtual:pixel-8x2", *few)
    assert ran.code == 0, ran
    assert "left out  C2  is held (" in ran.err
    assert "B3 Pixel 8" in ran.out
    assert "C2" not in ran.out

    assert orch("virtual", "down", SECOND).code == 0
    assert orch("devices", "free", "C2", "--virtual").code == 0
    gone = orch("devices", "--virtual")
    assert gone.code == 3, gone
    assert "missing: C2 Pixel 8" in gone.out
    told = orch("devices", "--virtual", "--json")
    assert told.code == 3, told
    rows = [(row["label"], row["device_model"], row["state"], row["usable"]) for row in json.loads(told.out)]
    assert rows == [("B3", "Pixel 8", "ready", True), ("C2", "Pixel 8", "missing", False)]
    named = orch("run", mnist, cpu_plan(tmp_path), "--device", "B3,!C2", *few)
    assert named.code == 0, named
    both = orch("run", mnist, cpu_plan(tmp_path), "--device", "B3", "--device", "C2", *few)
    assert both.code == 3, both
    assert "missing  C2 Pixel 8" in both.err
    counts = orch.counts()
    assert counts["planned"] == counts["measured"]
    assert orch("devices", "retire", "C2", "--why", "swollen", "--virtual").code == 0
    assert orch("devices", "--virtual").code == 0


def test_quarantine_and_clean(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    few = ("--device", "virtual:pixel-8", "--rounds", "1", "--iterations", "5")
    assert orch("run", mnist, cpu_plan(tmp_path), *few).code == 0
    root = orch.home / "virtual" / "phones" / FIRST / "root" / "data/local/tmp/orch"
    lease = (root / "lease").read_text()
    assert len(list(root.iterdir())) > 1
    cleaned = orch("devices", "clean", FIRST, "--virtual")
    assert cleaned.code == 0, cleaned
    assert [one.name for one in root.iterdir()] == ["lease"]
    assert (root / "lease").read_text() == lease
    assert orch("devices", "quarantine", FIRST, "--why", "reboots", "--virtual").code == 0
    barred = orch("run", mnist, cpu_plan(tmp_path), *few)
    assert barred.code == 4, barred
    assert f"reboots; mended: orch devices release {FIRST}" in barred.err
    assert orch("devices", "release", FIRST, "--virtual").code == 0
    again = orch("run", mnist, cpu_plan(tmp_path), *few)
    assert again.code == 0, again


def test_a_hold_ends_a_running_run_after_its_trial_and_resume_goes_on(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    sleeper = sleeping_perf_test(tmp_path / "sleeper", 0.3)
    run = orch.start(
        "run", mnist, cpu_plan(tmp_path), "--device", "virtual:pixel-8", "--perf-test", sleeper,
        "--rounds", "40", "--iterations", "5",
    )  # fmt: skip
    wait_for_line(run, "run ")
    assert orch("devices", "hold", FIRST, "--why", "demo", "--virtual").code == 0
    _, said = run.communicate(timeout=100)
    assert run.returncode == 3, said
    assert ": demo: its trial is finished" in said
    counts = orch.counts()
    assert counts["planned"] == counts["measured"] + counts["skipped"]
    assert counts["skipped"] > 0
    assert counts["failed"] == 0
    barred = orch("resume")
    assert barred.code == 4, barred
    assert "held (" in barred.err
