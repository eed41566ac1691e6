"""Fifty phones at once, through the real command line."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

import pytest

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from tests.orch_cli import Orch


@pytest.mark.timeout(300)
def test_fifty_phones_complete_one_plan_at_once(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    """Six trials each, two cases in three rounds, all phones at the same time."""
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'models = ["{mnist}"]\nrounds = 3\niterations = 5\ntwins = false\ncanary = false\n'
        '[[matrix]]\nrecipe = ["onnx", "all"]\n'
    )
    ended = orch(
        "run", plan, "--device", "virtual:pixel-8x50", "--perf-test", sleeping_perf_test(tmp_path, 1.0),
        "--virtual-slots", "50", timeout_s=280,
    )  # fmt: skip
    assert ended.code == 0, ended
    assert orch.counts() == {"planned": 300, "measured": 300, "failed": 0, "skipped": 0}
    folder = orch.home / "csv"
    assert orch("report", "@last", "--format", "csv", "--out", folder).code == 0
    run = json.loads(orch("runs", "--json").out)[0]
    with (folder / "attempts.csv").open(newline="") as stream:
        attempts = list(csv.DictReader(stream))
    assert len(attempts) == 300
    at_work = spans(attempts)
    assert len(at_work) == 50
    # Virtual phones share a clock: the last had begun before the first was done.
    assert max(begin for begin, _ in at_work) < min(end for _, end in at_work)
    assert run["planned"] == 300


def spans(attempts: list[dict[str, str]]) -> list[tuple[float, float]]:
    """When each phone was at work, on its clock."""
    by_phone: dict[str, list[dict[str, str]]] = defaultdict(list)
    for attempt in attempts:
        by_phone[attempt["phone"]].append(attempt)
    return [
        (min(float(one["started_uptime_s"]) for one in rows), max(float(one["ended_uptime_s"]) for one in rows))
        for rows in by_phone.values()
    ]
