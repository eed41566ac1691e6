"""What a process that was killed leaves on phones: `resume` finds the phones by name, and tidies up behind the dead."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from android_runner.virtual.lifecycle import listing
from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from android_runner.virtual.root_tree import PROPERTY_DIR
from orchestrator.home import LEDGER_FILE
from tests.orch_cli import Orch, cpu_plan, wait_for_line


def _untidy(home: Path) -> int:
    """As after a SIGKILL between a block's rows and its folder."""
    with sqlite3.connect(home / LEDGER_FILE) as connection:
        return connection.execute("UPDATE block SET tidied_at = NULL").rowcount


def test_resume_tidies_up_behind_a_dead_process_on_the_very_phones_of_its_run(
    orch: Orch, mnist: Path, tmp_path: Path
) -> None:
    assert orch("virtual", "up", "pixel-8x2").code == 0
    second = listing(orch.home)[1]
    ended = orch(
        "run", mnist, cpu_plan(tmp_path), "--device", second.serial, "--perf-test", sleeping_perf_test(tmp_path, 0.05),
        "--rounds", "1", "--iterations", "2",
    )  # fmt: skip
    assert ended.code == 0, ended
    assert "nothing is left" in orch("resume", "@last").err
    blocks = orch.home / "virtual" / "phones" / second.serialno / "root" / "data" / "local" / "tmp" / "orch" / "blocks"
    assert list(blocks.iterdir()) == []
    assert _untidy(orch.home) > 0
    with sqlite3.connect(orch.home / LEDGER_FILE) as connection:
        (name,) = connection.execute("SELECT block_id FROM block").fetchone()
    (blocks / name / "part").mkdir(parents=True)
    others = blocks / "another-home-0123456789"
    others.mkdir()
    assert orch("virtual", "down").code == 0
    resumed = orch("resume", "@last")
    assert resumed.code == 0, resumed
    assert list(blocks.iterdir()) == [others], "what this home did not start stays"
    assert [phone.state for phone in listing(orch.home)] == ["down", "up"], "only the phone of the run is started"
    assert "nothing is left" in orch("resume", "@last").err


def test_rounds_of_two_builds_are_never_pooled(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    """A phone whose system was updated while nobody followed it: what it has ended is kept, nothing more is asked."""
    assert orch("virtual", "up", "pixel-8").code == 0
    (phone,) = listing(orch.home)
    run = orch.start(
        "run", mnist, cpu_plan(tmp_path), "--device", phone.serial, "--perf-test",
        sleeping_perf_test(tmp_path, 0.2), "--rounds", "4", "--iterations", "2",
    )  # fmt: skip
    wait_for_line(run, "run ")
    root = orch.home / "virtual/phones" / phone.serialno / "root"
    while not any(" start " in path.read_text() for path in root.glob("data/local/tmp/orch/blocks/*/journal")):
        assert run.poll() is None
    run.kill()
    run.communicate()
    file = root / PROPERTY_DIR / "ro.build.fingerprint"
    before = file.read_text()
    file.write_text("google/shiba/shiba:15/NEW/1:user/release-keys\n")
    updated = orch("resume")
    assert updated.code == 3, updated
    assert "its build is now google/shiba/shiba:15/NEW/1" in updated.err
    counts = orch.counts()
    assert counts["measured"] > 0
    assert counts["skipped"] == counts["planned"] - counts["measured"] > 0
    file.write_text(before)
    assert orch("resume", "@last").code == 0
    assert orch.counts()["measured"] == counts["planned"]
    with sqlite3.connect(orch.home / LEDGER_FILE) as connection:
        assert connection.execute("SELECT DISTINCT fingerprint FROM attempt").fetchall() == [(before.strip(),)]
