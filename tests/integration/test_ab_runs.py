"""`orch ab` through the real CLI on virtual phones: two binaries, two models, two settings; cut off and resumed."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from tests.docs.json_shapes import COMMANDS, problems, shape_of
from tests.forked_orch import ForkedOrch
from tests.orch_cli import Orch

PHONE = ("--device", "virtual:pixel-8")
FAST = ("--iterations", "5", "--virtual-slots", "2")


def binary(folder: Path, ms: str = "0.105", sleep_s: float = 0.02) -> Path:
    """A perf_test that says that each inference took so long."""
    tool = sleeping_perf_test(folder, sleep_s)
    ns = f"{round(float(ms) * 1000)}"
    tool.write_text(tool.read_text().replace("105", ns))
    return tool


def answer(orch: Orch) -> dict[str, Any]:
    """The report's JSON, which is as docs/json.md says."""
    told: dict[str, Any] = json.loads(orch("report", "@last", "--format", "json").out)
    (shape,) = (shape_of(one) for one in COMMANDS if one.words == "orch report --format json")
    assert list(problems({name: value for name, value in told.items() if name != "schema"}, shape)) == []
    return told


@pytest.mark.timeout(120)
def test_two_binaries_are_measured_in_one_run_until_they_differ(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    old, new = binary(tmp_path / "old", "0.210"), binary(tmp_path / "new", "0.105")
    ended = orch("ab", mnist, "--a", f"binary={new}", "--b", f"binary={old}", *PHONE, *FAST, "--fail-if", "p50:5%")
    assert ended.code == 1, ended
    assert "B is 2.00× as slow" in " ".join(ended.out.split())
    assert "gate p50:5% failed: virtual-pixel-8-1 · mnist: p50 +100.0 % (" in " ".join(ended.out.split())
    assert ended.err.endswith("exit 1: 1 gate failed\n")
    assert orch.counts() == {"planned": 60, "measured": 12, "failed": 0, "skipped": 48}
    told = answer(orch)
    (pair,) = told["ab"]["pairs"]
    assert (pair["finding"], pair["n"]) == ("slower", 6)
    a, b = told["ab"]["sides"]
    assert a["binary_digest"] != b["binary_digest"]
    with sqlite3.connect(orch.home / "ledger.sqlite") as ledger:
        tools = {
            row[0] for row in ledger.execute("select json_extract(argv, '$[0]') from attempt where purpose='time'")
        }
        rounds = list(
            ledger.execute(
                "select round, json_extract(record, '$.side') from attempt join run_case using (run_id, case_id) "
                "where purpose = 'time' order by started_uptime_s"
            )
        )
    assert len(tools) == 2
    assert [side for _, side in rounds] == list("ABBA" * 3)
    shown = orch("show", "@last/virtual-pixel-8-1/B default")
    assert shown.code == 0, shown
    assert "6 of 30 rounds" in shown.out


@pytest.mark.timeout(120)
def test_two_models_of_one_name(orch: Orch, models: Path, tmp_path: Path) -> None:
    tool = binary(tmp_path)
    for name, source in (("old", "mnist"), ("new", "squeezenet")):
        (tmp_path / name).mkdir()
        shutil.copy(models / f"{source}.onnx", tmp_path / name / "net.onnx")
    ended = orch(
        "ab", "--a", tmp_path / "old" / "net.onnx", "--b", tmp_path / "new" / "net.onnx", "--perf-test", tool, *PHONE,
        *FAST, "--rounds", "3", "--fail-if", "p50:5%",
    )  # fmt: skip
    assert ended.code == 0, ended
    assert "gate p50:5% passed" in ended.out
    assert "same within ± 2.0 %" in " ".join(ended.out.split())
    told = answer(orch)
    assert [model["model"] for model in told["models"]] == ["net"]
    assert len(told["models"][0]["variants"]) == 2
    assert len({row["case"] for row in told["models"][0]["phones"][0]["rows"]}) == 2


@pytest.mark.timeout(120)
def test_a_killed_comparison_goes_on_with_both_binaries(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    forked = ForkedOrch(orch.home)
    old, new = binary(tmp_path / "old", "0.210", 0.1), binary(tmp_path / "new", "0.205", 0.1)
    forked.start(
        "ab", mnist, "--a", f"binary={old}", "--b", f"binary={new}", *PHONE, *FAST, "--rounds", "8", "--delta", "50%"
    )
    assert forked.said("ab  2/16")
    (now,) = json.loads(orch("status", "--json").out)
    assert (now["told"], now["cut_off"], len(now["lanes"])) == (True, False, 1), now
    forked.send(signal.SIGKILL)
    assert forked.wait() == -signal.SIGKILL
    dead = orch("status")
    assert "dead since 2" in dead.out, dead
    assert f"orch resume {now['run_id']}" in dead.out, dead
    shutil.rmtree(tmp_path / "new")  # the home has what the run needs
    ended = orch("resume")
    assert ended.code == 0, ended
    (pair,) = answer(orch)["ab"]["pairs"]
    assert (pair["finding"], pair["n"]) == ("same", 6)
    counts = orch.counts()
    assert counts["measured"] >= 12
    assert counts["measured"] + counts["skipped"] == counts["planned"] == 16


def test_bad_words_are_refused_before_a_phone_is_looked_for(orch: Orch, mnist: Path) -> None:
    ended = orch("ab", mnist, "--a", "binary=/no/such", "--b", "threads=2", *PHONE)
    assert ended.code == 2, ended
    assert "/no/such: is not a file (give an existing file to --a binary)" in ended.err
    ended = orch("ab", mnist, "--a", "threads=2", "--b", "thread=3", *PHONE)
    assert ended.code == 2, ended
    assert "--b: unknown word 'thread' (did you mean 'threads'?" in ended.err
    assert not (orch.home / "virtual").exists()


def test_sides_that_are_the_same_file_are_refused(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.onnx"
    shutil.copy(mnist, copy)
    ended = orch("ab", "--a", mnist, "--b", copy, *PHONE)
    assert ended.code == 2, ended
    assert "A and B are one and the same here" in ended.err
