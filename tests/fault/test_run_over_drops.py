"""A whole run over a phone whose transport drops in the middle of things: what was measured stays measured."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from android_runner.adb.server import adb_binary
from android_runner.virtual.faults import Drop, DropKind, FaultPlan, write_faults
from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from tests.orch_cli import Orch, cpu_plan, wait_for_line


@pytest.mark.parametrize(
    ("kind", "after_bytes"), [(DropKind.PUSH, 10_000), (DropKind.PULL, 2_000), (DropKind.SHELL, 200)]
)
def test_a_drop_loses_nothing(orch: Orch, mnist: Path, tmp_path: Path, kind: DropKind, after_bytes: int) -> None:
    tool = sleeping_perf_test(tmp_path, 0.1)
    assert orch("virtual", "up", "pixel-8").code == 0
    process = orch.start(
        "run", mnist, cpu_plan(tmp_path), "--device", "virtual:pixel-8", "--perf-test", tool,
        "--rounds", "4", "--iterations", "300", "--virtual-slots", "2",
    )  # fmt: skip
    wait_for_line(process, "run ")
    plan = FaultPlan(drop=Drop(kind=kind, after_bytes=after_bytes, times=3))
    write_faults(orch.home / "virtual" / "phones" / "virtual-pixel-8-1", plan)
    out, err = process.communicate(timeout=150)
    assert process.returncode == 0, f"{out}\n{err}"
    counts = orch.counts()
    assert counts["measured"] == counts["planned"] > 0


def test_the_server_refuses_to_be_killed_and_a_dead_one_costs_only_waiting(
    orch: Orch, mnist: Path, tmp_path: Path
) -> None:
    tool = sleeping_perf_test(tmp_path, 0.2)
    assert orch("virtual", "up", "pixel-8").code == 0
    server = json.loads((orch.home / "virtual" / "server.json").read_text())
    process = orch.start(
        "run", mnist, cpu_plan(tmp_path), "--device", "virtual:pixel-8", "--perf-test", tool,
        "--rounds", "5", "--iterations", "5", "--virtual-slots", "2",
    )  # fmt: skip
    time.sleep(2.0)
    env = {**os.environ, "HOME": str(tmp_path)}
    command = [str(adb_binary()), "-P", str(server["port"]), "kill-server"]
    subprocess.run(command, env=env, capture_output=True, check=False)
    os.kill(server["pid"], 0)  # it lives
    out, err = process.communicate(timeout=150)
    assert process.returncode == 0, f"{out}\n{err}"
    counts = orch.counts()
    assert counts["measured"] == counts["planned"] > 0


def test_phones_measure_on_while_the_host_is_gone(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    """The host dies in the middle of a block; the phone ends it alone, and `resume` takes it over."""
    tool = sleeping_perf_test(tmp_path, 0.3)
    process = orch.start(
        "run", mnist, cpu_plan(tmp_path), "--device", "virtual:pixel-8", "--perf-test", tool,
        "--rounds", "2", "--iterations", "5", "--virtual-slots", "2",
    )  # fmt: skip
    wait_for_line(process, "staged")
    time.sleep(0.4)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    time.sleep(2.5)
    ended = orch("resume")
    assert ended.code == 0, ended
    assert "0 attempts taken over" not in ended.err
    counts = orch.counts()
    assert counts["measured"] == counts["planned"] > 0
