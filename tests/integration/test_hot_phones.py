"""Virtual phones that get hot, through the real CLI: trials really take longer, and the vitals around them tell why."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from tests.orch_cli import Orch

SCENARIO = """\
name = "hot-soon"
about = "A quarter of the speed is lost within seconds; the thermal status stays at light, so that no gate waits."
time_scale = 100
[heat]
lost = [0.27, 0.27]
time_constant_s = [100, 100]
"""


@pytest.mark.timeout(120)
def test_trials_on_a_hot_phone_take_longer_and_vitals_tell_why(orch: Orch, models: Path, tmp_path: Path) -> None:
    (tmp_path / "hot.toml").write_text(SCENARIO)
    (tmp_path / "one.toml").write_text('[[matrix]]\nrecipe = ["onnx"]\n')
    started = orch("virtual", "up", "pixel-8", "--scenario", tmp_path / "hot.toml", "--seed", "3", "--idle-exit", "3")
    assert started.code == 0, started
    assert "virtual-pixel-8-hot-soon-1" in started.out
    assert str(tmp_path / "hot.toml") in orch("virtual", "list").out
    ended = orch(
        "run", models / "mnist.onnx", tmp_path / "one.toml", "--device", f"virtual:pixel-8@{tmp_path / 'hot.toml'}",
        "--perf-test", sleeping_perf_test(tmp_path / "tool", 0.5), "--rounds", "6", "--iterations", "20", timeout_s=100,
    )  # fmt: skip
    assert "virtual-pixel-8-hot-soon-1" in ended.out, ended
    assert orch("report", "@last", "--format", "csv").code == 0
    with open(next(orch.home.glob("*/csv/attempts.csv")), encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: float(row["started_uptime_s"]))
    first, last = rows[0], rows[-1]
    took_s = [float(row["ended_uptime_s"]) - float(row["started_uptime_s"]) for row in rows]
    assert took_s[0] >= 0.5
    assert max(took_s) >= 0.56  # at least a tenth of the speed has gone by then
    assert max(float(row["p50_s"]) for row in rows if row["p50_s"]) > 1.1 * 0.000105
    assert float(last["battery_c_after"]) > float(first["battery_c_before"]) + 2
    assert float(last["zone_max_c_after"]) > float(first["zone_max_c_before"]) + 6
    assert int(last["freq_max_khz_after"]) < int(first["freq_max_khz_before"])


def test_a_scenario_that_does_not_exist_is_told(orch: Orch, models: Path) -> None:
    for command in ("run", "plan"):
        ended = orch(command, models / "mnist.onnx", "--device", "virtual:pixel-8@tropical")
        assert (ended.code, "no such scenario; there are: bursts, drift" in ended.err) == (2, True), ended
