"""The main job through the real CLI on virtual phones: measure, measure again, resume, what is refused."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from orchestrator.farm.lock import PhoneLock
from tests.forked_orch import ForkedOrch
from tests.orch_cli import Orch, cpu_plan

PHONES = ("--device", "virtual:pixel-8", "--device", "virtual:redmi-go")


@pytest.mark.timeout(400)
def test_two_models_on_two_phones_end_with_a_report(orch: Orch, models: Path, tmp_path: Path) -> None:
    plan = tmp_path / "levels.toml"
    plan.write_text('[[matrix]]\nrecipe = ["onnx", "extended", "layout", "all"]\n')
    ended = orch("run", models, plan, *PHONES, "--rounds", "3", "--iterations", "20", timeout_s=350)
    assert ended.code == 0, ended
    assert "virtual" in ended.out
    counts = orch.counts()
    assert counts["measured"] == counts["planned"] > 0
    assert max(map(len, ended.out.splitlines())) <= 80
    report = next(orch.home.glob("*/report.md")).read_text()
    assert "=extended" in report
    assert "=layout" in report
    assert "/report.html" in ended.err
    page = next(orch.home.glob("*/report.html")).read_text()
    assert "<title>2 models: on virtual phones" in page


def test_the_same_plan_measures_again_and_stages_nothing(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    words = ("run", mnist, cpu_plan(tmp_path), "--device", "virtual:pixel-8", "--rounds", "1", "--iterations", "20")
    first = orch(*words)
    assert first.code == 0, first
    assert "staged 0 bytes in all" not in first.err
    second = orch(*words)
    assert second.code == 0, second
    assert "staged 0 bytes in all" in second.err
    rows = json.loads(orch("runs", "--json").out)
    assert [row["measured"] for row in rows] == [rows[0]["planned"]] * 2


def test_resume_of_a_finished_run_runs_nothing_and_says_so(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    assert (
        orch(
            "run", mnist, cpu_plan(tmp_path), "--device", "virtual:pixel-8", "--rounds", "1", "--iterations", "20"
        ).code
        == 0
    )
    before = orch.counts()
    ended = orch("resume")
    assert ended.code == 0
    assert "finished: nothing is left" in ended.err
    assert orch.counts() == before


def test_resume_ends_a_run_that_was_killed_after_its_last_trial(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    words = "--device", "virtual:pixel-8", "--rounds", "1", "--iterations", "20"
    assert orch("run", mnist, cpu_plan(tmp_path), *words).code == 0
    with sqlite3.connect(orch.home / "ledger.sqlite") as ledger:
        ledger.execute("update run set state = 'running', ended_at = null")
    assert "nothing is left" in orch("resume").err
    assert [row["state"] for row in runs_of(orch)] == ["finished"]


def counted_twice(home: Path) -> list[tuple[str, int]]:
    """Trials with more than one measured attempt, straight from the ledger."""
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        return list(
            ledger.execute(
                "select trial_id, count(*) from attempt where outcome = 'measured' and purpose = 'time' "
                "group by trial_id having count(*) > 1"
            )
        )


def runs_of(orch: Orch) -> list[dict[str, object]]:
    if not (orch.home / "ledger.sqlite").exists():
        return []
    return list(json.loads(orch("runs", "--json").out))


@pytest.mark.timeout(600)
def test_sigkill_at_random_moments_loses_and_doubles_nothing(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    seed = int(os.environ.get("ORCH_SEED") or random.SystemRandom().randrange(10**6))
    print(f"seed {seed}")
    rng = random.Random(seed)
    tool = sleeping_perf_test(tmp_path, 0.15)
    begin = (
        "run", mnist, cpu_plan(tmp_path), *PHONES, "--perf-test", tool, "--rounds", "12", "--iterations", "5",
        "--virtual-slots", "7",
    )  # fmt: skip
    kills, words = 0, begin
    while kills < 20:
        kills += _killed(orch, words, rng) if kills % 4 else _killed_afresh(orch, words, rng)
        unfinished = [run for run in runs_of(orch) if run["state"] != "finished"]
        words = ("resume",) if unfinished else begin
    ended = orch(*words, timeout_s=200)
    assert ended.code == 0, f"seed {seed}\n{ended}"
    for run in runs_of(orch):
        assert run["state"] == "finished", (seed, run)
        assert run["planned"] == run["measured"], (seed, run)
    assert counted_twice(orch.home) == [], seed
    assert len(list((orch.home / "virtual/slots").glob("slot*.lock"))) == 7, "those of the run, not this computer's"


def _killed(orch: Orch, words: Sequence[str | Path], rng: random.Random) -> bool:
    """Kill a command at a random moment; False when it had come to its end by then. A fork, as that costs less."""
    forked = ForkedOrch(orch.home)
    forked.start(*words)
    time.sleep(rng.uniform(0.0, 2.0))
    forked.send(signal.SIGKILL)
    return forked.wait() == -signal.SIGKILL


def _killed_afresh(orch: Orch, words: Sequence[str | Path], rng: random.Random) -> bool:
    """The same of a process of its own, as people start it."""
    process = orch.start_afresh(*words)
    time.sleep(rng.uniform(0.3, 3.0))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def test_a_refused_setting_costs_only_itself(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    tool = sleeping_perf_test(tmp_path, 0.05)
    text = tool.read_text().splitlines(keepends=True)
    refusal = 'case " $* " in *" -P "*) echo "parallel is not supported in this build" >&2; exit 255;; esac\n'
    tool.write_text("".join([text[0], refusal, *text[1:]]))
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'models = ["{mnist}"]\nrounds = 3\niterations = 4\ntwins = false\n'
        '[[matrix]]\nrecipe = ["all"]\nparallel = [false, true]\n'
    )
    ended = orch("run", plan, "--device", "virtual:pixel-8", "--perf-test", tool, "--virtual-slots", "2")
    assert ended.code == 0, ended
    assert orch.counts() == {"planned": 6, "measured": 3, "failed": 3, "skipped": 0}
    assert "not supported" in ended.out


@pytest.mark.skipif("ORCH_PERF_TEST" not in os.environ, reason="needs ORCH_PERF_TEST, a true perf_test for Linux")
def test_a_true_perf_test_runs_in_place_of_the_stand_in(orch: Orch, mnist: Path) -> None:
    tool, library = os.environ["ORCH_PERF_TEST"], os.environ["ORCH_PERF_TEST_LIB"]
    ended = orch(
        "run", mnist, "--device", "virtual:pixel-8", "--rounds", "2", "--seconds", "0.2",
        "--perf-test", tool, "--lib", library,
    )  # fmt: skip
    assert ended.code == 0, ended
    counts = orch.counts()
    assert counts["measured"] == counts["planned"] > 0
    assert "1.21.0" in ended.out


def test_a_busy_phone_is_left_alone(orch: Orch, mnist: Path) -> None:
    """Another run's claim is seen before anything is put on the phone."""
    assert orch("virtual", "up", "pixel-8").code == 0
    server = json.loads((orch.home / "virtual" / "server.json").read_text())
    lock = PhoneLock(f"virtual-pixel-8-1@{server['port']}")
    assert lock.take("0101-other-aaaa") is None
    try:
        ended = orch("run", mnist, "--device", "virtual:pixel-8")
    finally:
        lock.release()
    assert ended.code == 2, ended
    assert "busy: aaaa" in ended.err
    root = orch.home / "virtual" / "phones" / "virtual-pixel-8-1" / "root"
    assert not (root / "data/local/tmp/orch").exists()
