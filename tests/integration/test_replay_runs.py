"""`orch replay` through the real CLI: the same again, on other phones, and what can't be asked again."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from test_ab_runs import FAST, PHONE, answer, binary

from tests.orch_cli import Orch


def cases_of(home: Path) -> dict[str, set[str]]:
    """By the plan's name the timed cases of its runs, straight from the ledger."""
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        rows = ledger.execute("select plan_name, case_id from trial join run using (run_id) where purpose = 'time'")
        found: dict[str, set[str]] = {}
        for name, case in rows:
            found.setdefault(name, set()).add(case)
    return found


def kept_whys(home: Path) -> set[str]:
    """Why raw files stay."""
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        return {why for (why,) in ledger.execute("select why from kept")}


@pytest.mark.timeout(180)
def test_the_same_question_in_a_run_of_its_own(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    old, new = binary(tmp_path / "old", "0.210"), binary(tmp_path / "new", "0.105")
    for tool in (old, new):  # slower by half on a phone with a file of this name
        there, words = '[ ! -e "${ORCH_ROOT-}/data/local/tmp/slower" ] || slow=1500\n', "# What it says fits together"
        tool.write_text(tool.read_text().replace(words, there + words))
    model = tmp_path / "net.onnx"
    shutil.copy(mnist, model)
    ended = orch("ab", model, "--a", f"binary={old}", "--b", f"binary={new}", *PHONE, *FAST, "--rounds", "3")
    assert ended.code == 0, ended
    assert kept_whys(orch.home) == {"compared"}
    model.unlink()  # shelf and home have what is needed
    shutil.rmtree(tmp_path / "new")
    ended = orch("replay", "@last/virtual-pixel-8-1/B default", "--virtual-slots", "2")
    assert ended.code == 0, ended
    told = answer(orch)
    (found,) = told["replay"]["answers"]
    assert (found["agreement"], found["then_s"], found["now_s"]) == ("agrees", 0.000105, 0.000105)
    assert orch.counts() == {"planned": 3, "measured": 3, "failed": 0, "skipped": 0}
    cases = cases_of(orch.home)
    assert cases["replay"] < cases["ab"]
    assert " agrees: 0.105 ms then, 0.105 ms now" in " ".join(ended.out.split())

    assert kept_whys(orch.home) == {"compared", "replayed"}
    (orch.home / "virtual/phones/virtual-pixel-8-1/root/data/local/tmp/slower").touch()
    slower = orch("replay", "@last/virtual-pixel-8-1/1", "--virtual-slots", "2")
    assert slower.code == 1, slower
    assert answer(orch)["replay"]["answers"][0]["agreement"] == "differs"
    assert " differs: 0.105 ms then, 0.158 ms now" in " ".join(slower.out.split())
    assert slower.err.endswith("exit 1: 1 gate failed\n")
    other = orch("replay", "@last/virtual-pixel-8-1/1", "--device", "virtual:redmi-go", "--virtual-slots", "2")
    assert other.code == 0, other
    assert "is another device model, whose figures are its own" in " ".join(other.out.split())
    assert "asks again" in other.out

    for words, said in (
        ("@last/virtual-redmi-go-1", "names no row"),
        ("@last/virtual-redmi-go-1/cpu", "no such row"),
        ("@last/B7/1", "no such phone in this run"),
    ):
        wrong = orch("replay", words)
        assert (wrong.code, said in wrong.err) == (2, True), wrong
    binaries = orch.home / "binaries"
    for folder in binaries.iterdir():
        shutil.rmtree(folder)
    gone = orch("replay", "@last/virtual-redmi-go-1/1")
    assert gone.code == 2, gone
    assert "the run's binary is gone" in gone.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("replay", "nothing/phone/1"), "no ledger is there"),
        (("replay", "x", "--rounds", "2"), "--rounds: 2 is out of range"),
    ],
)
def test_before_anything_was_measured(orch: Orch, words: tuple[str, ...], said: str) -> None:
    ended = orch(*words)
    assert ended.code == 2, ended
    assert said in ended.err
    assert not orch.home.exists()
