"""`orch tune` through the real CLI on virtual phones: the best is found, a killed one goes on, a lost phone is told."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from orchestrator.store.ledger import Ledger
from tests.docs.json_shapes import COMMANDS, problems, shape_of
from tests.forked_orch import ForkedOrch
from tests.orch_cli import Orch

PHONE = ("--device", "virtual:pixel-8")
FAST = ("--iterations", "5", "--virtual-slots", "2", "--seed", "7")
BEST = "cpu onnx all 2t"


def binary(folder: Path, sleep_s: float = 0.01) -> Path:
    """A perf_test whose figures depend on what it is asked for: two threads and all optimizations are fastest. Each
    process strays by up to 0.5 %."""
    tool = sleeping_perf_test(folder, sleep_s)
    text = tool.read_text()
    taken = '    x) [ "$OPTARG" = 2 ] || cost=$((cost + 300)) ;;\n    o) cost=$((cost + 99 - OPTARG)) ;;\n'
    taken += "    D) cost=$((cost + 120)) ;;\n    A) cost=$((cost + 80)) ;;\n"
    text = text.replace("    r) repetitions=", f"{taken}    r) repetitions=", 1)
    text = text.replace("statistics= profile=\n", "statistics= profile= cost=$(($$ % 11 - 5))\n", 1)
    text = text.replace("slow=1000 #", "slow=$((1000 + cost)) #", 1)
    tool.write_text(text)
    return tool


def axes(folder: Path, arena: str = "true, false") -> Path:
    """24 settings; 12 without a choice of arenas."""
    plan = folder / "axes.toml"
    plan.write_text(
        'name = "axes"\n[[matrix]]\nlevel = ["disable", "basic", "extended", "all"]\nthreads = [1, 2]\n'
        f"spinning = [true, false]\narena = [{arena}]\n"
    )
    return plan


def told(orch: Orch, run: str = "@last") -> dict[str, Any]:
    """The report's JSON, which is as docs/json.md says."""
    said: dict[str, Any] = json.loads(orch("report", run, "--format", "json").out)
    (shape,) = (shape_of(one) for one in COMMANDS if one.words == "orch report --format json")
    assert list(problems({name: value for name, value in said.items() if name != "schema"}, shape)) == []
    return said


def adds_up(orch: Orch) -> dict[str, int]:
    counts = orch.counts()
    assert counts["planned"] == counts["measured"] + counts["failed"] + counts["skipped"], counts
    return counts


@pytest.mark.timeout(150)
def test_the_best_is_found_with_few_processes(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    ended = orch("tune", mnist, axes(tmp_path), "--perf-test", binary(tmp_path), *PHONE, *FAST, "--budget", "3m")
    assert ended.code == 0, ended
    said = " ".join(ended.out.split())
    assert f"{BEST}, 0.10" in said, ended
    assert "is the best of 24 settings" in said, ended
    counts = adds_up(orch)
    assert counts["planned"] == counts["measured"] < 24 * 6
    tune = told(orch)["tune"]
    (answer,) = tune["answers"]
    assert (answer["winner"]["row"], answer["known"], answer["end"]) == (BEST, True, "the best is known")
    assert answer["winner"]["rounds"] >= 5
    assert answer["processes"] == counts["planned"]
    assert (tune["objectives"], tune["within"]) == (["p50"], 0.02)
    page = (orch.home / told(orch)["head"]["run"] / "report.html").read_text()
    assert "<h2>The search</h2>" in page
    assert "## The search" in orch("report", "@last", "--format", "md").out
    assert "nothing is left to run" in orch("resume", "@last").err
    with_events = Ledger.open(orch.home)
    try:
        kinds = [one.kind for one in with_events.events(with_events.find_run("@last"))]
    finally:
        with_events.close()
    assert kinds.index("round planned") < next(at for at, kind in enumerate(kinds) if kind.startswith("trial "))


@pytest.mark.timeout(150)
def test_a_killed_search_goes_on(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    forked = ForkedOrch(orch.home)
    tool = binary(tmp_path, 0.05)
    forked.start("tune", mnist, axes(tmp_path, "true"), "--perf-test", tool, *PHONE, *FAST, "--budget", "3m")
    assert forked.said("axes  12/")
    forked.send(signal.SIGKILL)
    assert forked.wait() == -signal.SIGKILL
    ended = orch("resume")
    assert ended.code == 0, ended
    counts = adds_up(orch)
    assert counts["planned"] == counts["measured"]
    (answer,) = told(orch)["tune"]["answers"]
    assert (answer["winner"]["row"], answer["known"]) == (BEST, True)


@pytest.mark.timeout(150)
def test_the_rest_goes_on_without_a_lost_phone(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    forked = ForkedOrch(orch.home)
    tool = binary(tmp_path, 0.05)
    orch.home.mkdir()
    (orch.home / "lab.toml").write_text("[recovery]\nwait_seconds = 1\n")
    forked.start(
        "tune",
        mnist,
        axes(tmp_path, "true"),
        "--perf-test",
        tool,
        "--device",
        "virtual:pixel-8x2",
        *FAST,
        "--budget",
        "3m",
    )
    assert forked.said("run ")
    assert forked.said("so far virtual-pixel-8-")
    assert orch("virtual", "down", "virtual-pixel-8-2").code == 0
    assert forked.wait() == 3
    adds_up(orch)
    answers = {one["phone"]: one for one in told(orch)["tune"]["answers"]}
    assert (answers["virtual-pixel-8-1"]["winner"]["row"], answers["virtual-pixel-8-1"]["known"]) == (BEST, True)
    lost = answers["virtual-pixel-8-2"]
    assert not lost["known"]
    assert lost["end"] == "cut off: phone lost"


def test_what_can_not_be_searched_is_refused_before_a_phone_is_touched(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    tool = binary(tmp_path)
    asked = ("tune", mnist, axes(tmp_path), "--perf-test", tool, *PHONE, *FAST)
    for words, said in (
        (("--budget", "3s"), "--budget: 3 s are below one round (give at least"),
        (("--within", "200%"), "--within: '200%' is no share"),
        (("--objective", "p51"), "--objective: unknown objective 'p51' (did you mean 'p50'?"),
        (("--verify",), "verify: is nothing that a search does"),
    ):
        ended = orch(*asked, *words)
        assert ended.code == 2, ended
        assert said in ended.err, ended
    assert json.loads(orch("runs", "--json").out) == []
