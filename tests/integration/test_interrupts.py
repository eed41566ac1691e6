"""Ctrl-C: nothing of ours stays on a phone, every trial has its row, the exit code is 130."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from tests.forked_orch import ForkedOrch
from tests.orch_cli import Orch, cpu_plan, wait_for_line


def ours_running(home: Path) -> list[str]:
    """Processes of a phone script or a perf_test below this home's phones, as the host sees them."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            folder = str((entry / "cwd").readlink())
            mounts = (entry / "mountinfo").read_text(errors="replace")
        except OSError:
            continue
        marked = "run_block.sh" in words or "onnxruntime_perf_test" in words
        if marked and str(home) in words + folder + mounts:
            found.append(f"{entry.name} {words}")
    return found


@pytest.mark.timeout(600)
def test_ctrl_c_at_random_moments(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    seed = int(os.environ.get("ORCH_SEED") or random.SystemRandom().randrange(10**6))
    print(f"seed {seed}")
    rng = random.Random(seed)
    tool = sleeping_perf_test(tmp_path, 0.3)
    words = (
        "run", mnist, cpu_plan(tmp_path), "--device", "virtual:pixel-8x2", "--perf-test", tool,
        "--rounds", "20", "--iterations", "3", "--virtual-slots", "2", "--new",
    )  # fmt: skip
    for turn in range(20):
        code, said = _interrupted(orch, words, rng) if turn % 4 else _interrupted_afresh(orch, words, rng)
        assert code == 130, f"seed {seed} turn {turn}\n{said}"
        assert ours_running(orch.home) == [], f"seed {seed} turn {turn}"
        row = json.loads(orch("runs", "--json").out)[0]
        assert row["planned"] == row["measured"] + row["failed"] + row["skipped"], (seed, turn, row)


def _interrupted(orch: Orch, words: Sequence[str | Path], rng: random.Random) -> tuple[int, str]:
    """The exit code of a run that is interrupted at a random moment, and what it said; a fork, as that costs less."""
    forked = ForkedOrch(orch.home)
    forked.start(*words)
    assert forked.said("\nrun "), forked.log.read_text()
    _interrupt(forked.send, rng)
    return forked.wait(), forked.log.read_text()


def _interrupted_afresh(orch: Orch, words: Sequence[str | Path], rng: random.Random) -> tuple[int, str]:
    """The same of a process of its own, as people start it."""
    process = orch.start_afresh(*words, start_new_session=True)
    wait_for_line(process, "run ")
    _interrupt(process.send_signal, rng)
    out, err = process.communicate(timeout=60)
    return process.returncode, f"{out}\n{err}"


def _interrupt(send: Callable[[int], None], rng: random.Random) -> None:
    time.sleep(rng.uniform(0.0, 2.0))
    send(signal.SIGINT)
    if rng.random() < 0.3:
        time.sleep(rng.uniform(0.0, 0.3))
        send(signal.SIGINT)
