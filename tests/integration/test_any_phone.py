"""`--device "any(…)"`: one phone is asked; another of its model takes what the first can't do."""

from __future__ import annotations

import json
from pathlib import Path

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from tests.orch_cli import Orch, cpu_plan


def crashing_on(tool: Path, phone: str) -> Path:
    """The tool, but on one phone what writes results ends by a signal of its own making."""
    text = tool.read_text(encoding="utf-8")
    first, _, rest = text.partition("\n")
    crash = f'case "$(getprop ro.serialno) $*" in "{phone} "*result.csv*) kill -SEGV $$ ;; esac'
    tool.write_text(f"{first}\n{crash}\n{rest}", encoding="utf-8")
    return tool


def test_one_phone_is_asked_and_another_takes_what_crashes_there(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    tool = crashing_on(sleeping_perf_test(tmp_path, 0.05), "virtual-pixel-8-1")
    ended = orch(
        "run", mnist, cpu_plan(tmp_path), "--device", "any(virtual:pixel-8x2)", "--perf-test", tool,
        "--rounds", "2", "--iterations", "3", "--virtual-slots", "2", timeout_s=100,
    )  # fmt: skip
    assert ended.code == 0, ended
    counts = orch.counts()
    assert counts["measured"] == counts["planned"] > 0
    folder = orch.home / "csv"
    assert orch("report", "@last", "--format", "csv", "--out", folder).code == 0
    rows = (folder / "attempts.csv").read_text(encoding="utf-8")
    assert "virtual-pixel-8-1" in rows
    trials = (folder / "trials.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert all("virtual-pixel-8-2" in line for line in trials)
    planned = json.loads(orch("runs", "--json").out)[0]["planned"]
    assert planned == len(trials)
