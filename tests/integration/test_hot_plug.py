"""`--hot-plug`: a phone that comes while the run lasts is asked the same, and nothing of it is lost to `resume`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from orchestrator.store.ledger import Ledger
from tests.orch_cli import Orch, cpu_plan, wait_for_line


def test_a_phone_that_is_plugged_in_joins_the_run(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    assert orch("virtual", "up", "pixel-8").code == 0
    process = orch.start(
        "run", mnist, cpu_plan(tmp_path), "--device", "virtual:pixel-8", "--hot-plug", "--perf-test",
        sleeping_perf_test(tmp_path, 0.3), "--rounds", "10", "--iterations", "3", "--virtual-slots", "2",
    )  # fmt: skip
    wait_for_line(process, "run ")
    assert orch("virtual", "up", "pixel-8x2", "redmi-go").code == 0
    out, err = process.communicate(timeout=150)
    assert process.returncode == 0, f"{out}\n{err}"
    assert "virtual-pixel-8-2 joins" in err
    ledger = Ledger.open(orch.home)
    run_id = ledger.find_run("@last")
    rows = ledger.trials(run_id)
    asked = Counter(row.trial.phone for row in rows)
    assert set(asked) == {"virtual-pixel-8-1", "virtual-pixel-8-2"}
    assert len(set(asked.values())) == 1
    assert {row.state for row in rows} == {"measured"}
    first = min(one.seq for one in ledger.events(run_id) if one.kind == "phone joined")
    joined = {row.trial_id for row in rows if row.trial.phone == "virtual-pixel-8-2"}
    assert all(one.seq > first for one in ledger.events(run_id) if one.trial_id in joined)
    assert {one.phone for one in ledger.contents(run_id).phones} == set(asked)
    assert "nothing is left to run" in orch("resume", run_id).err
