"""Virtual phones that get hot, through the real CLI: trials really take longer, and the vitals around them tell why."""

from __future__ import annotations

import csv
import json
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


SLOWLY = """\
name = "hot-slowly"
about = "Four cores at work lose a third of their speed, one core next to none."
time_scale = 100
[heat]
lost = [0.35, 0.35]
time_constant_s = [200, 200]
"""
LONE_CORE = """\
[ -z "$threads" ] || [ "$threads" != 1 ] || slow=$((slow * 112 / 100))
# What it says fits together"""


@pytest.mark.timeout(120)
def test_the_setting_that_is_best_at_first_is_not_the_one_that_is_best_when_hot(
    orch: Orch, models: Path, tmp_path: Path
) -> None:
    """All cores are 12 % ahead of one core, until they are hot."""
    (tmp_path / "hot.toml").write_text(SLOWLY)
    (tmp_path / "two.toml").write_text('[[matrix]]\nrecipe = ["onnx"]\nthreads = [1, 9]\n')
    tool = sleeping_perf_test(tmp_path / "tool", 0.1)
    program = tool.read_text().replace(
        "    s) statistics=yes ;;", "    s) statistics=yes ;;\n    x) threads=$OPTARG ;;"
    )
    tool.write_text(program.replace("# What it says fits together", LONE_CORE, 1))
    ended = orch(
        "run", models / "mnist.onnx", tmp_path / "two.toml", "--device", f"virtual:pixel-8@{tmp_path / 'hot.toml'}",
        "--perf-test", tool, "--rounds", "1", "--iterations", "20", "--sustained", "0.16", "--seed", "4",
        "--limit", "max_status=off", "--limit", "max_battery_c=off", timeout_s=100,
    )  # fmt: skip
    assert ended.code == 0, ended
    sustained = json.loads(orch("report", "@last", "--format", "json").out)["models"][0]["phones"][0]["sustained"]
    (flip,) = sustained["flips"]
    assert (flip["at_first"], flip["steady"]) == ("cpu onnx 9t", "cpu onnx 1t")
    assert flip["at_s"] > 0.5, "not from the first moment on"
    nine, one = sustained["series"]
    assert (nine["row"], nine["first_place"], nine["steady_place"]) == ("cpu onnx 9t", 1, 2)
    assert one["slower"] < 0.1 < nine["slower"]
    assert nine["points"][-1]["temperature_c"] > one["points"][-1]["temperature_c"] + 5
    assert "cpu onnx 9t leads cpu onnx 1t" in " ".join(ended.out.split())
